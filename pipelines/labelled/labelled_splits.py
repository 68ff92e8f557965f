"""Labelled texts with the ids of their classes: what a classifier is trained on and measured on."""

import dataclasses

import numpy as np

from pipelines.data import label_sets
from pipelines.data.fields import Field
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.prepared import Prepared


@dataclasses.dataclass
class Labelled:
    """Texts with the ids of their classes.

    Attributes:
        texts: object array [n] of str.
        labels: int32 [n]; of several labels per text, int32 [n, classes] of 0 and 1.
        num_generated: number of texts, the last ones, that were generated for training.
        weights: of the texts in training, float [n]; None: all weigh 1.
        numbers: the labels, float [n], where the classes are intervals of numbers (see number_labels.py).
    """

    texts: np.ndarray
    labels: np.ndarray
    num_generated: int = 0
    weights: np.ndarray | None = None
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def num_real(self) -> int:
        """The number of texts that were not generated: the first ones."""
        return len(self) - self.num_generated

    def with_texts(self, others: "Labelled") -> "Labelled":
        """Returns these texts with others, which come before those that were generated."""

        def joined(own, added):
            return np.concatenate([own[: self.num_real], added, own[self.num_real :]])

        weights = self.weights
        if weights is not None:
            weights = joined(weights, np.ones(len(others)) if others.weights is None else others.weights)
        texts, labels = joined(self.texts, others.texts), joined(self.labels, others.labels)
        return Labelled(texts, labels, self.num_generated, weights)

    def with_classes(self, num_classes: int) -> "Labelled":
        """Returns the texts for a model that has more classes than they: with columns of 0 if they have several labels.

        Args:
            num_classes: of the model; the first of them are those of the texts.
        """
        if self.labels.ndim == 1:
            return self
        missing = num_classes - self.labels.shape[1]
        return dataclasses.replace(self, labels=np.pad(self.labels, ((0, 0), (0, missing))))

    def rows_of_classes(self, num_classes: int) -> list[int]:
        """Returns the number of texts of each class."""
        if self.labels.ndim == 2:
            return self.labels.sum(axis=0).tolist()
        return np.bincount(self.labels, minlength=num_classes).tolist()


@dataclasses.dataclass(frozen=True)
class ShardedTexts:
    """Training texts in the shards of prepared data, encoded and with class ids.

    Attributes:
        data: the prepared data.
    """

    data: Prepared

    def __len__(self) -> int:
        return self.data.rows["train"]

    def rows_of_classes(self, num_classes: int) -> list[int]:
        """Returns the number of texts of each class."""
        return self.data.details["class_rows"]


@dataclasses.dataclass
class LabelledSplits:
    """What a run trains on and is measured on.

    Attributes:
        train: in memory, or in the shards of prepared data.
        valid: always there.
        test: test set, if the source has one.
        classes: names of the classes in the order of their ids.
        notes: what was left out or added and why: reason -> number of rows.
        duplicates: see `duplicates.find`.
        remarks: lines for the terminal on what the user should look at in the data.
        fields: the columns that the texts are made of, if there are several: see data/fields.py.
    """

    train: Labelled | ShardedTexts
    valid: Labelled
    test: Labelled | None
    classes: tuple[str, ...]
    notes: dict[str, int]
    duplicates: dict | None = None
    remarks: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels."""
        return self.valid.labels.ndim == 2

    @property
    def sharded(self) -> Prepared | None:
        """The prepared data that has the training texts; None if they are in memory."""
        return self.train.data if isinstance(self.train, ShardedTexts) else None


@dataclasses.dataclass(frozen=True)
class LabelledData:
    """What a run reads, before it is split.

    Attributes:
        name: of the data, for messages.
        rows: texts to train on, or to split.
        valid: the user's own validation texts.
        test: test set, if the source has one.
        classes: names of the classes in the order of their ids.
        polarity: whether different spellings of negative and positive are the same labels.
        notes: what was left out and why: reason -> number of rows.
        duplicates: see `duplicates.find`.
        known: the first of the classes, those of the model to continue from: the data may lack texts of them.
    """

    name: str
    rows: LabelledTexts
    valid: LabelledTexts | None
    test: LabelledTexts | None
    classes: tuple[str, ...]
    polarity: bool
    notes: dict[str, int]
    duplicates: dict
    known: tuple[str, ...] = ()

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels."""
        return label_sets.are_sets(self.rows.labels)
