"""The shards of prepared data for classification.

A row has "ids" of the tokens of a text, "characters", the Unicode code points of the characters in which the linear
model counts n-grams, and "label", the id of its class.
"""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.servable import network_inputs
from pipelines.data import prepared
from pipelines.data.prepared import Contents, Prepared
from pipelines.labelled import shards
from pipelines.labelled.sharded import Rows, Surveyed
from pipelines.linear.text_model import characters_of
from pipelines.shards import shard_batches, shard_writer
from pipelines.shards.shard_writer import Row
from pipelines.support import console
from pipelines.text.tokenizers import Tokenizer, keep_ends, load_tokenizer, train_tokenizer

_TEXTS_PER_CALL = 1000
_MAX_SUBWORD_SAMPLE = 10_000_000  # characters: SentencePiece needs many bytes for each
_SAMPLE_TOKENS = 5_000_000  # of the training texts, from which word vectors are computed
_SETTINGS = ("tokenizer", "vocabulary_size", "max_tokens", "max_characters")  # that the preparation fixes


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
    contents = shards.write(
        config, surveyed, folder, encoded.rows, bytes_per_character=2 if config.max_characters else 1
    )
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

        def encode(texts):
            encoded = {"ids": tokenizer.encode(texts)}
            if config.max_characters:
                encoded["characters"] = characters_of(tokenizer, texts, config.max_tokens, config.max_characters)
            return encoded

        self._encode = tf.function(encode, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
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
        encoded = self._encode(tf.constant(texts, tf.string))
        lengths = encoded["ids"].row_lengths().numpy()
        encoded["ids"] = keep_ends(encoded["ids"], self._max_tokens)
        self._texts += len(texts)
        self._texts_cut += int((lengths > self._max_tokens).sum())
        self._tokens += int(lengths.sum())
        self._tokens_kept += int(encoded["ids"].row_lengths().numpy().sum())
        parts = {
            name: np.split(ragged.flat_values.numpy(), ragged.row_splits.numpy()[1:-1])
            for name, ragged in encoded.items()
        }
        for i, label in enumerate(labels.tolist()):
            of_text = {name: values[i].tolist() for name, values in parts.items()}
            yield Row(shard_writer.features(**of_text, label=[label]), len(of_text["ids"]))


def batches(config: ClassificationConfig, data: Prepared, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of an epoch from step `skip` on: (inputs of the network, labels int32 [batch])."""

    def parse(examples: tf.Tensor) -> tuple:
        inputs, labels = _parsed(examples, config)
        return tf.nest.map_structure(tf.RaggedTensor.to_tensor, network_inputs(inputs)), labels

    return shard_batches.batches(data, config.batch_size, config.seed, epoch, skip, parse)


def sample(config: ClassificationConfig, data: Prepared) -> dict[str, tf.RaggedTensor]:
    """Returns the inputs of a network for a sample of the training texts: see `_parsed`."""
    examples = tf.constant(shard_batches.first_examples(data, _SAMPLE_TOKENS), tf.string)
    return _parsed(examples, config)[0]


def chunks(config: ClassificationConfig, data: Prepared) -> Iterator[tuple[dict[str, tf.RaggedTensor], np.ndarray]]:
    """Yields (inputs, see `_parsed`; labels, int [n]) of all training texts, in the random order of the shards."""
    files = [str(data.folder / shard.name) for shard in data.shards]
    rows = tf.data.TFRecordDataset(files).batch(_TEXTS_PER_CALL)
    with console.bar(data.rows["train"], "texts", "n-grams") as bar:
        for examples in rows:
            inputs, labels = _parsed(examples, config)
            yield inputs, labels.numpy()
            bar.update(len(labels))


def _parsed(examples: tf.Tensor, config: ClassificationConfig) -> tuple[dict[str, tf.RaggedTensor], tf.Tensor]:
    """Parses serialized examples, string [n].

    Returns:
        ({"ids": ragged int32 [n, (tokens)], with `max_characters` also "characters": ragged int32 [n, (length)]},
        labels int32 [n]).
    """
    limits = {"ids": config.max_tokens} | ({"characters": config.max_characters} if config.max_characters else {})
    lists = {name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for name in limits}
    values = tf.io.parse_example(examples, lists | {"label": tf.io.FixedLenFeature([], tf.int64)})
    inputs = {name: keep_ends(tf.cast(values[name], tf.int32), limit) for name, limit in limits.items()}
    return inputs, tf.cast(values["label"], tf.int32)
