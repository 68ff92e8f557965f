"""Labelled texts of prepared data: the two passes over the texts that `prepare` makes, and the splits of a training."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipelines.data import labelled_texts
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.labels import class_ids
from pipelines.data.prepared import Prepared
from pipelines.labelled import survey as surveys
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits, ShardedTexts
from pipelines.labelled.splits import classes_of, require_rows, unknown_label_notes, without_group_note
from pipelines.labelled.survey import Survey
from pipelines.shards import first_pass, shard_order
from pipelines.shards.held_out import HeldOut
from pipelines.support import paths
from pipelines.support.errors import UserError


class Surveyed(NamedTuple):
    """What is known after the first pass.

    Attributes:
        train: about the training texts.
        own: split -> the texts of splits that have files of their own: "valid" with --valid, and "test".
        notes: what was left out and why: reason -> number of rows.
    """

    train: Survey
    own: dict[str, LabelledTexts]
    notes: dict[str, int]


def survey(config: LabelledConfig) -> Surveyed:
    """Reads all texts once.

    Raises:
        UserError: the data cannot be read, or is too small to split.
    """
    name, options = paths.shown(config.data), config.table_options()
    own, notes = {}, {}
    if config.valid:
        chunks = labelled_texts.read_chunks(config.valid, "train", options)
        own["valid"], dropped = surveys.lowest(chunks, first_pass.MAX_HELD_OUT)
        notes |= {f"left out of --valid, {reason}": count for reason, count in dropped.items()}
    found = surveys.survey(
        labelled_texts.read_chunks(config.data, "train", options),
        lambda labels, rows: classes_of(config, labels, name, config.polarity, rows),
        config.polarity,
        config.valid_fraction,
        config.seed,
        HeldOut.of_texts(own["valid"].texts) if config.valid else None,
    )
    require_rows(found.rows, name)
    test, dropped = surveys.lowest(labelled_texts.read_chunks(config.data, "test", options), surveys.MAX_TEST)
    if len(test):
        own["test"] = test
        notes |= {f"left out of test, {reason}": count for reason, count in dropped.items()}
    left_out = {f"left out, {reason}": count for reason, count in found.dropped.items()}
    return Surveyed(found, own, left_out | without_group_note(found.num_without_group) | notes)


class Rows:
    """The second pass over the texts: yields those for training, and keeps those that are held out.

    Attributes:
        held_out: {"text", "label"} of the validation texts so far.
        class_rows: number of training texts of each class so far.
        notes: reason -> number of texts that were left out so far.
    """

    def __init__(self, config: LabelledConfig, found: Survey):
        self._config, self._found = config, found
        self.held_out: list[dict] = []
        self.class_rows = np.zeros(len(found.classes), np.int64)
        self.notes: dict[str, int] = {}

    def training(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields (texts, object [n] of str, ids of their classes, int [n]) of each chunk."""
        chunks = labelled_texts.read_chunks(self._config.data, "train", self._config.table_options())
        for chunk, held_out, is_repeated in surveys.split(chunks, self._found.held_out):
            ids = np.array([self._found.class_of[label] for label in chunk.labels])
            pairs = zip(chunk.texts[held_out], ids[held_out].tolist(), strict=True)
            self.held_out += [{"text": text, "label": label} for text, label in pairs]
            if is_repeated.any():
                reason = "left out of training, the same text is in validation"
                self.notes[reason] = self.notes.get(reason, 0) + int(is_repeated.sum())
            in_training = ~held_out & ~is_repeated
            self.class_rows += np.bincount(ids[in_training], minlength=len(self.class_rows))
            if in_training.any():
                yield chunk.texts[in_training], ids[in_training]

    def own(self, texts: LabelledTexts, split: str) -> list[dict]:
        """Returns {"text", "label"} of texts that have a file of their own, without those with an unknown label."""
        ids = class_ids(texts.labels, self._found.classes, self._config.polarity)
        self.notes |= unknown_label_notes(texts.labels, ids, "validation" if split == "valid" else split)
        pairs = zip(texts.texts, ids.tolist(), strict=True)
        return [{"text": text, "label": label} for text, label in pairs if label >= 0]

    def check(self, num_valid: int) -> None:
        """Checks that each class has a training text, and validation has a text.

        Raises:
            UserError: one of them does not.
        """
        missing = [name for name, rows in zip(self._found.classes, self.class_rows, strict=True) if not rows]
        if missing or not num_valid:
            lost = f"text of the class {missing[0]!r} in training" if missing else "text in validation"
            raise UserError(
                f"{paths.shown(self._config.data)}: the split left no {lost}: add rows, or give a validation set with "
                "--valid"
            )


def load(data: Prepared, batch_size: int | None) -> LabelledSplits:
    """Returns the splits of prepared data; the training texts stay in its shards.

    For `batch_size` and what is raised, see `shard_order.check_files`.
    """
    shard_order.check_files(data, batch_size)
    splits = {name: _labelled(data.read_rows(name)) for name in ("valid", "test")}
    classes, notes = tuple(data.details["classes"]), dict(data.notes)
    return LabelledSplits(ShardedTexts(data), splits["valid"], splits["test"], classes, notes)


def _labelled(rows: list[dict] | None) -> Labelled | None:
    if rows is None:
        return None
    texts = np.array([row["text"] for row in rows], object)
    return Labelled(texts, np.array([row["label"] for row in rows], np.int32))
