"""The groups to hold out of a corpus that may be larger than memory: as in `data/splits.py`, those with the lowest
hashes.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pipelines.data.splits import comparable


def hash_of(text: str) -> int:
    """Returns 64 bits of a text's hash. Hashes have the order in which `data/splits.py` chooses groups."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")


def hashes(texts: Iterable[str]) -> np.ndarray:
    """Returns the hash of each text, uint64 [n]."""
    return np.array([hash_of(text) for text in texts], np.uint64)


class Keys(NamedTuple):
    """What decides about rows, by hashes.

    Attributes:
        groups: of what stays together in a split, uint64 [n].
        texts: of the texts in the sense of `comparable`, uint64 [n]. A training text is not in validation, too.
    """

    groups: np.ndarray
    texts: np.ndarray


def keys_of(groups: Iterable[str], texts: Iterable[str]) -> Keys:
    """Returns the keys of rows with these groups and texts."""
    return Keys(hashes(groups), hashes(map(comparable, texts)))


class HeldOut(NamedTuple):
    """The rows of validation, by hashes; see `Keys`. Both arrays are sorted.

    Attributes:
        groups: those that are held out of the training files; none if the user gives validation rows.
        texts: those of validation.
        rows: number of rows in the groups.
    """

    groups: np.ndarray
    texts: np.ndarray
    rows: int

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> "HeldOut":
        """Returns the user's own validation texts."""
        return cls(np.zeros(0, np.uint64), np.unique(hashes(map(comparable, texts))), 0)

    def masks(self, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
        """Returns which rows are held out, and which others have a text that is in validation, bool [n]."""
        held_out = np.isin(keys.groups, self.groups)
        return held_out, ~held_out & np.isin(keys.texts, self.texts)


class LowestRows:
    """The rows of the groups with the lowest hashes, in limited number. Each group has all its rows or none.

    Attributes:
        columns: arrays of the same length; the first one has the hash of each row's group, uint64.

    Args:
        limit: number of rows to keep; up to twice as many are kept, and more if a group has more.
        dtypes: of the further columns.
    """

    def __init__(self, limit: int, *dtypes: type):
        self.columns: list[np.ndarray] = [np.zeros(0, dtype) for dtype in (np.uint64, *dtypes)]
        self._limit, self._highest = limit, np.iinfo(np.uint64).max

    def __len__(self) -> int:
        return len(self.columns[0])

    def add(self, *columns: np.ndarray) -> None:
        """Adds rows, an array for each column."""
        low = columns[0] <= self._highest
        self.columns = [np.concatenate([kept, each[low]]) for kept, each in zip(self.columns, columns, strict=True)]
        if len(self) > 2 * self._limit:
            self._highest = np.sort(self.columns[0])[self._limit]
            low = self.columns[0] <= self._highest
            self.columns = [column[low] for column in self.columns]


def fraction_of_candidates(fraction: float, rows: int, max_rows: int, num_candidates: int) -> float:
    """Returns the fraction of the candidates that are `fraction` of all `rows`, and at most about `max_rows`."""
    wanted = min(fraction * rows, max_rows)
    if wanted < fraction * rows or num_candidates < rows:
        return (math.ceil(wanted) - 0.5) / num_candidates  # 0.5: the quotient is rounded
    return fraction
