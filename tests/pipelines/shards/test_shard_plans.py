"""The order of batches of a number of tokens: every row once per epoch, skipping without reading, parts of workers."""

import numpy as np
import pytest

from pipelines.data import batching
from pipelines.data.part import Part
from pipelines.shards.shard_plans import GROUP, TokenOrder, plans_of

ALL = 10**6
SIZES = pytest.mark.parametrize(
    ("rows", "shards", "batch_tokens"), [(1, 1, 50), (300, 1, 100), (2000, 3, 400), (5000, 2 * GROUP + 3, 1000)]
)


def make(rows, shards, batch_tokens, max_length=ALL, opened=None):
    """Returns (plans, the lengths of all shards). The number of each shard that is read is added to `opened`."""
    rng = np.random.default_rng(rows)
    lengths = [rng.integers(2, 40, rows // shards + (i < rows % shards)).astype(np.uint32) for i in range(shards)]

    def read(shard):
        if opened is not None:
            opened.add(shard)
        return lengths[shard]

    return plans_of(shards, read, batch_tokens, max_length), lengths


@SIZES
def test_every_row_is_in_one_batch_of_each_epoch(rows, shards, batch_tokens):
    plans, lengths = make(rows, shards, batch_tokens)
    epochs = []
    for epoch in range(2):
        order = TokenOrder(plans, 1, epoch)
        batches = list(order.batches())
        assert len(batches) == order.steps == sum(plans.steps)
        for batch in batches:
            assert len(batch) * max(lengths[shard][row] for shard, row in batch) <= batch_tokens
        epochs.append(np.concatenate(batches).tolist())
        expected = [[shard, row] for shard in range(shards) for row in range(len(lengths[shard]))]
        assert sorted(epochs[-1]) == expected
    assert epochs[0] != epochs[1] or rows == 1
    assert plans.rows == tuple(map(len, lengths))


@SIZES
def test_the_order_is_a_pure_function_and_skipping_is_dropping_batches(rows, shards, batch_tokens):
    plans, _ = make(rows, shards, batch_tokens)
    batches = [batch.tolist() for batch in TokenOrder(plans, 1, 3).batches()]
    for skip in sorted({0, 1, len(batches) // 2, len(batches) - 1, len(batches)}):
        assert [batch.tolist() for batch in TokenOrder(plans, 1, 3).batches(skip)] == batches[skip:]
    assert rows == 1 or [batch.tolist() for batch in TokenOrder(plans, 2, 3).batches()] != batches


@SIZES
@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_parts_of_all_workers_are_the_batch_of_one(rows, shards, batch_tokens, count):
    plans, _ = make(rows, shards, batch_tokens)
    parts = [list(TokenOrder(plans, 1, 0).batches(0, Part(i, count))) for i in range(count)]
    for batch, *of_workers in zip(TokenOrder(plans, 1, 0).batches(), *parts, strict=True):
        assert np.array_equal(np.concatenate(of_workers), batch)
        assert np.ptp([len(each) for each in of_workers]) <= 1


def test_one_shard_has_the_plan_of_data_in_memory():
    plans, (lengths,) = make(3000, 1, 500)
    assert plans.steps == (len(batching.token_plan(lengths, 500)),)
    found = sorted(len(batch) for batch in TokenOrder(plans, 1, 0).batches())
    assert found == sorted(last - first for first, last in batching.token_plan(lengths, 500))


def test_rows_that_are_too_long_are_in_no_batch():
    plans, lengths = make(2000, 3, 400, max_length=20)
    assert plans.rows == tuple(int((each <= 20).sum()) for each in lengths)
    batches = list(TokenOrder(plans, 1, 0).batches())
    assert len(batches) == sum(plans.steps)
    rows = np.concatenate(batches)
    assert len(rows) == len(np.unique(rows, axis=0)) == sum(plans.rows)
    assert max(lengths[shard][row] for shard, row in rows) == 20
    nothing, _ = make(2000, 3, 400, max_length=1)
    assert nothing.rows == nothing.steps == (0, 0, 0) and list(TokenOrder(nothing, 1, 0).batches()) == []


def test_no_more_shards_than_those_of_a_group_are_read_to_start_anywhere():
    opened = set()
    plans, lengths = make(5000, 5 * GROUP, 300, opened=opened)
    assert len(opened) == 5 * GROUP, "the steps are counted once"
    for skip in (0, sum(plans.steps) // 2, sum(plans.steps) - 1):
        opened.clear()
        next(TokenOrder(plans, 1, 0).batches(skip))
        assert len(opened) == GROUP


def test_the_batches_of_a_group_are_mixed_and_groups_differ_between_epochs():
    plans, _ = make(5000, 2 * GROUP, 300)
    groups = []
    for epoch in range(2):
        shards = [int(batch[0, 0]) for batch in TokenOrder(plans, 1, epoch).batches()]
        first = set(shards[:100])
        assert len(first) == GROUP, "the first batches are of all shards of the first group"
        groups.append(first)
    assert groups[0] != groups[1]
    lengths = [len(batch) for batch in TokenOrder(plans, 1, 0).batches()]
    assert abs(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]) < 0.2, "batches of similar length are apart"


def test_shards_of_a_usual_size_hardly_need_more_steps_than_one_plan_of_all_rows():
    rng = np.random.default_rng(0)
    lengths = [np.minimum(rng.gamma(3, 9, 150_000).astype(int) + 2, 101) for _ in range(3)]
    for batch_tokens in (2000, 25_000):
        plans = plans_of(3, lambda shard: lengths[shard], batch_tokens, ALL)
        assert sum(plans.steps) <= 1.02 * len(batching.token_plan(np.concatenate(lengths), batch_tokens))
