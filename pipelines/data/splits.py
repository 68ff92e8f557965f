"""Splits off validation data: whole groups at a time, and without texts that are in the training data."""

import hashlib

import numpy as np

from pipelines.support.errors import UserError


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
    ids: dict[str, int] = {}  # not np.unique: an array of str has room for the longest one in every row
    index = np.array([ids.setdefault(group, len(ids)) for group in groups])
    sizes = np.bincount(index)
    if len(ids) < 2:
        raise UserError("all rows are in one group, so none can be split off for validation: give some with --valid")
    order = np.argsort([hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() for name in ids])
    rows_so_far = np.cumsum(sizes[order]) - sizes[order]  # rows of the groups that come earlier in the order
    chosen = order[rows_so_far < fraction * len(groups)]
    if len(chosen) == len(ids):
        chosen = chosen[:-1]
    return np.isin(index, chosen)


def comparable(text: str) -> str:
    """Returns a form of `text` that is equal for texts that differ only in case, white space or HTML line breaks."""
    return " ".join(text.replace("<br />", " ").casefold().split())


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
