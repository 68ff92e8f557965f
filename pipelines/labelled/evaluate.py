"""Measures an exported classifier on labelled texts."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import labelled_texts, labels, paths, sources
from pipelines.data.paths import Data
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled import group_scores, metrics
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside


def evaluate(
    exported: Exported,
    data: Data | None,
    options: TableOptions = DEFAULTS,
    mistakes: Path | None = None,
    by: str | None = None,
) -> dict:
    """Measures an exported classifier on `data`, or on its test set if it has one.

    Args:
        data: as for training; None is a fresh embedded sample, for a model that was trained on one.
        options: how to read a table.
        mistakes: CSV file for the texts with a wrong label.
        by: column whose values are groups, which are scored one by one.

    Returns:
        Scores of `metrics.compute_scores`, with "model", "data", "classes" and "left_out" (reason -> rows), and with
        `by`: "by" and "groups" (see `group_scores.compute_scores`).

    Raises:
        UserError: the data cannot be read, or no row has one of the model's labels.
    """
    check_output(mistakes, "--mistakes")
    if by is not None:
        options = dataclasses.replace(options, group_column=group_scores.check_column(data, by, options))
    card = exported.card()
    classes = tuple(card["classes"])
    if data is None and not card["sample"]:
        raise UserError(f"{exported.title} was trained on real texts: give labelled texts to measure it on with --data")
    parts = (
        labelled_texts.read(data, options.after_training(card["config"]))
        if data
        else {"train": labelled_texts.fresh_sample()}
    )
    rows = parts.get("test", parts["train"])
    ids = labels.class_ids(rows.labels, classes, card["config"]["polarity"])
    left_out = dict(rows.dropped)
    if (ids < 0).any():
        left_out["unknown label"] = int((ids < 0).sum())
    if not (ids >= 0).any():
        unknown = ", ".join(sorted(set(rows.labels))[:5]) or "none"
        raise UserError(
            f"{paths.shown(data)}: its labels ({unknown}) are none of {exported.title}'s ({', '.join(classes)})"
        )
    rows, ids = rows.take(ids >= 0), ids[ids >= 0]
    texts = rows.texts
    outputs = _classify(exported, texts)
    if mistakes is not None:
        _write_mistakes(mistakes, texts, ids, outputs, classes)
    about = {"model": exported.title, "data": sources.name(data), "classes": list(classes), "left_out": left_out}
    if by is not None:
        is_correct = outputs["probabilities"].argmax(axis=1) == ids
        about |= {"by": by, "groups": group_scores.compute_scores(rows.groups, is_correct)}
    return about | metrics.compute_scores(ids, outputs["probabilities"], classes, texts)


def format_scores(scores: dict) -> str:
    """Returns the result of `evaluate` as text for a terminal."""
    classes = scores["classes"]
    f1 = f"F1 of {classes[-1]}" if len(classes) == 2 else "macro-F1"
    roc_auc = scores["roc_auc"]
    values = {
        "accuracy": _with_interval(scores["accuracy"], scores["accuracy_interval"]),
        f1: _with_interval(scores["f1"], scores["f1_interval"]),
        "ROC AUC": "- (not all classes occur)" if roc_auc is None else f"{roc_auc:.4f}",
        "log loss, nats": f"{scores['log_loss']:.4f}",
        "calibration error": f"{scores['calibration_error']:.4f}",
    }
    lines = [f"{scores['model']} on {scores['data']}: {scores['rows']:,} texts", ""]
    lines += [f"  {name:<24}{value}" for name, value in values.items()]
    width = max(12, *(len(name) + 2 for name in classes))
    lines += ["", f"  {'true label':<24}" + "".join(f"{name:>{width}}" for name in classes)]
    for name, row in zip(classes, scores["confusion_matrix"], strict=True):
        lines.append(f"  {name:<24}" + "".join(f"{count:>{width},}" for count in row))
    lines += ["", f"  {'label':<24}{'texts':>12}{'precision':>12}{'recall':>12}{'F1':>12}"]
    for each in scores["by_class"]:
        numbers = "".join(f"{_number(each[name]):>12}" for name in ("precision", "recall", "f1"))
        lines.append(f"  {each['class']:<24}{each['rows']:>12,}{numbers}")
    lines += ["", f"  {'words':<24}{'texts':>12}{'accuracy':>12}"]
    for group in scores["accuracy_by_length"]:
        lines.append(f"  {group['words']:<24}{group['rows']:>12,}{group['accuracy']:>12.4f}")
    if "groups" in scores:
        lines += ["", *group_scores.format_scores(scores["by"], scores["groups"])]
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in scores["left_out"].items()]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value:.4f}   (95 % interval {interval[0]:.4f} to {interval[1]:.4f})"


def _classify(exported: Exported, texts: np.ndarray) -> dict[str, np.ndarray]:
    loaded = exported.load()
    from pipelines.export.signatures import (
        BatchedSignature,
    )  # after `load`, which imports TensorFlow without its messages

    return BatchedSignature(loaded.signatures["serving_default"])(texts)


def _write_mistakes(path: Path, texts: np.ndarray, ids: np.ndarray, outputs: dict, classes: tuple[str, ...]) -> None:
    """Writes the texts with a wrong label to a CSV file, the highest probability first."""
    true_labels = np.array(classes, dtype=object)[ids]
    wrong = np.flatnonzero(outputs["label"] != true_labels)
    wrong = wrong[np.argsort(-outputs["score"][wrong], kind="stable")]
    columns = {
        "text": texts[wrong],
        "label": true_labels[wrong],
        "predicted": outputs["label"][wrong],
        "score": outputs["score"][wrong],
    }
    with written_beside(path, newline="") as file:
        pd.DataFrame(columns).to_csv(file, index=False, float_format="%.6f")
