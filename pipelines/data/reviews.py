"""Labelled texts, wherever they come from: one way in for files, folders, the named corpus and the sample."""

import dataclasses
import numpy as np

from pipelines.data import corpora, folders, sample_reviews, tables


@dataclasses.dataclass
class Reviews:
    """Texts with their labels as spelled in the source.

    Attributes:
        texts: object array [n] of str.
        labels: object array [n] of str.
        groups: object array [n] of str; rows of one group (one film) never part in a split. None: each text is its own.
        dropped: reason -> number of rows left out while reading.
    """

    texts: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> "Reviews":
        groups = None if self.groups is None else self.groups[rows]
        return Reviews(self.texts[rows], self.labels[rows], groups, self.dropped)


def read(data: str | None, text_column: str | None = None, label_column: str | None = None) -> dict[str, Reviews]:
    """Reads `data` whole.

    Returns:
        split name -> Reviews. Always has "train"; has "test" where the source brings its own test set.

    Raises:
        UserError: nothing there, nothing in it, not readable, or a column that is not there.
    """
    if data is None:
        splits = {"train": sample_reviews.generate()}
    elif corpora.named(data, "reviews"):
        splits = folders.read(corpora.fetch(data))
    elif (path := corpora.existing(data, "reviews")).is_dir():
        splits = folders.read(path)
    else:
        splits = {"train": tables.read(path, text_column, label_column)}
    return {name: _without_empty_texts(Reviews(*columns)) for name, columns in splits.items()}


def fresh_sample() -> Reviews:
    """Sample reviews that are in no training data."""
    return Reviews(*sample_reviews.generate(reviews=1000, seed=2))


def _without_empty_texts(reviews: Reviews) -> Reviews:
    has_text = np.array([bool(text.strip()) for text in reviews.texts], dtype=bool)
    has_label = np.array([bool(label.strip()) for label in reviews.labels], dtype=bool)
    for reason, lost in (("empty text", ~has_text), ("no label", has_text & ~has_label)):
        if lost.any():
            reviews.dropped[reason] = reviews.dropped.get(reason, 0) + int(lost.sum())
    return reviews.take(has_text & has_label)
