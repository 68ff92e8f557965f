"""Labelled texts, split into training, validation and test, with ids of their classes."""

import dataclasses
from typing import Any

import numpy as np

from pipelines.data import labelled_texts, labels
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.splits import seen_in, validation_rows
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.examples import text_to_try
from pipelines.support.errors import UserError


@dataclasses.dataclass
class Labelled:
    """Texts with the ids of their classes.

    Attributes:
        texts: object array [n] of str.
        labels: int32 [n].
        num_generated: number of texts, the last ones, that were generated for training.
    """

    texts: np.ndarray
    labels: np.ndarray
    num_generated: int = 0

    def __len__(self) -> int:
        return len(self.texts)


@dataclasses.dataclass
class LabelledSplits:
    """What a run trains on and is measured on.

    Attributes:
        train, valid: always there.
        test: test set, if the source has one.
        classes: names of the classes in the order of their ids.
        notes: what was left out or added and why: reason -> number of rows.
    """

    train: Labelled
    valid: Labelled
    test: Labelled | None
    classes: tuple[str, ...]
    notes: dict[str, int]


def read_and_split(config: LabelledConfig, polarity: bool) -> LabelledSplits:
    """Reads the labelled texts and splits off validation: by film where films are known, else by text.

    Args:
        config: fields of the data and of validation.
        polarity: whether different spellings of negative and positive are the same labels.

    Raises:
        UserError: the data cannot be read, has fewer than two classes, or is too small to split.
    """
    source = config.data or "the sample"
    parts = labelled_texts.read(config.data, config.table_options())
    train = parts["train"]
    classes = labels.classes_of(train.labels, source, polarity)
    notes = {f"left out, {reason}": rows for reason, rows in train.dropped.items()}
    if config.valid:
        valid = labelled_texts.read(config.valid, config.table_options())["train"]
        notes |= {f"left out of --valid, {reason}": rows for reason, rows in valid.dropped.items()}
    else:
        groups = train.texts if train.groups is None else train.groups
        held_out = validation_rows(groups, config.valid_fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    repeated = seen_in(train.texts, valid.texts)
    if repeated.any():
        notes["left out of training, the same text is in validation"] = int(repeated.sum())
        train = train.take(~repeated)
    splits = LabelledSplits(
        train=with_class_ids(train, classes, polarity, notes, "training"),
        valid=with_class_ids(valid, classes, polarity, notes, "validation"),
        test=with_class_ids(parts["test"], classes, polarity, notes, "test") if "test" in parts else None,
        classes=classes,
        notes=notes,
    )
    _require_all_classes(splits, source)
    return splits


def with_class_ids(
    rows: LabelledTexts, classes: tuple[str, ...], polarity: bool, notes: dict[str, int], split: str
) -> Labelled:
    """Returns the texts with class ids. Rows whose label is none of `classes` are left out and counted in `notes`."""
    ids = labels.class_ids(rows.labels, classes, polarity)
    if (ids < 0).any():
        notes[f"left out of {split}, unknown label"] = int((ids < 0).sum())
    return Labelled(rows.texts[ids >= 0], ids[ids >= 0])


def with_generated(train: Labelled, generated: Labelled) -> Labelled:
    """Returns the training texts, followed by texts that were generated for training."""
    texts = np.concatenate([train.texts, generated.texts])
    ids = np.concatenate([train.labels, generated.labels])
    return Labelled(texts, ids, num_generated=len(generated))


def describe(splits: LabelledSplits) -> str:
    """Returns one line for the terminal: how much data there is."""
    return f"{len(splits.train):,} texts to train on, {len(splits.valid):,} to validate on"


def class_rows(splits: LabelledSplits) -> dict[str, int]:
    """Returns class -> number of training texts."""
    counts = np.bincount(splits.train.labels, minlength=len(splits.classes))
    return dict(zip(splits.classes, counts.tolist(), strict=True))


def class_weight(config: LabelledConfig, splits: LabelledSplits) -> dict[int, float] | None:
    """Returns the weight of each class id with --class-weights, else None.

    n / (classes * rows of the class), so that all classes have the same total weight.
    """
    if not config.class_weights:
        return None
    rows = class_rows(splits).values()
    return {i: sum(rows) / (len(rows) * count) for i, count in enumerate(rows)}


def describe_splits(splits: LabelledSplits) -> dict[str, Any]:
    """Returns the fields of `RunResult` on the rows and the classes."""
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    return {
        "example": text_to_try(splits.valid.texts),
        "classes": list(splits.classes),
        "rows": {name: len(part) for name, part in parts.items() if part},
        "class_rows": class_rows(splits),
        "notes": splits.notes,
    }


def _require_all_classes(splits: LabelledSplits, source: str) -> None:
    """Raises a UserError if a class has no training text, or validation is empty."""
    missing = [name for name, rows in class_rows(splits).items() if not rows]
    if missing or not len(splits.valid):
        lost = f"class {missing[0]!r} in training" if missing else "text in validation"
        raise UserError(f"{source}: the split left no {lost}: add rows, or give a validation set with --valid")
