"""The shards of prepared data for classification: "ids" of the tokens of a text, and "label", the id of its class."""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from pipelines.classification.config import ClassificationConfig
from pipelines.data import prepared
from pipelines.data.prepared import Contents, Prepared
from pipelines.labelled import shards
from pipelines.labelled.sharded import Rows, Surveyed
from pipelines.shards import shard_batches, shard_writer
from pipelines.shards.shard_writer import Row
from pipelines.support import console
from pipelines.text.tokenizers import Tokenizer, keep_ends, load_tokenizer, train_tokenizer

_TEXTS_PER_CALL = 1000
_MAX_SUBWORD_SAMPLE = 10_000_000  # characters: SentencePiece needs many bytes for each
_SAMPLE_TOKENS = 5_000_000  # of the training texts, from which word vectors are computed
_SETTINGS = ("tokenizer", "vocabulary_size", "max_tokens")  # that the preparation fixes


def write(config: ClassificationConfig, surveyed: Surveyed, folder: Path) -> Contents:
    """Makes the tokenizer from a sample of the training texts, and writes the shards and the texts to score on.

    Args:
        folder: is empty.

    Raises:
        UserError: a class has no training text, or validation is empty.
    """
    (folder / prepared.TOKENIZER).mkdir()
    sample = _sample_for(config.tokenizer, surveyed.train.sample)
    console.say(f"making the tokenizer from {len(sample):,} texts ...")
    train_tokenizer(config.tokenizer, sample, config.vocabulary_size, config.max_bytes).save(
        folder / prepared.TOKENIZER
    )
    tokenizer = load_tokenizer(folder / prepared.TOKENIZER)
    encoded = _Encoded(config, tokenizer)
    contents = shards.write(config, surveyed, folder, encoded.rows, bytes_per_character=1)
    settings = {name: getattr(config, name) for name in _SETTINGS}
    details = {"tokenizer_texts": len(sample), "cut": encoded.cut()}
    return dataclasses.replace(contents, settings=contents.settings | settings, details=contents.details | details)


def _sample_for(kind: str, texts: list[str]) -> list[str]:
    """Returns evenly spaced texts, few enough to train a tokenizer on them in little memory."""
    limit = _MAX_SUBWORD_SAMPLE if kind == "subword" else math.inf
    return texts[:: max(1, math.ceil(sum(map(len, texts)) / limit))]


class _Encoded:
    """Encodes the training texts, and counts what `max_tokens` cuts off."""

    def __init__(self, config: ClassificationConfig, tokenizer: Tokenizer):
        self._max_tokens = config.max_tokens
        self._encode = tf.function(
            tokenizer.encode, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
        )
        self._texts = self._texts_cut = self._tokens = self._tokens_kept = 0

    def rows(self, passed: Rows) -> Iterator[Row]:
        """Yields the rows of the shards."""
        with console.bar(None, "texts", "writing") as bar:
            for texts, labels in passed.training():
                for first in range(0, len(texts), _TEXTS_PER_CALL):
                    chunk = slice(first, first + _TEXTS_PER_CALL)
                    yield from self._rows(texts[chunk], labels[chunk])
                    bar.update(len(texts[chunk]))

    def cut(self) -> dict[str, float]:
        """Returns the fraction of the texts that have more tokens, and of all tokens that are cut off."""
        texts, tokens = max(self._texts, 1), max(self._tokens, 1)
        return {"texts_cut": self._texts_cut / texts, "tokens_lost": 1 - self._tokens_kept / tokens}

    def _rows(self, texts, labels) -> Iterator[Row]:
        ids = self._encode(tf.constant(texts, tf.string))
        kept = keep_ends(ids, self._max_tokens)
        lengths = ids.row_lengths().numpy()
        self._texts += len(texts)
        self._texts_cut += int((lengths > self._max_tokens).sum())
        self._tokens += int(lengths.sum())
        values, splits = kept.flat_values.numpy(), kept.row_splits.numpy().tolist()
        self._tokens_kept += len(values)
        for start, end, label in zip(splits[:-1], splits[1:], labels.tolist(), strict=True):
            yield Row(shard_writer.features(ids=values[start:end].tolist(), label=[label]), end - start)


def batches(config: ClassificationConfig, data: Prepared, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of an epoch from step `skip` on: (ids int32 [batch, time], labels int32 [batch])."""

    def parse(examples: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        ids, labels = _parsed(examples, config.max_tokens)
        return ids.to_tensor(), labels

    return shard_batches.batches(data, config.batch_size, config.seed, epoch, skip, parse)


def sample(config: ClassificationConfig, data: Prepared) -> dict[str, tf.RaggedTensor]:
    """Returns the inputs of a network for a sample of the training texts: {"ids": ragged int32 [n, (tokens)]}."""
    examples = tf.constant(shard_batches.first_examples(data, _SAMPLE_TOKENS), tf.string)
    return {"ids": _parsed(examples, config.max_tokens)[0]}


def _parsed(examples: tf.Tensor, max_tokens: int) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Returns (ids ragged int32 [n, (tokens)], labels int32 [n]) of serialized examples, string [n]."""
    expected = {
        "ids": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    values = tf.io.parse_example(examples, expected)
    return keep_ends(tf.cast(values["ids"], tf.int32), max_tokens), tf.cast(values["label"], tf.int32)
