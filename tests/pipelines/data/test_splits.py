import hashlib
import tracemalloc

import numpy as np
import pytest

from pipelines.data.splits import folds, num_held_out, seen_in, stratified_validation_rows, validation_rows
from pipelines.shards.held_out import hash_of
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


def texts(count):
    return np.array([f"text {i}" for i in range(count)], dtype=object)


def test_without_a_rare_class_the_stratified_rows_are_those_of_the_hash(groups):
    labels = np.arange(1000) % 3
    np.testing.assert_array_equal(stratified_validation_rows(groups, labels, 0.1), validation_rows(groups, 0.1))


@pytest.mark.parametrize("rare", [2, 3, 9, 15, 45])
def test_a_rare_class_has_its_fraction_of_the_rows_in_validation(rare):
    labels = np.where(np.arange(1000) < rare, 1, 0)
    held_out = stratified_validation_rows(texts(1000), labels, 0.1)
    assert held_out[:rare].sum() == -(-rare // 10)
    assert 99 <= held_out.sum() <= 101
    order = np.random.default_rng(1).permutation(1000)
    np.testing.assert_array_equal(stratified_validation_rows(texts(1000)[order], labels[order], 0.1), held_out[order])


def test_a_class_of_one_group_is_in_training():
    labels = np.array([1] + [0] * 300)
    assert not stratified_validation_rows(texts(301), labels, 0.1)[0]
    assert not stratified_validation_rows(texts(301), labels, 0.9)[0]


@pytest.mark.parametrize("seed", range(10))
def test_every_class_of_groups_with_several_classes_is_on_both_sides(seed):
    random = np.random.default_rng(seed)
    films = np.array([f"film {i}" for i in random.integers(12, size=300)], dtype=object)
    labels = np.minimum(random.geometric(0.4, size=300), 5) - 1
    held_out = stratified_validation_rows(films, labels, 0.1)
    assert not set(films[held_out]) & set(films[~held_out])
    for label in range(5):
        assert (labels[~held_out] == label).any()
        if len(set(films[labels == label])) > 2:
            assert (labels[held_out] == label).any()


def test_folds_hold_whole_groups_of_every_class(groups):
    labels = np.where(np.arange(1000) % 97 < 4, 1, 0)  # all rows of four films
    fold_of = folds(groups, labels, 5)
    assert all(len(set(fold_of[groups == name])) == 1 for name in set(groups))
    assert set(fold_of[labels == 1]) < set(range(5)) and len(set(fold_of[labels == 1])) == 4
    assert all(150 < size < 250 for size in np.bincount(fold_of))
    order = np.random.default_rng(0).permutation(1000)
    np.testing.assert_array_equal(folds(groups[order], labels[order], 5), fold_of[order])


def test_a_class_of_one_group_is_in_no_fold():
    fold_of = folds(texts(100), np.array([1] + [0] * 99), 5)
    assert fold_of[0] == -1 and fold_of[1:].min() == 0


def test_more_folds_than_groups_are_refused():
    with pytest.raises(UserError, match="--folds 5: 4 different texts are too few"):
        folds(texts(4), np.array([0, 0, 1, 1]), 5)


@pytest.mark.parametrize("num_rare", [0, 3, 25])
def test_the_hashes_of_the_groups_are_split_as_their_names(groups, num_rare):
    labels = np.where(np.arange(len(groups)) % 40 < num_rare / 25, 2, np.arange(len(groups)) % 2)
    digests = [hashlib.sha256(group.encode()).digest()[:8] for group in groups]
    hashes = np.array([int.from_bytes(digest, "big") for digest in digests], np.uint64)
    expected = stratified_validation_rows(groups, labels, 0.1)
    np.testing.assert_array_equal(stratified_validation_rows(hashes, labels, 0.1), expected)
    assert 0 < expected.sum() < len(groups)


def test_the_order_of_hashes_is_that_of_the_groups(groups):
    names, sizes = np.unique(groups, return_counts=True)
    order = np.argsort(np.array([hash_of(name) for name in names], np.uint64))
    for fraction in (0.001, 0.1, 0.9999):
        chosen = names[order][: num_held_out(sizes[order], fraction * len(groups))]
        assert np.array_equal(np.isin(groups, chosen), validation_rows(groups, fraction))


def test_the_memory_for_many_classes_grows_with_the_rows():
    labels = np.arange(10_000) % 5000
    groups = np.array([f"text {i}" for i in range(len(labels))], object)
    tracemalloc.start()
    held_out = stratified_validation_rows(groups, labels, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000  # which groups have which classes, as a matrix, takes 50 MB
    assert (np.bincount(labels[held_out], minlength=5000) == 1).all()  # each class is on both sides
