"""`evaluate`: an exported classifier measured on labelled texts."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipelines import classification, predicting
from pipelines.data import labels, reviews, sources
from pipelines.errors import UserError
from pipelines.files import written_beside
from pipelines.models import Exported


def evaluate(
    exported: Exported,
    data: str | None,
    text_column: str | None = None,
    label_column: str | None = None,
    mistakes: Path | None = None,
) -> dict:
    """Measures an exported model on `data`; where that brings a test set, on the test set.

    Args:
        data: as for training; None is a fresh embedded sample, for a model that was trained on one.
        mistakes: a CSV file to write the wrong answers to.

    Returns:
        `classification.measures` with "model", "data", "classes" and "left_out" (reason -> rows).

    Raises:
        UserError: not readable, or no row has one of the model's labels.
    """
    if mistakes is not None and mistakes.exists():
        raise UserError(f"{mistakes} exists already: remove it, or give another name with --mistakes")
    card = exported.card()
    classes = tuple(card["classes"])
    if data is None and not card["sample"]:
        raise UserError(f"{exported.title} was trained on real reviews: give labelled ones to measure it on with --data")
    found = reviews.read(data, text_column, label_column) if data else {"train": reviews.fresh_sample()}
    part = found.get("test", found["train"])
    ids = labels.class_ids(part.labels, classes)
    left_out = dict(part.dropped)
    if (ids < 0).any():
        left_out["unknown label"] = int((ids < 0).sum())
    if not (ids >= 0).any():
        theirs = ", ".join(sorted(set(part.labels))[:5]) or "none"
        raise UserError(f"{data}: its labels ({theirs}) are none of {exported.title}'s ({', '.join(classes)})")
    texts, ids = part.texts[ids >= 0], ids[ids >= 0]
    loaded = predicting.load(exported)
    outputs = predicting.answers(loaded)(texts)
    if mistakes is not None:
        _write_mistakes(mistakes, texts, ids, outputs, classes)
    measures = classification.measures(ids, outputs["probabilities"], classes, texts)
    about = {"model": exported.title, "data": sources.name(data), "classes": list(classes), "left_out": left_out}
    return about | measures


def _write_mistakes(path: Path, texts: np.ndarray, ids: np.ndarray, outputs: dict, classes: tuple[str, ...]) -> None:
    truth = np.array(classes, dtype=object)[ids]
    wrong = np.flatnonzero(outputs["label"] != truth)
    wrong = wrong[np.argsort(-outputs["score"][wrong], kind="stable")]  # the surest first
    table = {"text": texts[wrong], "label": truth[wrong], "predicted": outputs["label"][wrong], "score": outputs["score"][wrong]}
    with written_beside(path, newline="") as file:
        pd.DataFrame(table).to_csv(file, index=False, float_format="%.6f")


def table(measures: dict) -> str:
    """The measures as text for a terminal."""
    classes = measures["classes"]
    f1 = f"F1 of {classes[-1]}" if len(classes) == 2 else "F1, mean over classes"
    roc_auc = measures["roc_auc"]
    lines = [f"{measures['model']} on {measures['data']}: {measures['rows']:,} reviews", ""]
    values = {
        "accuracy": f"{measures['accuracy']:.4f}",
        f1: f"{measures['f1']:.4f}",
        "ROC AUC": "- (not all classes occur)" if roc_auc is None else f"{roc_auc:.4f}",
        "log loss, nats": f"{measures['log_loss']:.4f}",
        "calibration error": f"{measures['calibration_error']:.4f}",
    }
    lines += [f"  {name:<24}{value}" for name, value in values.items()]
    width = max(12, *(len(name) + 2 for name in classes))
    lines += ["", f"  {'truth / answer':<24}" + "".join(f"{name:>{width}}" for name in classes)]
    for name, row in zip(classes, measures["confusion_matrix"], strict=True):
        lines.append(f"  {name:<24}" + "".join(f"{count:>{width},}" for count in row))
    lines += ["", f"  {'words':<24}{'reviews':>12}{'accuracy':>12}"]
    for part in measures["accuracy_by_length"]:
        lines.append(f"  {part['words']:<24}{part['rows']:>12,}{part['accuracy']:>12.4f}")
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in measures["left_out"].items()]
    return "\n".join(lines)
