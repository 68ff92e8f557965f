"""The order of the rows of prepared data: a pure function of (seed, epoch), in which any step is found without reading
the rows before it.

The shards are dealt to streams. Row j of every batch comes from stream j // (batch_size / streams), so that a worker,
which computes some rows of each batch, opens the shards of its streams alone. A stream reads its shards in random
order, and each shard in blocks in random order. Each stream sorts its rows of 200 batches by length, which needs little
padding; then these batches are shuffled.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pipelines.data import part
from pipelines.data.prepared import Prepared

MAX_STREAMS = 16  # the number of shards is a multiple of it
POOL = 200  # number of batches that are sorted by length together
BLOCK = 64  # rows that lie side by side in a shard, and are read one after the other
_SHARDS, _ROWS, _BATCHES, _REST, _DRAWS = range(5)  # what a random order is of: part of its seed


def num_streams(batch_size: int) -> int:
    """Returns the number of streams: each has the same number of rows in a batch."""
    return math.gcd(batch_size, MAX_STREAMS)


def streams_of(batch_size: int, of: part.Part) -> range:
    """Returns the streams that have the rows of a worker in a full batch; none if it has no rows."""
    mine, size = of.rows(batch_size), batch_size // num_streams(batch_size)
    return range(mine.start // size, math.ceil(mine.stop / size)) if mine.start < mine.stop else range(0)


def shards_of(num_shards: int, batch_size: int, of: part.Part) -> set[int]:
    """Returns the numbers of the shards that a worker opens, but for the last batches of an epoch."""
    streams = num_streams(batch_size)
    return {shard for shard in range(num_shards) if shard % streams in streams_of(batch_size, of)}


def check_files(data: Prepared, batch_size: int | None) -> None:
    """Checks the files of prepared data; one of several workers checks only the shards that it reads.

    Args:
        batch_size: None if it is not known yet: then all shards are checked.

    Raises:
        UserError: a file is missing or damaged.
    """
    data.check_files(shards_of(len(data.shards), batch_size, part.current()) if batch_size else None)


class Order:
    """The rows of every batch of an epoch, as pairs (number of the shard, row in it).

    Args:
        shard_rows: number of rows of each shard; they differ by one row at most, the longer ones first.
        lengths: number of a shard -> the lengths of its rows, int [rows].
        batch_size: rows of a batch; the last batch of an epoch may have fewer.
    """

    def __init__(
        self,
        shard_rows: Sequence[int],
        lengths: Callable[[int], np.ndarray],
        batch_size: int,
        seed: int,
        epoch: int,
    ):
        self._shard_rows, self._lengths, self._batch_size = shard_rows, lengths, batch_size
        self._seed = (seed, epoch)
        streams = num_streams(batch_size)
        self._streams = [np.arange(i, len(shard_rows), streams) for i in range(streams)]
        self._rows_of_stream = [sum(shard_rows[int(shard)] for shard in shards) for shards in self._streams]
        self._per_stream = batch_size // streams  # rows in a batch
        self._full = min(self._rows_of_stream) // self._per_stream  # batches that have rows of all streams
        self._num_rows = sum(shard_rows)
        self.steps = math.ceil(self._num_rows / batch_size)
        self._shard_order = functools.lru_cache(maxsize=2 * streams)(self._make_shard_order)

    def batches(self, skip: int = 0, of: part.Part | None = None) -> Iterator[np.ndarray]:
        """Yields the rows of each batch from step `skip` on, int [rows, 2], or those of one worker.

        Args:
            of: the worker; None: all rows.
        """
        of = of or part.Part()
        step = skip
        while step < self._full:
            pool = step // POOL
            for rows in self._pool(pool, of)[step - pool * POOL :]:
                yield rows
                step += 1
        if step < self.steps:
            rest = self._rest()
            for first in range((step - self._full) * self._batch_size, len(rest), self._batch_size):
                rows = rest[first : first + self._batch_size]
                yield rows[of.rows(len(rows))]

    def draws(self, step: int, count: int, of: part.Part | None = None) -> np.ndarray:
        """Returns `count` random numbers in [0, 1) for each row of a batch, float32 [rows, count].

        They depend on seed, epoch, step and the row's place in the batch alone.

        Args:
            of: the worker whose rows they are for; None: all rows.
        """
        size = min(self._batch_size, self._num_rows - step * self._batch_size)
        draws = self._random(_DRAWS, step).random((size, count), np.float32)
        return draws[(of or part.Part()).rows(size)]

    def _pool(self, pool: int, of: part.Part) -> np.ndarray:
        """Returns the rows of a worker in the batches of a pool, int [batches, rows of the worker, 2]."""
        first, last = pool * POOL, min((pool + 1) * POOL, self._full)
        mine, size = of.rows(self._batch_size), self._per_stream
        streams = streams_of(self._batch_size, of)
        if not streams:  # more workers than rows
            return np.zeros((last - first, 0, 2), np.int64)
        sorted_rows = []
        for stream in streams:
            rows = self._stream_rows(stream, first * size, last * size)
            lengths = np.concatenate([self._lengths(shard)[rows[at, 1]] for shard, at in _by_shard(rows)])
            sorted_rows.append(rows[np.argsort(lengths, kind="stable")].reshape(last - first, size, 2))
        offset = mine.start - streams.start * size
        batches = np.concatenate(sorted_rows, axis=1)[:, offset : offset + mine.stop - mine.start]
        return batches[self._random(_BATCHES, pool).permutation(last - first)]

    def _rest(self) -> np.ndarray:
        """Returns the rows that are in no full batch, fewer than one per stream more than a batch, int [rows, 2]."""
        used = self._full * self._per_stream
        rest = [self._stream_rows(i, used, rows) for i, rows in enumerate(self._rows_of_stream)]
        return self._random(_REST).permutation(np.concatenate(rest))

    def _stream_rows(self, stream: int, first: int, last: int) -> np.ndarray:
        """Returns the rows `first` to `last` (excluded) of a stream in this epoch, int [last - first, 2]."""
        found, start = [np.zeros((0, 2), np.int64)], 0
        for shard in self._random(_SHARDS, stream).permutation(self._streams[stream]).tolist():
            end = start + self._shard_rows[shard]
            if start < last and first < end:
                rows = self._shard_order(shard)[max(first - start, 0) : last - start]
                found.append(np.stack([np.full(len(rows), shard), rows], axis=1))
            start = end
        return np.concatenate(found)

    def _make_shard_order(self, shard: int) -> np.ndarray:
        """Returns the order of the rows of a shard, int32 [rows]: its blocks and their rows are shuffled."""
        rng, rows = self._random(_ROWS, shard), self._shard_rows[shard]
        starts = rng.permutation(np.arange(0, rows, BLOCK))
        blocks = [rng.permutation(np.arange(start, min(start + BLOCK, rows), dtype=np.int32)) for start in starts]
        return np.concatenate(blocks) if blocks else np.zeros(0, np.int32)

    def _random(self, kind: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([*self._seed, kind, number])


def _by_shard(rows: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Yields each run of rows of the same shard: (shard, where)."""
    cuts = np.flatnonzero(np.diff(rows[:, 0])) + 1
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        if start < end:
            yield int(rows[start, 0]), slice(start, end)


Indices = Callable[[int], np.ndarray]  # number of a shard -> its index, see `indices_of`


def indices_of(data: Prepared) -> Indices:
    """Returns a function that reads the index of a shard, and keeps those that were read last.

    An index is uint32 [rows, 2]: where each record ends, in bytes, and its length in tokens.
    """

    def read(shard: int) -> np.ndarray:
        return np.load(data.folder / data.shards[shard].index)

    return functools.lru_cache(maxsize=2 * MAX_STREAMS)(read)


def order_of(data: Prepared, indices: Indices, batch_size: int, seed: int, epoch: int) -> Order:
    """Returns the order of the training rows of prepared data in an epoch."""
    rows = [shard.rows for shard in data.shards]
    return Order(rows, lambda shard: indices(shard)[:, 1], batch_size, seed, epoch)
