"""What a run states about its labelled texts: on the terminal, in its record, and as weights of the classes."""

from typing import Any

import numpy as np

from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.splits import LEFT_OUT, class_rows
from pipelines.support.examples import text_to_try


def describe(splits: LabelledSplits) -> str:
    """Returns the lines for the terminal: how much data there is, and what to look at in it."""
    rows = f"{len(splits.train):,} texts to train on, {len(splits.valid):,} to validate on"
    unread = {reason: count for reason, count in splits.notes.items() if reason.startswith(LEFT_OUT)}
    remarks = [*(f"{reason}: {count:,}" for reason, count in unread.items()), *splits.remarks]
    return "\n".join([rows, *(f"note: {remark}" for remark in remarks)])


def class_weight(config: LabelledConfig, splits: LabelledSplits) -> dict[int, float] | None:
    """Returns the weight of each class id with --class-weights, else None.

    n / (classes * rows of the class), so that all classes have the same total weight.
    """
    if not config.class_weights:
        return None
    rows = class_rows(splits).values()
    return {i: sum(rows) / (len(rows) * count) for i, count in enumerate(rows)}


def text_weight(config: LabelledConfig, splits: LabelledSplits, part: Labelled) -> np.ndarray | None:
    """Returns the weight of each text of a part, float [n]: that of its class times its own; None if all weigh 1."""
    of_class = class_weight(config, splits)
    if of_class is None:
        return part.weights
    of_texts = np.array([of_class[label] for label in part.labels.tolist()])
    return of_texts if part.weights is None else of_texts * part.weights


def describe_splits(splits: LabelledSplits) -> dict[str, Any]:
    """Returns what `Task.describe_data` says about the rows and the classes."""
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    return {
        "example": text_to_try(splits.valid.texts),
        "classes": list(splits.classes),
        "rows": {name: len(part) for name, part in parts.items() if part},
        "class_rows": class_rows(splits),
        "notes": splits.notes,
        "findings": {"duplicates": splits.duplicates} if splits.duplicates else {},
        "prepared": splits.sharded is not None,
    }
