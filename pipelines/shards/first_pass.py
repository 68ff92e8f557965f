"""The first pass over a corpus that may be larger than memory. What it keeps has a bounded size."""

import collections
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from pipelines.data.splits import validation_rows
from pipelines.shards.held_out import HeldOut, Keys, LowestRows, fraction_of_candidates, hash_of

MAX_HELD_OUT = 10_000  # validation rows: they are scored after every epoch
_MAX_CANDIDATES = 2**19  # rows from which the validation rows are chosen


class FirstPass:
    """Counts rows, and keeps what is needed to choose those of validation, and a sample of the others.

    Attributes:
        rows, characters: numbers so far.
        dropped: reason -> number of rows that were left out while reading.

    Args:
        max_sample: characters of the sample; 0 draws none.
        seed: of the sample.
        own: the user's own validation rows; None holds out a part of the rows.
        dtypes: of the columns on which the choice depends besides the groups.
    """

    def __init__(self, max_sample: int, seed: int, own: HeldOut | None, *dtypes: type):
        self.rows = self.characters = 0
        self.dropped: collections.Counter[str] = collections.Counter()
        self._own, self._sample = own, Sample(max_sample, seed) if max_sample else None
        self._candidates = LowestRows(_MAX_CANDIDATES, np.uint64, *dtypes)

    def add(
        self, keys: Keys, rows: Sequence[tuple[str, ...]], dropped: Mapping[str, int], *columns: np.ndarray
    ) -> None:
        """Adds rows of one text or more, and a column [n] for each of `dtypes`."""
        self.dropped.update(dropped)
        self.rows += len(rows)
        self.characters += sum(len(text) for row in rows for text in row)
        if self._own is None:
            self._candidates.add(*keys, *columns)
        if self._sample:
            self._sample.add(rows, *keys)

    def held_out(self, fraction: float, choose: Callable[..., np.ndarray] = validation_rows) -> HeldOut:
        """Returns the rows of validation: those that `choose` takes of all rows, at most about MAX_HELD_OUT.

        Of more than `_MAX_CANDIDATES` rows, it takes them from those whose groups have the lowest hashes. In the order
        of `choose`, these are the first.

        Args:
            fraction: of the rows to hold out.
            choose: (hashes of groups, fraction, *columns) -> bool [n].

        Raises:
            UserError: all rows are in one group.
        """
        if self._own is not None:
            return self._own
        groups, texts, *columns = self._candidates.columns
        part = fraction_of_candidates(fraction, self.rows, MAX_HELD_OUT, len(self._candidates))
        chosen = choose(groups, part, *columns)
        return HeldOut(np.unique(groups[chosen]), np.unique(texts[chosen]), int(chosen.sum()))

    def sample(self, held_out: HeldOut) -> list[tuple[str, ...]]:
        """Returns a random sample of the training rows, in the order of reading; all of them if they are few."""
        return self._sample.training_rows(held_out) if self._sample else []


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

    def training_rows(self, held_out: HeldOut) -> list[tuple[str, ...]]:
        """Returns the rows in the order of reading, without those of a group or a text that is held out."""
        groups, texts = set(held_out.groups.tolist()), set(held_out.texts.tolist())
        return [row for _, group, text, row in self._rows if group not in groups and text not in texts]
