"""What a first pass over a corpus that may be larger than memory keeps besides the groups to hold out (held_out.py)."""

import heapq
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipelines.shards.held_out import hash_of


def lowest(rows: Iterable[tuple], limit: int) -> tuple[list[tuple], int]:
    """Returns the `limit` rows whose first item, a text, has the lowest hash, and the number of the others.

    The rows are in the order of reading.
    """
    count = 0

    def numbered() -> Iterator[tuple[int, int, tuple]]:
        nonlocal count
        for row in rows:
            yield hash_of(row[0]), count, row
            count += 1

    kept = heapq.nsmallest(limit, numbered())
    return [row for _, _, row in sorted(kept, key=lambda each: each[1])], count - len(kept)


class Sample:
    """A random sample of rows with at most `max_characters` characters: all rows if they have no more."""

    def __init__(self, max_characters: int, seed: int):
        self._rng, self._max_characters = np.random.default_rng(seed), max_characters
        self._rows: list[tuple[float, int, int, tuple[str, ...]]] = []  # random number, hashes of group and text, row
        self._limit, self._characters = 1.0, 0

    def add(self, rows: Sequence[tuple[str, ...]], groups: np.ndarray, texts: np.ndarray) -> None:
        """Adds rows of one text or more, and the hashes of their groups and texts, uint64 [n]."""
        draws = self._rng.random(len(rows))
        for row in zip(draws.tolist(), groups.tolist(), texts.tolist(), rows, strict=True):
            if row[0] < self._limit:
                self._rows.append(row)
                self._characters += sum(map(len, row[3]))
        while self._characters > self._max_characters:
            self._limit /= 2
            self._rows = [row for row in self._rows if row[0] < self._limit]
            self._characters = sum(len(text) for row in self._rows for text in row[3])

    def training_rows(self, held_out: np.ndarray, held_out_texts: frozenset[int]) -> list[tuple[str, ...]]:
        """Returns the rows in the order of reading, without those of a group or a text that is held out."""
        groups = set(held_out.tolist())
        return [row for _, group, text, row in self._rows if group not in groups and text not in held_out_texts]
