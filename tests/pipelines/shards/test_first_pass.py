"""What a first pass keeps is bounded, and does not depend on how the rows are divided into chunks."""

import numpy as np

from pipelines.data.splits import seen_in, validation_rows
from pipelines.shards.first_pass import FirstPass, Sample, lowest
from pipelines.shards.held_out import HeldOut, hash_of, hashes, keys_of

NOTHING = HeldOut(np.zeros(0, np.uint64), np.zeros(0, np.uint64), 0)
ROWS = [(f"source {i}", f"target {i}") for i in range(500)]


def sample_of(rows, max_characters, chunk=37, seed=1):
    sample = Sample(max_characters, seed)
    for first in range(0, len(rows), chunk):
        part = rows[first : first + chunk]
        sample.add(part, hashes(source for source, _ in part), hashes(target for _, target in part))
    return sample


def rows_of(sample):
    return sample.training_rows(NOTHING)


def test_the_rows_with_the_lowest_hashes_are_in_the_order_of_reading():
    kept, others = lowest(iter(ROWS), 20)
    expected = sorted(ROWS, key=lambda row: hash_of(row[0]))[:20]
    assert kept == [row for row in ROWS if row in expected] and others == 480
    assert lowest(iter(ROWS), 500) == (ROWS, 0)
    equal = [("a", str(i)) for i in range(9)]
    assert lowest(iter(equal), 4) == (equal[:4], 5)


def test_few_rows_are_all_in_the_sample():
    assert rows_of(sample_of(ROWS, 10**6)) == ROWS


def test_a_sample_of_many_rows_is_random_limited_and_in_the_order_of_reading():
    rows = rows_of(sample_of(ROWS, 2000))
    assert 500 < sum(len(text) for row in rows for text in row) <= 2000
    assert rows == sorted(rows, key=ROWS.index) and rows == rows_of(sample_of(ROWS, 2000, chunk=100))
    assert rows != rows_of(sample_of(ROWS, 2000, seed=2))
    many = [(f"{i:05}",) for i in range(20_000)]
    sample = Sample(10_000, 1)
    sample.add(many, hashes(text for (text,) in many), hashes(text for (text,) in many))
    assert abs(np.mean([int(text) for (text,) in rows_of(sample)]) - 10_000) < 600
    assert len(sample._rows) <= 2000, "what is not in the sample is not kept"


def test_rows_of_groups_and_texts_that_are_held_out_are_not_in_the_sample():
    sample = sample_of(ROWS, 10**6)
    held_out = HeldOut(hashes(["source 3"]), hashes(["target 5"]), 1)
    assert sample.training_rows(held_out) == [row for i, row in enumerate(ROWS) if i not in (3, 5)]


def test_a_pass_holds_out_the_rows_that_are_chosen_in_memory_and_leaves_out_their_texts():
    sources = np.array([f"source {i // 2}" for i in range(400)], object)
    sources[300:] = [source.upper() for source in sources[:100]]
    passed = FirstPass(10**6, 1, None)
    for first in range(0, 400, 37):
        part = sources[first : first + 37]
        passed.add(keys_of(part, part), [(source,) for source in part], {"empty": 1})
    held_out = passed.held_out(0.1)
    expected = validation_rows(sources, 0.1)
    is_held_out, is_repeated = held_out.masks(keys_of(sources, sources))
    assert is_held_out.tolist() == expected.tolist() and held_out.rows == expected.sum()
    assert is_repeated.tolist() == (seen_in(sources, sources[expected]) & ~expected).tolist()
    assert [source for (source,) in passed.sample(held_out)] == sources[~is_held_out & ~is_repeated].tolist()
    assert (passed.rows, passed.dropped["empty"]) == (400, 11)


def test_ones_own_validation_rows_hold_out_nothing_else():
    passed = FirstPass(10**6, 1, HeldOut.of_texts(["SOURCE 3"]))
    keys = keys_of([source for source, _ in ROWS], [source for source, _ in ROWS])
    passed.add(keys, ROWS, {})
    held_out, is_repeated = passed.held_out(0.5).masks(keys)
    assert not held_out.any() and np.flatnonzero(is_repeated).tolist() == [3]
