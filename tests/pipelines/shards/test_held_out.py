"""Rows with the lowest hashes: a bounded number, and those that `validation_rows` chooses among all rows."""

import numpy as np
import pytest

from pipelines.data.splits import validation_rows
from pipelines.shards.held_out import LowestRows, fraction_of_candidates, hash_of, hashes

GROUPS = np.array([f"film {i % 700}" for i in range(3000)], object)


def added(limit, chunk=100):
    lowest = LowestRows(limit, np.int32)
    for i in range(0, len(GROUPS), chunk):
        rows = np.arange(i, min(i + chunk, len(GROUPS)), dtype=np.int32)
        lowest.add(hashes(GROUPS[rows]), rows)
    return lowest


def test_hashes_have_the_order_of_the_split():
    assert hash_of("a") == int.from_bytes(bytes.fromhex("ca978112ca1bbdca"), "big")
    assert hashes(["a", "b"]).tolist() == [hash_of("a"), hash_of("b")]


@pytest.mark.parametrize("limit", [100, 500, 5000])
def test_the_lowest_groups_are_kept_whole_and_in_the_order_of_reading(limit):
    lowest = added(limit)
    assert min(limit, len(GROUPS)) <= len(lowest) <= 2 * limit
    found, rows = lowest.columns
    assert np.isin(hashes(GROUPS), found).sum() == len(found)
    assert found.max() <= hashes(GROUPS)[~np.isin(hashes(GROUPS), found)].min(initial=2**64 - 1)
    assert rows.tolist() == sorted(rows) and hashes(GROUPS[rows]).tolist() == found.tolist()


@pytest.mark.parametrize(("fraction", "max_rows"), [(0.05, 10_000), (0.5, 10_000), (0.5, 40), (0.1, 300)])
def test_the_rows_are_those_that_are_chosen_among_all(fraction, max_rows):
    expected = validation_rows(GROUPS, min(fraction, (max_rows - 0.5) / len(GROUPS)))
    lowest = added(1600)
    part = fraction_of_candidates(fraction, len(GROUPS), max_rows, len(lowest))
    chosen = lowest.columns[1][validation_rows(lowest.columns[0], part)]
    assert chosen.tolist() == np.flatnonzero(expected).tolist()
