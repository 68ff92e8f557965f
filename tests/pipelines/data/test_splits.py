import numpy as np
import pytest

from pipelines.data.splits import seen_in, validation_rows
from pipelines.support.errors import UserError


@pytest.fixture
def groups():
    return np.array([f"film {i % 97}" for i in range(1000)], dtype=object)


def test_a_group_is_on_one_side(groups):
    held_out = validation_rows(groups, 0.2)
    assert not set(groups[held_out]) & set(groups[~held_out])
    assert 0.2 <= held_out.mean() < 0.22


def test_the_order_of_the_rows_does_not_matter(groups):
    order = np.random.default_rng(0).permutation(len(groups))
    np.testing.assert_array_equal(validation_rows(groups, 0.1)[order], validation_rows(groups[order], 0.1))


def test_more_groups_change_little_of_the_choice(groups):
    more = np.concatenate([groups, np.array([f"new {i}" for i in range(100)], dtype=object)])
    before, after = set(groups[validation_rows(groups, 0.2)]), set(more[validation_rows(more, 0.2)])
    assert len(before & after) >= len(before) - 4


@pytest.mark.parametrize("fraction", [0.001, 0.5, 0.999])
def test_both_sides_have_at_least_one_group(fraction):
    held_out = validation_rows(np.array(["a", "b"], dtype=object), fraction)
    assert held_out.sum() == 1


def test_one_group_cannot_be_split():
    with pytest.raises(UserError, match="all rows are in one group.*--valid"):
        validation_rows(np.array(["a", "a"], dtype=object), 0.1)


def test_seen_in_ignores_case_white_space_and_line_breaks():
    texts = np.array(["A  Film<br />indeed", "another"], dtype=object)
    assert seen_in(texts, np.array(["a film indeed\n"], dtype=object)).tolist() == [True, False]
