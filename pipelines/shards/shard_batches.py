"""Batches of the training rows of prepared data, read from its shards as they are needed."""

import os
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from pipelines.data import batching, part
from pipelines.data.prepared import Prepared
from pipelines.shards import shard_order
from pipelines.shards.shard_order import Indices, Order
from pipelines.shards.shard_plans import TokenOrder
from pipelines.shards.shard_writer import FRAME

_MAX_OPEN = 2 * shard_order.MAX_STREAMS  # files


class Reader:
    """Reads rows by their number. To be closed after use."""

    def __init__(self, data: Prepared, indices: Indices):
        self._data, self._indices = data, indices
        self._files: dict[int, int] = {}  # shard -> file descriptor

    def examples(self, rows: np.ndarray) -> list[bytes]:
        """Returns the serialized examples of rows, int [n, 2]: the number of the shard and of the row in it."""
        return [self._example(shard, row) for shard, row in rows.tolist()]

    def close(self) -> None:
        """Closes the files."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}

    def _example(self, shard: int, row: int) -> bytes:
        index = self._indices(shard)
        start = int(index[row - 1, 0]) if row else 0
        before, after = FRAME
        size = int(index[row, 0]) - start - before - after
        return os.pread(self._descriptor(shard), size, start + before)

    def _descriptor(self, shard: int) -> int:
        if shard not in self._files:
            if len(self._files) == _MAX_OPEN:
                self.close()
            self._files[shard] = os.open(self._data.folder / self._data.shards[shard].name, os.O_RDONLY)
        return self._files[shard]


def batches(
    data: Prepared,
    batch_size: int,
    seed: int,
    epoch: int,
    skip: int,
    parse: Callable[..., tuple],
    num_draws: int = 0,
) -> tf.data.Dataset:
    """Returns the batches of an epoch from step `skip` on, those rows of them that the current part computes.

    A pure function of (seed, epoch, skip), whatever the number of workers. One of several workers also gets the weights
    of its rows, float32 [rows]; one without rows reads any row, with the weight 0 (see `batching.rows_of_part`).

    Args:
        parse: converts serialized examples, string [batch], to (inputs, labels); with `num_draws` it also gets random
            numbers in [0, 1), float32 [batch, num_draws] (see `Order.draws`).
        num_draws: number of random numbers for each row.
    """
    indices = shard_order.indices_of(data)
    order = shard_order.order_of(data, indices, batch_size, seed, epoch)
    count = part.current().count

    def with_weights(examples, weights, *draws):
        parsed = parse(examples, *draws)
        return parsed if count == 1 else (*parsed, weights)

    return batches_in_order(data, indices, order, skip, with_weights, num_draws)


def batches_in_order(
    data: Prepared,
    indices: Indices,
    order: Order | TokenOrder,
    skip: int,
    parse: Callable[..., object],
    num_draws: int = 0,
) -> tf.data.Dataset:
    """Returns the batches of an order from step `skip` on, those rows of them that the current part computes.

    Args:
        parse: converts serialized examples, string [rows], and their weights, float32 [rows], to what the model takes.
            The weights are 1, or 0 of a row that stands in for no row (see `batching.rows_of_part`). With `num_draws`
            it also gets random numbers in [0, 1), float32 [rows, num_draws].
        num_draws: number of random numbers for each row; of an `Order` (see `Order.draws`).
    """
    of = part.current()

    def read() -> Iterator[tuple]:
        reader = Reader(data, indices)
        try:
            for step, rows in enumerate(order.batches(skip, of), skip):
                weights = np.ones(max(len(rows), 1), np.float32) * bool(len(rows))
                draws = [order.draws(step, num_draws, of)] if num_draws and isinstance(order, Order) else []
                if not len(rows):
                    rows, draws = np.zeros((1, 2), np.int64), [np.zeros((1, num_draws), np.float32) for _ in draws]
                yield reader.examples(rows), weights, *draws
        finally:
            reader.close()

    specs = [tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.float32)]
    specs += [tf.TensorSpec([None, num_draws], tf.float32)] if num_draws else []
    examples = tf.data.Dataset.from_generator(read, output_signature=tuple(specs))
    parsed = examples.map(parse, num_parallel_calls=batching.READERS, deterministic=True)
    # If Keras does not know the number of batches, it takes the end of an epoch for missing data, and warns.
    return batching.prefetched(parsed.apply(tf.data.experimental.assert_cardinality(max(0, order.steps - skip))))


def first_examples(data: Prepared, max_tokens: int) -> list[bytes]:
    """Returns the first rows of all shards, of at most `max_tokens` tokens together: a random sample."""
    of_shard, chosen = max_tokens // len(data.shards), []
    indices = shard_order.indices_of(data)
    for shard in range(len(data.shards)):
        ends = np.cumsum(indices(shard)[:, 1], dtype=np.int64)
        chosen += [(shard, row) for row in range(np.searchsorted(ends, of_shard, side="right"))]
    reader = Reader(data, indices)
    try:
        return reader.examples(np.array(chosen, np.int64).reshape(-1, 2))
    finally:
        reader.close()
