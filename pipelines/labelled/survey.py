"""A first pass over labelled texts that may be larger than memory: their classes, which to hold out, and a sample.

What it keeps has a bounded size, whatever the number of texts.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from pipelines.data.held_out import LowestRows, fraction_of_candidates, hash_of, hashes
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.labels import class_ids
from pipelines.data.splits import comparable, stratified_validation_rows
from pipelines.support.errors import UserError

MAX_HELD_OUT = 10_000  # validation texts: they are scored after every epoch
MAX_TEST = 25_000
_MAX_CANDIDATES = 2**19  # texts from which the validation texts are chosen
_MAX_SAMPLE = 50_000_000  # characters of training texts from which the tokenizer is made
_MAX_LABELS = 10_000  # different ones; a classifier has far fewer, but the message counts them


@dataclasses.dataclass(frozen=True)
class Survey:
    """What is known about all texts after the first pass.

    Attributes:
        rows: number of texts.
        characters: number of their characters.
        classes: names of the classes in the order of their ids.
        class_of: label as in the source -> id of its class.
        dropped: reason -> number of rows that were left out while reading.
        held_out: hashes of the groups that are held out for validation, uint64, sorted.
        held_out_texts: hashes of the texts in them, in the sense of `comparable`.
        sample: a random sample of the training texts; all of them if they are few.
    """

    rows: int
    characters: int
    classes: tuple[str, ...]
    class_of: dict[str, int]
    dropped: dict[str, int]
    held_out: np.ndarray
    held_out_texts: frozenset[int]
    sample: list[str]


def survey(
    chunks: Iterable[LabelledTexts],
    classes_of: Callable[[np.ndarray, int], tuple[str, ...]],
    polarity: bool,
    fraction: float,
    seed: int,
    held_out_texts: frozenset[int] | None,
) -> Survey:
    """Reads all texts once.

    The validation texts are those that `stratified_validation_rows` chooses, at most about MAX_HELD_OUT. Of more than
    `_MAX_CANDIDATES` texts, it chooses among those whose groups have the lowest hashes, which are the first in its own
    order.

    Args:
        classes_of: (each label as in the source, number of texts) -> classes.
        polarity: see `labels.class_ids`.
        fraction: of the texts to hold out.
        seed: of the sample.
        held_out_texts: hashes of the user's own validation texts; None holds out a part of the texts.

    Raises:
        UserError: there are far too many labels, or all texts are in one group.
    """
    candidates = LowestRows(_MAX_CANDIDATES, np.uint64, np.int32)  # hashes of group and text, number of the label
    sample = _Sample(seed)
    labels: dict[str, int] = {}  # as in the source -> number
    dropped: collections.Counter = collections.Counter()
    rows = characters = 0
    for chunk in chunks:
        dropped.update(chunk.dropped)
        numbers = np.array([labels.setdefault(label, len(labels)) for label in chunk.labels], np.int32)
        if len(labels) > _MAX_LABELS:
            raise UserError(f"more than {_MAX_LABELS:,} different labels: name the right column with --label-column")
        rows += len(chunk)
        characters += sum(map(len, chunk.texts))
        groups, texts = hashes_of(chunk)
        if held_out_texts is None:
            candidates.add(groups, texts, numbers)
        sample.add(chunk.texts, groups, texts)
    found = np.array(list(labels), object)
    classes = classes_of(found, rows)
    ids = class_ids(found, classes, polarity)
    held_out = np.zeros(0, np.uint64)
    if held_out_texts is None:
        groups, texts, numbers = candidates.columns
        part = fraction_of_candidates(fraction, rows, MAX_HELD_OUT, len(candidates))
        chosen = stratified_validation_rows(groups, ids[numbers], part)
        held_out, held_out_texts = np.unique(groups[chosen]), frozenset(texts[chosen].tolist())
    return Survey(
        rows,
        characters,
        classes,
        dict(zip(found.tolist(), ids.tolist(), strict=True)),
        dict(dropped),
        held_out,
        held_out_texts or frozenset(),
        sample.training_texts(held_out, held_out_texts or frozenset()),
    )


def lowest(chunks: Iterable[LabelledTexts], limit: int) -> tuple[LabelledTexts, dict[str, int]]:
    """Returns the texts with the lowest hashes, at most `limit`, in the order of reading, and what was left out."""
    kept: list[tuple[int, int, str, str]] = []  # hash, number of the row, text, label
    dropped, rows = collections.Counter(), 0
    for chunk in chunks:
        dropped.update(chunk.dropped)
        of_texts = (hash_of(text) for text in chunk.texts)
        kept += zip(of_texts, range(rows, rows + len(chunk)), chunk.texts, chunk.labels, strict=True)
        rows += len(chunk)
        if len(kept) > 2 * limit:
            kept = sorted(kept)[:limit]
    kept = sorted(sorted(kept)[:limit], key=lambda row: row[1])
    if rows > limit:
        dropped[f"more than {limit:,} texts to score on"] += rows - limit
    columns = [np.array([row[i] for row in kept], object) for i in (2, 3)]
    return LabelledTexts(*columns, None, {}), dict(dropped)


def hashes_of(chunk: LabelledTexts) -> tuple[np.ndarray, np.ndarray]:
    """Returns the hashes of the groups and of the comparable texts, uint64 [n]."""
    return hashes(chunk.groups_or_texts()), hashes(map(comparable, chunk.texts))


def comparable_hashes(texts: LabelledTexts) -> frozenset[int]:
    """Returns the hashes of texts, in the sense of `comparable`."""
    return frozenset(hash_of(comparable(text)) for text in texts.texts)


def split(chunks: Iterable[LabelledTexts], found: Survey) -> Iterator[tuple[LabelledTexts, np.ndarray, np.ndarray]]:
    """Yields each chunk again with two masks, bool [n]: held out, and in training.

    A training text that is also held out is in neither.
    """
    held_out_texts = np.array(sorted(found.held_out_texts), np.uint64)
    for chunk in chunks:
        groups, texts = hashes_of(chunk)
        held_out = np.isin(groups, found.held_out)
        yield chunk, held_out, ~held_out & ~np.isin(texts, held_out_texts)


class _Sample:
    """A random sample of texts whose characters are at most `_MAX_SAMPLE`."""

    def __init__(self, seed: int):
        self._rng = np.random.default_rng(seed)
        self._rows: list[tuple[float, int, int, str]] = []  # random number, hashes of group and text, text
        self._limit, self._characters = 1.0, 0

    def add(self, texts: np.ndarray, groups: np.ndarray, text_hashes: np.ndarray) -> None:
        draws = self._rng.random(len(texts))
        for row in zip(draws.tolist(), groups.tolist(), text_hashes.tolist(), texts, strict=True):
            if row[0] < self._limit:
                self._rows.append(row)
                self._characters += len(row[3])
        while self._characters > _MAX_SAMPLE:
            self._limit /= 2
            self._rows = [row for row in self._rows if row[0] < self._limit]
            self._characters = sum(len(row[3]) for row in self._rows)

    def training_texts(self, held_out: np.ndarray, held_out_texts: frozenset[int]) -> list[str]:
        groups = set(held_out.tolist())
        return [text for _, group, of_text, text in self._rows if group not in groups and of_text not in held_out_texts]
