"""Labelled texts from any source: a file, a folder, a named corpus, or the embedded sample."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import corpora, fields, folders, labels, sample_reviews, tables
from pipelines.data.fields import Field
from pipelines.data.splits import groups_or_texts, has_group
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data
from pipelines.text.invisible import is_blank

KIND = "labelled texts"  # of corpora


@dataclasses.dataclass
class LabelledTexts:
    """Texts with their labels as spelled in the source.

    Attributes:
        texts: object array [n] of str.
        labels: object array [n] of str, or of tuples of str if a text may have several labels.
        groups: object array [n] of str. Rows of one group (one film) stay together in a split. None: each text is its
            own group; so is a text whose group is empty.
        dropped: reason -> number of rows that were left out while reading.
        others: the columns of the table that are neither text nor label, [n, columns], if they were asked for.
        weights: of the rows in training, float [n], if they were asked for.
        fields: of a model that reads several columns, which are then one text: see data/fields.py.
        numbers: the labels as numbers, float [n], where they are measured numbers (labelled/number_labels.py).
    """

    texts: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None
    dropped: dict[str, int]
    others: pd.DataFrame | None = None
    weights: np.ndarray | None = None
    numbers: np.ndarray | None = None
    fields: tuple[Field, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def groups_or_texts(self) -> np.ndarray:
        """Returns what must stay together in a split: the groups, or the texts if there are none.

        Two texts in both orders stay together: the text of both rows is the smaller one.
        """
        keys = self.without_order()
        if keys is self.texts:  # no pairs
            return groups_or_texts(self.groups, self.texts)
        smallest: dict[str, str] = {}
        for key, text in zip(keys, self.texts, strict=True):
            smallest[key] = min(smallest.get(key, text), text)
        return groups_or_texts(self.groups, np.fromiter((smallest[key] for key in keys), object, len(self)))

    def without_order(self) -> np.ndarray:
        """Returns the texts; those of pairs are equal in both orders of the two, object [n] of str."""
        return fields.without_order(self.fields, self.texts)

    def take(self, rows: np.ndarray) -> "LabelledTexts":
        """Returns the rows that the index or mask `rows` selects."""
        groups = None if self.groups is None else self.groups[rows]
        others = None if self.others is None else self.others.iloc[rows]
        weights, numbers = (None if each is None else each[rows] for each in (self.weights, self.numbers))
        kept = groups, self.dropped, others, weights, numbers, self.fields
        return LabelledTexts(self.texts[rows], self.labels[rows], *kept)


def read(data: Data | None, options: TableOptions = DEFAULTS) -> dict[str, LabelledTexts]:
    """Reads all of `data`.

    Args:
        data: path or name of a corpus, or paths of tables with the same columns; None is the embedded sample.
        options: how to read a table.

    Returns:
        split -> texts: "train" and, if the source has its own test set, "test".

    Raises:
        UserError: the source is missing, empty or not readable, or has no such column.
    """
    _check_labels(data, options)
    if data is None:
        splits = {"train": sample_reviews.generate()}
    elif corpora.named(data, KIND):
        splits = folders.read(corpora.fetch(data))
    elif isinstance(data, tuple):
        splits = {"train": tables.read(corpora.existing_files(data, KIND), options)}
    elif not tables.is_table(path := corpora.existing(data, KIND)) and path.is_dir():
        splits = folders.read(path)
    else:
        splits = {"train": tables.read([path], options)}
    return {name: _without_empty_rows(LabelledTexts(*columns), options) for name, columns in splits.items()}


def read_chunks(data: Data, split: str, options: TableOptions = DEFAULTS) -> Iterator[LabelledTexts]:
    """Yields what `read` returns for a split, in chunks: `data` may be larger than memory.

    Args:
        data: path or name of a corpus, or paths of tables with the same columns.
        split: "train" or "test". A source without a test set yields nothing for it.

    Raises:
        UserError: as `read`.
    """
    _check_labels(data, options)
    if corpora.named(data, KIND):
        chunks = folders.read_chunks(corpora.fetch(data), split)
    elif not isinstance(data, tuple) and not tables.is_table(path := corpora.existing(data, KIND)) and path.is_dir():
        chunks = folders.read_chunks(path, split)
    elif split == "train":
        chunks = tables.read_chunks(corpora.existing_files(tuple(paths.each(data)), KIND), options)
    else:
        chunks = ()
    for columns in chunks:
        yield _without_empty_rows(LabelledTexts(*columns), options)


def num_without_group(rows: LabelledTexts) -> int:
    """Returns the number of rows whose cell in the column of groups is empty; 0 without such a column."""
    return 0 if rows.groups is None else int((~has_group(rows.groups)).sum())


def _check_labels(data: Data | None, options: TableOptions) -> None:
    """Raises a UserError if a text is to have several labels and the data is no table."""
    is_table = isinstance(data, tuple) or (data is not None and (tables.is_table(data) or not Path(data).is_dir()))
    if options.multi_label and (not is_table or corpora.named(data, KIND)):
        raise UserError(
            f"{data or 'the sample'}: each text has one label; several labels per text come from a table, with "
            "--labels-separator or --label-columns"
        )


def fresh_sample() -> LabelledTexts:
    """Returns texts of the embedded sample that are in no training data."""
    return LabelledTexts(*sample_reviews.generate(num_reviews=1000, seed=2))


def _without_empty_rows(rows: LabelledTexts, options: TableOptions) -> LabelledTexts:
    """Removes rows without a text or a label, and counts them in `dropped`; labels are read as the options state."""
    if options.fold_labels or options.missing_labels:
        rows.labels = np.fromiter((_read_label(options, label) for label in rows.labels), object, len(rows))
    has_text = np.array([not is_blank(text) for text in rows.texts], dtype=bool)
    # A text with a set of labels may have none of them.
    has_label = np.array([isinstance(label, tuple) or bool(label.strip()) for label in rows.labels], dtype=bool)
    for reason, dropped in (("empty text", ~has_text), ("no label", has_text & ~has_label)):
        if dropped.any():
            rows.dropped[reason] = rows.dropped.get(reason, 0) + int(dropped.sum())
    return rows.take(has_text & has_label)


def _read_label(options: TableOptions, label: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Returns a label as the options state; a missing one is empty, and of several labels is left out."""
    if isinstance(label, tuple):
        return tuple(dict.fromkeys(filter(None, (_read_label(options, each) for each in label))))
    if labels.fold(label) in map(labels.fold, options.missing_labels):
        return ""
    return labels.fold(label) if options.fold_labels else label
