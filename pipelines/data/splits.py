"""Validation data split off so that it tells the truth: by group, and with nothing that training has seen."""

import dataclasses
import hashlib

import numpy as np

from pipelines.errors import UserError


def validation_rows(groups: np.ndarray, fraction: float) -> np.ndarray:
    """Picks whole groups, in the order of their hashes, until they hold `fraction` of the rows.

    The choice depends on the groups' names alone: not on the order of rows, not on a seed, so that two runs that differ
    in anything else are compared on the same rows.

    Args:
        groups: object array [n] of str.
        fraction: between 0 and 1.

    Returns:
        bool [n], True for validation. Both sides have at least one group.

    Raises:
        UserError: there is only one group.
    """
    names: dict[str, int] = {}  # not np.unique: an array of str has room for the longest one in every row
    index = np.array([names.setdefault(group, len(names)) for group in groups])
    sizes = np.bincount(index)
    if len(names) < 2:
        raise UserError("all rows belong together, so none can be split off for validation: give some with --valid")
    order = np.argsort([hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() for name in names])
    rows_before = np.cumsum(sizes[order]) - sizes[order]
    chosen = order[rows_before < fraction * len(groups)]
    if len(chosen) == len(names):
        chosen = chosen[:-1]
    return np.isin(index, chosen)


def normalised(text: str) -> str:
    """What makes two texts the same review: not case, white space or line breaks in HTML."""
    return " ".join(text.replace("<br />", " ").casefold().split())


def seen_in(texts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """bool [n]: which of `texts` also stand in `others`."""
    known = {normalised(text) for text in others}
    return np.array([normalised(text) in known for text in texts], dtype=bool)


@dataclasses.dataclass
class Labelled:
    """Texts (object [n] of str) with the ids of their classes (int32 [n]); the last `made` of them were made for training."""

    texts: np.ndarray
    labels: np.ndarray
    made: int = 0

    def __len__(self) -> int:
        return len(self.texts)


@dataclasses.dataclass
class Splits:
    """What a run learns from and is measured on.

    Attributes:
        train, valid: always there.
        test: where the source brings one.
        classes: names of the classes in the order of their ids.
        notes: what was left out and why, and anything else a reader of the report should know: reason -> rows.
    """

    train: Labelled
    valid: Labelled
    test: Labelled | None
    classes: tuple[str, ...]
    notes: dict[str, int]
