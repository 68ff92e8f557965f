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
from pipelines.data.splits import stratified_validation_rows
from pipelines.shards import first_pass
from pipelines.shards.first_pass import FirstPass
from pipelines.shards.held_out import HeldOut, Keys, keys_of
from pipelines.support.errors import UserError

MAX_TEST = 25_000
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
        held_out: the texts of validation.
        sample: a random sample of the training texts; all of them if they are few.
    """

    rows: int
    characters: int
    classes: tuple[str, ...]
    class_of: dict[str, int]
    dropped: dict[str, int]
    num_without_group: int
    held_out: HeldOut
    sample: list[str]


def survey(
    chunks: Iterable[LabelledTexts],
    classes_of: Callable[[np.ndarray, int], tuple[str, ...]],
    polarity: bool,
    fraction: float,
    seed: int,
    own: HeldOut | None,
) -> Survey:
    """Reads all texts once. The validation texts are those that `stratified_validation_rows` chooses.

    Args:
        classes_of: (each label as in the source, number of texts) -> classes.
        polarity: see `labels.class_ids`.
        fraction: of the texts to hold out.
        seed: of the sample.
        own: the user's own validation texts; None holds out a part of the texts.

    Raises:
        UserError: there are far too many labels, or all texts are in one group.
    """
    passed = FirstPass(_MAX_SAMPLE, seed, own, np.int32)
    numbers: dict[str, int] = {}  # label as in the source -> its number
    num_without_group = 0
    for chunk in chunks:
        column = np.array([numbers.setdefault(label, len(numbers)) for label in chunk.labels], np.int32)
        if len(numbers) > _MAX_LABELS:
            raise UserError(f"more than {_MAX_LABELS:,} different labels: name the right column with --label-column")
        num_without_group += num_without_group_of(chunk)
        passed.add(_keys(chunk), [(text,) for text in chunk.texts], chunk.dropped, column)
    labels = np.array(list(numbers), object)
    classes = classes_of(labels, passed.rows)
    ids = class_ids(labels, classes, polarity)

    def choose(groups: np.ndarray, part: float, column: np.ndarray) -> np.ndarray:
        return stratified_validation_rows(groups, ids[column], part)

    held_out = passed.held_out(fraction, choose)
    return Survey(
        passed.rows,
        passed.characters,
        classes,
        dict(zip(labels.tolist(), ids.tolist(), strict=True)),
        dict(passed.dropped),
        num_without_group,
        held_out,
        [text for (text,) in passed.sample(held_out)],
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


def split(chunks: Iterable[LabelledTexts], held_out: HeldOut) -> Iterator[tuple[LabelledTexts, np.ndarray, np.ndarray]]:
    """Yields each chunk again with the two masks of `HeldOut.masks`."""
    for chunk in chunks:
        yield chunk, *held_out.masks(_keys(chunk))


def _keys(chunk: LabelledTexts) -> Keys:
    return keys_of(chunk.groups_or_texts(), chunk.texts)
