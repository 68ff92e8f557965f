"""A first pass over labelled texts that may be larger than memory: their classes, which to hold out, and a sample.

What it keeps has a bounded size, whatever the number of texts.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.labelled_texts import num_without_group as num_without_group_of
from pipelines.data.labels import class_ids
from pipelines.data.splits import comparable, stratified_validation_rows
from pipelines.shards import first_pass
from pipelines.shards.first_pass import Sample
from pipelines.shards.held_out import LowestRows, fraction_of_candidates, hash_of, hashes
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
        num_without_group: number of texts whose cell in the column of groups is empty.
        held_out: hashes of the groups that are held out for validation, uint64, sorted.
        held_out_texts: hashes of the texts in them, in the sense of `comparable`.
        sample: a random sample of the training texts; all of them if they are few.
    """

    rows: int
    characters: int
    classes: tuple[str, ...]
    class_of: dict[str, int]
    dropped: dict[str, int]
    num_without_group: int
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
    sample = Sample(_MAX_SAMPLE, seed)
    labels: dict[str, int] = {}  # as in the source -> number
    dropped: collections.Counter = collections.Counter()
    rows = characters = num_without_group = 0
    for chunk in chunks:
        dropped.update(chunk.dropped)
        numbers = np.array([labels.setdefault(label, len(labels)) for label in chunk.labels], np.int32)
        if len(labels) > _MAX_LABELS:
            raise UserError(f"more than {_MAX_LABELS:,} different labels: name the right column with --label-column")
        rows += len(chunk)
        num_without_group += num_without_group_of(chunk)
        characters += sum(map(len, chunk.texts))
        groups, texts = hashes_of(chunk)
        if held_out_texts is None:
            candidates.add(groups, texts, numbers)
        sample.add([(text,) for text in chunk.texts], groups, texts)
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
        num_without_group,
        held_out,
        held_out_texts or frozenset(),
        [text for (text,) in sample.training_rows(held_out, held_out_texts or frozenset())],
    )


def lowest(chunks: Iterable[LabelledTexts], limit: int) -> tuple[LabelledTexts, dict[str, int]]:
    """Returns the texts with the lowest hashes, at most `limit`, in the order of reading, and what was left out."""
    dropped: collections.Counter = collections.Counter()

    def rows() -> Iterator[tuple[str, str]]:
        for chunk in chunks:
            dropped.update(chunk.dropped)
            yield from zip(chunk.texts, chunk.labels, strict=True)

    kept, others = first_pass.lowest(rows(), limit)
    if others:
        dropped[f"more than {limit:,} texts to score on"] += others
    columns = [np.array([row[i] for row in kept], object) for i in (0, 1)]
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
