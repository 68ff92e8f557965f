"""Labels texts with an exported classifier: texts of the command line, and files of any size."""

import functools
from collections.abc import Sequence

import numpy as np

from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled.config import multi_label
from pipelines.predicting.file_steps import FileSteps
from pipelines.predicting.row_files import RowTask, load_signature, row_steps
from pipelines.text.invisible import is_blank


def predict_texts(exported: Exported, texts: list[str], loaded=None) -> list[dict]:
    """Labels texts.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", "label", "score" (or "labels", if a text may have several), "probabilities" (label ->
        probability), "abstained" (the label is "") if the model abstains, and "note" for an unusual text.
    """
    outputs = load_signature(exported, loaded)(texts)
    card = exported.card()
    results = []
    for i, text in enumerate(texts):
        probabilities = (round(float(p), 6) for p in outputs["probabilities"][i])
        if "labels" in outputs:
            label = {"labels": names_of(outputs["labels"][i])}
        else:
            label = {"label": outputs["label"][i], "score": round(float(outputs["score"][i]), 6)}
            label |= {"abstained": bool(outputs["abstained"][i])} if "abstained" in outputs else {}
        result = {"text": text, **label, "probabilities": dict(zip(card["classes"], probabilities, strict=True))}
        note = _note(text, card["window"]["max_bytes"])
        results.append(result | ({"note": note} if note else {}))
    return results


def file_steps(exported: Exported, options: TableOptions, suffix: str, prefix: str | None = None) -> FileSteps:
    """Returns the steps that label the texts of files. Counts have "labels", label -> rows, and notes on unusual texts.

    Args:
        options: how to read a table.
        suffix: one of `PredictRowsCommand.suffixes`.
        prefix: of the names of the columns that are written; see `row_files.names_of_outputs`.
    """
    card = exported.card()
    classes, max_bytes = tuple(card["classes"]), card["window"]["max_bytes"]
    decision = ("predicted",) if multi_label(card["config"]) else ("predicted", "score")
    task = RowTask(
        names=(*decision, *(f"p({name})" for name in classes)),
        load=load_signature,
        columns=functools.partial(_columns, classes, suffix),
        count=functools.partial(_counts, classes, max_bytes),
    )
    return row_steps(task, options.after_training(card["config"]), suffix, prefix)


def _columns(classes: tuple[str, ...], suffix: str, outputs: dict[str, np.ndarray]) -> dict[str, Sequence]:
    """See `RowTask.columns`. Several labels are a list in JSON, else one cell."""
    if "labels" in outputs:
        sets = [names_of(labels) for labels in outputs["labels"]]
        joined = sets if suffix == ".jsonl" else [DEFAULT_LABELS_SEPARATOR.join(names) for names in sets]
        columns: dict[str, Sequence] = {"predicted": joined}
    else:
        columns = {"predicted": outputs["label"], "score": outputs["score"]}
    return columns | {f"p({name})": outputs["probabilities"][:, i] for i, name in enumerate(classes)}


def names_of(labels: np.ndarray) -> list[str]:
    """Returns a row of the output `labels` without its padding."""
    return [name for name in labels if name]


def _counts(
    classes: tuple[str, ...], max_bytes: int, texts: list[str], outputs: dict[str, np.ndarray], is_read: np.ndarray
) -> dict:
    """See `RowTask.count`."""
    counts: dict = {"labels": dict.fromkeys(classes, 0)}
    sets = map(names_of, outputs["labels"] if "labels" in outputs else outputs["label"][:, None])
    for text, names, read in zip(texts, sets, is_read, strict=True):
        if not read:
            continue
        for name in names:
            counts["labels"][name] += 1
        for note in filter(None, (None if names else "no label", _note(text, max_bytes))):
            counts[note] = counts.get(note, 0) + 1
    return counts


def _note(text: str, max_bytes: int) -> str | None:
    """Why the label of a text is defined but means little; None for a usual text."""
    if is_blank(text):
        return "empty"
    if not any(character.isalnum() for character in text[:max_bytes]):
        return "without letters or digits"
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        return f"longer than {max_bytes} bytes, cut"
    return None
