"""The shards of prepared data for transfer: "text" and "label", the id of its class. Encoders read the text."""

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from pipelines.data.prepared import Contents, Prepared
from pipelines.labelled import shards
from pipelines.labelled.sharded import Rows, Surveyed
from pipelines.shards import shard_batches, shard_writer
from pipelines.shards.shard_writer import Row
from pipelines.support import console
from pipelines.text.normalization import valid_utf8
from pipelines.transfer.config import TransferConfig


def write(config: TransferConfig, surveyed: Surveyed, folder: Path) -> Contents:
    """Writes the shards and the texts to score on.

    Args:
        folder: is empty.

    Raises:
        UserError: a class has no training text, or validation is empty.
    """
    return shards.write(config, surveyed, folder, lambda passed: _rows(config, passed), bytes_per_character=2)


def _rows(config: TransferConfig, passed: Rows) -> Iterator[Row]:
    """Yields the rows of the shards: the texts are cut as in the export."""
    with console.bar(None, "texts", "writing") as bar:
        for texts, labels in passed.training():
            encoded = tf.constant([text.encode("utf-8", "surrogatepass") for text in texts], tf.string)
            cut = valid_utf8(encoded, config.max_bytes).numpy().tolist()
            for text, label in zip(cut, labels.tolist(), strict=True):
                yield Row(shard_writer.features(text=[text], label=[label]), len(text))
            bar.update(len(texts))


def batches(config: TransferConfig, data: Prepared, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of an epoch from step `skip` on: (string [batch], int32 [batch])."""

    def parse(examples: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        text, label = tf.io.FixedLenFeature([], tf.string), tf.io.FixedLenFeature([], tf.int64)
        values = tf.io.parse_example(examples, {"text": text, "label": label})
        return values["text"], tf.cast(values["label"], tf.int32)

    return shard_batches.batches(data, config.batch_size, config.seed, epoch, skip, parse)
