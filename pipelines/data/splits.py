"""Splits off validation data: whole groups at a time, and without texts that are in the training data."""

import hashlib

import numpy as np

from pipelines.support.errors import UserError
from pipelines.text.invisible import visible

MIN_VALIDATION_ROWS = 10  # a class is rare if fewer of its rows are expected in validation


def groups_or_texts(groups: np.ndarray | None, texts: np.ndarray) -> np.ndarray:
    """Returns what must stay together in a split, object [n]: each row's group, or its text where it has none.

    Args:
        groups: object [n] of str, "" for a row without a group; None: no row has one.
        texts: object [n] of str.
    """
    return texts if groups is None else np.where(has_group(groups), groups, texts)


def has_group(groups: np.ndarray) -> np.ndarray:
    """Returns which rows have a group, bool [n]: those whose cell is not empty."""
    return np.array([bool(group.strip()) for group in groups], bool)


def validation_rows(groups: np.ndarray, fraction: float) -> np.ndarray:
    """Chooses whole groups, in the order of their hashes, until they have `fraction` of the rows.

    The choice depends on the names of the groups alone, not on the order of the rows or on a seed. Runs that differ in
    anything else are therefore compared on the same rows.

    Args:
        groups: name of each row's group, object [n] of str.
        fraction: between 0 and 1.

    Returns:
        Bool [n], True for validation. Both sides have at least one group.

    Raises:
        UserError: there is only one group.
    """
    index, order = _numbered(groups)
    sizes = np.bincount(index)
    return np.isin(index, order[: num_held_out(sizes[order], fraction * len(groups))])


def num_held_out(sizes: np.ndarray, rows: float) -> int:
    """Returns how many groups to hold out for about `rows` rows: at least one, and not all.

    Args:
        sizes: rows of each group, in the order in which groups are chosen, int [groups].

    Raises:
        UserError: there is only one group.
    """
    if len(sizes) < 2:
        raise UserError(
            "all rows are in one group (the same text, or the same value in a column `url`), so none can be split off "
            "for validation: give some with --valid, or rename the column"
        )
    rows_so_far = np.cumsum(sizes) - sizes  # rows of the groups that come earlier in the order
    return min(int((rows_so_far < rows).sum()), len(sizes) - 1)


def stratified_validation_rows(groups: np.ndarray, labels: np.ndarray, fraction: float) -> np.ndarray:
    """Chooses whole groups as `validation_rows` does, and separately for each rare class.

    A class is rare if fewer than MIN_VALIDATION_ROWS of its rows are expected in validation. Without rare classes the
    rows are those of `validation_rows`. Every class of at least two groups is on both sides, unless its groups also
    hold other classes that then would not be; a class of one group is in training.

    Args:
        groups: name of each row's group, object [n] of str; or the first 64 bits of its hash, uint64 [n].
        labels: int [n], ids of the classes.
        fraction: between 0 and 1.

    Returns:
        Bool [n], True for validation.

    Raises:
        UserError: there is only one group.
    """
    index, order = _numbered(groups)
    if len(order) < 2:
        return validation_rows(groups, fraction)
    stratum = _strata(index, labels, fraction)[index]
    held_out = np.zeros(len(groups), bool)
    for rows in _equal(stratum):
        if (index[rows] != index[rows[0]]).any():
            held_out[rows] = validation_rows(groups[rows], fraction)
    is_held_out = np.zeros(len(order), bool)
    is_held_out[index[held_out]] = True
    return _with_every_class(index, labels, is_held_out, order)[index]


