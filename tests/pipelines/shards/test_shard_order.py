"""The order of sharded rows: every row once per epoch, skipping without reading, and the parts of workers."""

import numpy as np
import pytest

from pipelines.data.part import Part
from pipelines.shards.shard_order import MAX_STREAMS, POOL, Order, num_streams, shards_of, streams_of

SIZES = pytest.mark.parametrize(
    ("rows", "shards", "batch_size"),
    [
        (5, 16, 32),
        (33, 16, 16),
        (700, 16, 7),
        (1000, 16, 32),
        (2345, 48, 24),
        (16 * 3 * POOL + 9, 32, 16),
        (999, 16, 1),
    ],
)


def order(rows, shards, batch_size, seed=1, epoch=0, opened=None):
    """Returns (the order, the lengths of all shards). The number of each shard that is read is added to `opened`."""
    rng = np.random.default_rng(rows)
    sizes = [rows // shards + (i < rows % shards) for i in range(shards)]
    lengths = [rng.gamma(2, 100, size).astype(int) + 2 for size in sizes]

    def read(shard):
        if opened is not None:
            opened.add(shard)
        return lengths[shard]

    return Order(sizes, read, batch_size, seed, epoch), lengths


@SIZES
def test_every_row_is_in_one_batch_of_each_epoch(rows, shards, batch_size):
    epochs = []
    for epoch in range(2):
        made, lengths = order(rows, shards, batch_size, epoch=epoch)
        batches = list(made.batches())
        assert len(batches) == made.steps == -(-rows // batch_size)
        assert all(len(batch) == batch_size for batch in batches[:-1])
        epochs.append(np.concatenate(batches))
        expected = [(shard, row) for shard in range(shards) for row in range(len(lengths[shard]))]
        assert sorted(map(tuple, epochs[-1].tolist())) == expected
    assert not np.array_equal(*epochs)


@SIZES
def test_skipping_is_dropping_batches(rows, shards, batch_size):
    batches = list(order(rows, shards, batch_size)[0].batches())
    for skip in sorted({0, 1, len(batches) // 2, len(batches) - 1, len(batches), POOL, POOL + 1}):
        rest = list(order(rows, shards, batch_size)[0].batches(skip))
        assert len(rest) == len(batches[skip:])
        assert all(np.array_equal(*pair) for pair in zip(rest, batches[skip:]))


@SIZES
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_parts_of_all_workers_are_the_batch_of_one(rows, shards, batch_size, count):
    batches = list(order(rows, shards, batch_size)[0].batches(1))
    parts = [list(order(rows, shards, batch_size)[0].batches(1, Part(i, count))) for i in range(count)]
    for batch, *rows_of_workers in zip(batches, *parts, strict=True):
        assert np.array_equal(np.concatenate(rows_of_workers), batch)
        assert np.ptp([len(each) for each in rows_of_workers]) <= 1


def test_a_worker_reads_only_the_shards_of_its_streams():
    opened = [set(), set(), set(), set()]
    for i, shards in enumerate(opened):
        list(order(3200, 32, 32, opened=shards)[0].batches(0, Part(i, 4)))
    assert [len(shards) for shards in opened] == [8, 8, 8, 8]
    assert opened == [shards_of(32, 32, Part(i, 4)) for i in range(4)]
    assert set.union(*opened) == set(range(32))


def test_skipping_reads_no_shards_of_the_steps_before():
    opened = set()
    made, lengths = order(16 * 64 * 30, 16 * 30, 16, opened=opened)
    next(made.batches(made.steps - 70))
    assert len(opened) < len(lengths) / 4


def test_the_seed_changes_the_order():
    first, second = (np.concatenate(list(order(500, 16, 16, seed=seed)[0].batches())) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_rows_of_similar_length_are_in_one_batch():
    def padding(batches, lengths):
        sizes = [np.array([lengths[shard][row] for shard, row in batch]) for batch in batches]
        return 1 - sum(map(np.sum, sizes)) / sum(len(each) * each.max() for each in sizes)

    made, lengths = order(16 * POOL * 4, 16, 32)
    batches = list(made.batches())
    rows = np.random.default_rng(0).permutation(np.concatenate(batches)).reshape(len(batches), -1, 2)
    assert padding(batches, lengths) < padding(rows, lengths) / 4


def test_batches_of_similar_length_are_apart():
    made, lengths = order(16 * POOL * 4, 16, 32)
    longest = np.array([max(lengths[shard][row] for shard, row in batch) for batch in made.batches()])
    assert abs(np.corrcoef(longest[:-1], longest[1:])[0, 1]) < 0.2


@pytest.mark.parametrize(("batch_size", "count"), [(32, 1), (24, 3), (7, 2), (2, 3)])
def test_the_streams_of_all_workers_are_all_streams(batch_size, count):
    found = [streams_of(batch_size, Part(i, count)) for i in range(count)]
    assert {stream for streams in found for stream in streams} == set(range(num_streams(batch_size)))


@pytest.mark.parametrize(("batch_size", "streams"), [(1, 1), (7, 1), (24, 8), (32, MAX_STREAMS), (48, 16)])
def test_the_streams_divide_the_batch(batch_size, streams):
    assert num_streams(batch_size) == streams


@pytest.mark.parametrize("count", [1, 3, 40])
def test_random_numbers_are_those_of_the_step_whatever_the_number_of_workers(count):
    made, _ = order(70, 16, 32)
    for step, rows in enumerate(made.batches()):
        draws = made.draws(step, 5)
        assert draws.shape == (len(rows), 5) and draws.dtype == np.float32 and 0 <= draws.min() <= draws.max() < 1
        parts = [made.draws(step, 5, Part(i, count)) for i in range(count)]
        assert np.array_equal(np.concatenate(parts), draws)
    others = [made.draws(1, 5), order(70, 16, 32, epoch=1)[0].draws(0, 5), order(70, 16, 32, seed=2)[0].draws(0, 5)]
    assert not any(np.array_equal(each, made.draws(0, 5)) for each in others)
