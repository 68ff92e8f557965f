"""What a run states about its labelled texts: on the terminal, in its record, and as weights of the classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipelines.data.fields import NUMBER, Field, cells_of
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.splits import LEFT_OUT, class_rows
from pipelines.labelled.top_classes import NUM_TOP
from pipelines.support.examples import example_row, example_text, text_to_try

_MAX_CELLS = 3  # that a command is shown with


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
    num_classes = sum(count > 0 for count in rows)  # a training that continues may lack texts of a class
    return {i: sum(rows) / (num_classes * max(1, count)) for i, count in enumerate(rows)}


def text_weight(config: LabelledConfig, splits: LabelledSplits, part: Labelled) -> np.ndarray | None:
    """Returns the weight of each text of a part, float [n]: that of its class times its own; None if all weigh 1."""
    of_class = class_weight(config, splits)
    if of_class is None:
        return part.weights
    of_texts = np.array([of_class[label] for label in part.labels.tolist()])
    return of_texts if part.weights is None else of_texts * part.weights


_OUTPUTS = {
    "label": "the label of the text",
    "abstained": "whether no class is probable enough, so that the label is empty",
    "score": "the probability of the label; where it is empty, the highest one",
    "labels": "the labels of the text, the most probable one first, then empty texts",
    "probabilities": "of all classes, in the order of `classes`",
    "top_labels": f"the {NUM_TOP} most probable classes, or all; as many as its input k says in the signature classes",
    "top_scores": "the probabilities of top_labels",
    "value": "the number of the text",
    "composed": "the text that the model reads: its columns, divided by \N{SYMBOL FOR RECORD SEPARATOR}",
}


def describe_outputs(config: LabelledConfig, num_classes: int, has_columns: bool = False) -> dict[str, str]:
    """Returns what the model card says about the outputs of `serving_default`: name -> description."""
    if config.label_type == "number":
        names = ["value"]
    else:
        of_label = ["labels"] if config.multi_label else ["label", "score"]
        abstained = ["abstained"] * (config.threshold is not None and not config.multi_label and num_classes > 2)
        names = [*of_label, *abstained, "probabilities", "top_labels", "top_scores"]
    return {name: _OUTPUTS[name] for name in [*names, *(["composed"] if has_columns else [])]}


def describe_splits(config: LabelledConfig, splits: LabelledSplits) -> dict[str, Any]:
    """Returns what `Task.describe_data` says about the rows and the classes."""
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    return {
        **_example(splits),
        "classes": list(splits.classes),
        "outputs": describe_outputs(config, len(splits.classes), bool(splits.fields)),
        "rows": {name: len(part) for name, part in parts.items() if part},
        "class_rows": class_rows(splits),
        **({"columns": [field.to_json() for field in splits.fields]} if splits.fields else {}),
        "notes": splits.notes,
        "findings": {"duplicates": splits.duplicates} if splits.duplicates else {},
        "prepared": splits.sharded is not None,
    }


def _example(splits: LabelledSplits) -> dict[str, Any]:
    """A validation row for the user to try, and for the model card: a text, or the cells of several columns."""
    if not splits.fields:
        texts = splits.valid.texts
        return {"example": text_to_try(texts), "example_text": example_text(texts)}
    row = example_row(cells_of(splits.fields, text) for text in splits.valid.texts)
    return {"example": _cells_to_try(splits.fields, row), "example_row": row}


def _cells_to_try(fields: Sequence[Field], row: dict) -> str:
    """Returns the arguments of `predict` for a model of several columns: one for each of them; of many, a file."""
    columns = [field for field in fields if field.is_column]
    if len(columns) > _MAX_CELLS:
        return "--input FILE"
    unknown = {field.name: "" if field.kind == NUMBER else f"{field.name} ..." for field in columns}
    cells = [(unknown | row)[field.name] for field in columns]
    return " ".join(f"{cell:g}" if isinstance(cell, float) else text_to_try([cell]) for cell in cells)
