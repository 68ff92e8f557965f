"""The shards of prepared data for translation: "source" and "target", the ids of both sides with END."""

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from pipelines.data import prepared, shard_batches, shard_order, shard_plans, shard_writer
from pipelines.data.pairs import Pairs
from pipelines.data.prepared import Contents
from pipelines.data.shard_plans import TokenOrder
from pipelines.data.shard_writer import Row
from pipelines.settings import flag
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import Tokenizer
from pipelines.translation.batches import Training, teacher_forcing
from pipelines.translation.config import TranslationConfig
from pipelines.translation.data import ShardedPairs, Surveyed, require_pairs, too_long
from pipelines.translation.survey import Rows, as_rows
from pipelines.translation.tokenizers import Tokenizers, load_tokenizer, train_tokenizers

_PAIRS_PER_CALL = 1000
_ROW_BYTES = 64  # of a pair in a shard, besides about one for each character; for the number of shards
_SETTINGS = ("vocabulary_size", "joint_vocabulary", "max_tokens", "valid_fraction")  # that the preparation fixes


def write(config: TranslationConfig, surveyed: Surveyed, folder: Path) -> Contents:
    """Makes the tokenizers from a sample of the training pairs, and writes the shards and the pairs to score on.

    Args:
        folder: is empty.

    Raises:
        UserError: no pair is left to train or to validate on.
    """
    found = surveyed.train
    console.say(f"making the tokenizer from {len(found.sample):,} pairs ...")
    (folder / prepared.TOKENIZER).mkdir()
    train_tokenizers(config, *zip(*found.sample, strict=True)).save(folder / prepared.TOKENIZER)
    encoded = _Encoded(config, load_tokenizer(folder / prepared.TOKENIZER))
    passed = Rows(surveyed.chunks, found)
    num_shards = shard_writer.num_shards(found.characters + _ROW_BYTES * found.rows, multiple=1)
    shards = shard_writer.write(folder, encoded.rows(passed), num_shards, config.seed)
    parts = {name: as_rows(pairs) for name, pairs in surveyed.own.items()}
    parts.setdefault("valid", passed.held_out)
    num_rows = {"train": sum(shard.rows for shard in shards)} | {name: len(rows) for name, rows in parts.items()}
    if encoded.too_long and not num_rows["train"]:
        raise UserError(
            f"no training pair has at most {config.max_tokens} tokens: raise {flag('max_tokens')} {config.max_tokens}"
        )
    require_pairs(config, num_rows["train"], num_rows["valid"])
    for name, rows in parts.items():
        prepared.write_rows(folder, name, rows)
    settings = {name: getattr(config, name) for name in _SETTINGS}
    if surveyed.pair:
        settings["pair"] = surveyed.pair
    notes = surveyed.notes | passed.notes
    if encoded.too_long:
        notes[too_long(config.max_tokens)] = encoded.too_long
    return Contents(settings, shards, num_rows, notes, {"tokenizer_pairs": len(found.sample)})


class _Encoded:
    """Encodes the training pairs, and counts those that are too long.

    Attributes:
        too_long: number of pairs so far with a side of more than --max-tokens tokens.
    """

    def __init__(self, config: TranslationConfig, tokenizers: Tokenizers):
        self.too_long = 0
        self._max_length = config.max_tokens + 1  # with END
        self._encode = [_encoder(each) for each in (tokenizers.source, tokenizers.target)]

    def rows(self, passed: Rows) -> Iterator[Row]:
        """Yields the rows of the shards."""
        with console.bar(None, "pairs", "writing") as bar:
            for pairs in passed.training():
                for first in range(0, len(pairs), _PAIRS_PER_CALL):
                    chunk = pairs.take(slice(first, first + _PAIRS_PER_CALL))
                    yield from self._rows(chunk)
                    bar.update(len(chunk))

    def _rows(self, pairs: Pairs) -> Iterator[Row]:
        sides = zip(self._encode, (pairs.source, pairs.target), strict=True)
        ids = [encode(tf.constant(sentences, tf.string)).to_list() for encode, sentences in sides]
        for source, target in zip(*ids, strict=True):
            length = max(len(source), len(target))
            if length > self._max_length:
                self.too_long += 1
            else:
                yield Row(shard_writer.features(source=source, target=target), length)


def _encoder(tokenizer: Tokenizer):
    """Returns a function: sentences, string [n] -> ids with END, without START, ragged int32 [n, (tokens)]."""
    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(lambda texts: tokenizer.encode(texts)[:, 1:], input_signature=signature, autograph=False)


def training(config: TranslationConfig, pairs: ShardedPairs) -> Training:
    """Returns the training pairs of prepared data. Reads the indices of all shards once."""
    data, indices = pairs.data, shard_order.indices_of(pairs.data)
    plans = shard_plans.plans_of(
        len(data.shards), lambda shard: indices(shard)[:, 1], config.batch_tokens, config.max_tokens + 1
    )

    def batches(epoch: int, skip: int) -> tf.data.Dataset:
        order = TokenOrder(plans, config.seed, epoch)
        return shard_batches.batches_in_order(data, indices, order, skip, _parse)

    rows = sum(plans.rows)
    return Training(rows, pairs.too_long + len(pairs) - rows, sum(plans.steps), batches)


def _parse(examples: tf.Tensor, row_weights: tf.Tensor):
    """Returns a batch of serialized examples, string [batch], as `teacher_forcing` does."""
    sides = {side: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for side in ("source", "target")}
    ids = tf.io.parse_example(examples, sides)
    return teacher_forcing(*(tf.cast(ids[side], tf.int32) for side in ("source", "target")), row_weights)