def folds(groups: np.ndarray, labels: np.ndarray, num_folds: int) -> np.ndarray:
    """Divides the rows into folds for cross-validation: whole groups, in the order of their hashes.

    The groups of each rare class (see `stratified_validation_rows`) are divided separately, so that no fold has all of
    them.

    Args:
        groups: name of each row's group, object [n] of str.
        labels: int [n], ids of the classes.

    Returns:
        Number of each row's fold from 0, int [n]; -1 for a class of one group, which stays in training.

    Raises:
        UserError: there are fewer groups than folds.
    """
    index, order = _numbered(groups)
    strata = _strata(index, labels, 1 / num_folds)  # [groups]
    fold_of = np.full(len(order), -1)
    for members in (order[positions] for positions in _equal(strata[order])):
        if len(members) > 1:
            fold_of[members] = np.arange(len(members)) * num_folds // len(members)
    if len(set(fold_of.tolist()) - {-1}) < num_folds:
        raise UserError(
            f"--folds {num_folds}: {len(order)} different texts are too few (or values in a column `url`): give a "
            "smaller number, or rename the column"
        )
    return fold_of[index]


def _numbered(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns (number of each row's group, int [n], and the groups in the order of their hashes, int [groups])."""
    if groups.dtype == np.uint64:
        names, index = np.unique(groups, return_inverse=True)
        return index, np.arange(len(names))
    ids: dict[str, int] = {}  # not np.unique: an array of str has room for the longest one in every row
    index = np.array([ids.setdefault(group, len(ids)) for group in groups])
    return index, np.argsort([hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() for name in ids])


def _strata(index: np.ndarray, labels: np.ndarray, fraction: float) -> np.ndarray:
    """Returns the rarest class of each group if it is rare, else -1: int [groups].

    Args:
        index: number of each row's group, int [n].
        labels: int [n], ids of the classes.
    """
    sizes = np.bincount(labels)
    by_size = np.argsort(-sizes, kind="stable")
    rank = np.argsort(by_size)  # of each class: a higher one is rarer
    is_rare = (sizes * fraction < MIN_VALIDATION_ROWS)[labels]
    rarest = np.full(index.max() + 1, -1)
    np.maximum.at(rarest, index[is_rare], rank[labels[is_rare]])
    return np.where(rarest < 0, -1, by_size[rarest])


def _equal(values: np.ndarray) -> list[np.ndarray]:
    """Returns for each value that occurs, ascending, where it occurs: each int [n], ascending."""
    order = np.argsort(values, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(values[order])) + 1)


def _with_every_class(index: np.ndarray, labels: np.ndarray, held_out: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Moves groups until every class is in training and, where it has another group, in validation.

    Args:
        index: number of each row's group, int [n].
        labels: int [n], ids of the classes.
        held_out: which groups are in validation, bool [groups].
        order: the groups in the order of their hashes.
    """
    held_out = held_out.copy()
    num_classes = int(labels.max()) + 1
    # Each class of each group once, by group. A matrix [groups, classes] may not fit into memory.
    group, label = np.divmod(np.unique(index.astype(np.int64) * num_classes + labels), num_classes)
    starts = np.searchsorted(group, np.arange(len(order) + 1))
    place = np.argsort(order)
    groups_of = {label[each[0]]: group[each][np.argsort(place[group[each]])] for each in _equal(label)}
    num_training = np.bincount(label, ~held_out[group], num_classes)  # groups of each class
    num_held_out = np.bincount(label, held_out[group], num_classes)
    for each in np.flatnonzero((num_training == 0) & (num_held_out > 0)):
        held_out[groups_of[each][-1]] = False
    num_training = np.bincount(label, ~held_out[group], num_classes)
    num_held_out = np.bincount(label, held_out[group], num_classes)
    for each in (each for each in groups_of if not num_held_out[each]):
        for candidate in groups_of[each]:
            classes = label[starts[candidate] : starts[candidate + 1]]
            if (num_training[classes] != 1).all():  # none of them loses its last group
                num_training[classes] -= not held_out[candidate]
                held_out[candidate] = True
                break
    return held_out


def comparable(text: str) -> str:
    """Returns a form that is equal for texts that differ only in case, white space, invisible characters or <br />."""
    return " ".join(visible(text).replace("<br />", " ").casefold().split())


def seen_in(texts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns which of `texts` are also in `others` (in the sense of `comparable`).

    Args:
        texts: object [n] of str.
        others: object [m] of str.

    Returns:
        Bool [n].
    """
    known = {comparable(text) for text in others}
    return np.array([comparable(text) in known for text in texts], dtype=bool)
