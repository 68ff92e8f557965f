"""Measures an exported classifier on labelled texts."""

import collections
import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import label_sets, labelled_texts, labels, sources
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, DEFAULTS, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled import group_scores
from pipelines.labelled.config import multi_label
from pipelines.labelled.labelled_splits import Labelled
from pipelines.labelled.measure import compute_scores, predicted
from pipelines.labelled.metrics import most_frequent_classes
from pipelines.labelled.splits import with_class_ids
from pipelines.predicting import row_files
from pipelines.support import console, paths
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
from pipelines.support.numbers import counted, listed
from pipelines.support.paths import Data
from pipelines.support.scores import Score, score_of
from pipelines.task import TASKS

_PREFIX = "evaluated_"  # of the columns of --mistakes where the user's have the same names


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
        mistakes: CSV file for the texts with a wrong label, with the other columns of their rows.
        by: column whose values are groups, which are scored one by one.

    Returns:
        Scores of `measure.compute_scores`, with "model", "data", "trained_on" (whether the model was trained on these
        texts), "classes", "left_out" (reason -> rows) and
        "unknown_labels" (label that the model does not have -> rows), and with `by`: "by" and "groups" (see
        `group_scores.compute_scores`).

    Raises:
        UserError: the data cannot be read, or no row has one of the model's labels.
    """
    check_output(mistakes, "--mistakes", (".csv",))
    options = dataclasses.replace(options, other_columns=mistakes is not None)
    if by is not None:
        options = dataclasses.replace(options, group_column=group_scores.check_column(data, by, options))
    card = exported.card()
    classes = tuple(card["classes"])
    if data is None and not card["sample"]:
        raise UserError(f"{exported.title} was trained on real texts: give labelled texts to measure it on with --data")
    if options.multi_label and not multi_label(card["config"]):
        raise UserError(f"{exported.title} gives each text one label: leave out --labels-separator and --label-columns")
    parts = (
        labelled_texts.read(data, options.after_training(card["config"]))
        if data
        else {"train": labelled_texts.fresh_sample()}
    )
    rows = parts.get("test", parts["train"])
    notes: dict[str, int] = {}
    known = with_class_ids(rows, classes, card["config"]["polarity"], notes, "evaluation")
    if not (known.labels.any() if known.labels.ndim == 2 else len(known)):
        unknown = ", ".join(sorted({name for label in rows.labels for name in np.atleast_1d(label)})[:5]) or "none"
        raise UserError(
            f"{paths.shown(data)}: its labels ({unknown}) are none of {exported.title}'s ({', '.join(classes)})"
        )
    outputs = _classify(exported, known.texts)
    if mistakes is not None:
        others = None if rows.others is None else rows.others.iloc[_known_rows(rows, card)]
        _write_mistakes(mistakes, known, outputs, classes, others)
    left_out = {**rows.dropped, **({"unknown label": sum(notes.values())} if notes else {})}
    unknown = _unknown_labels(rows, card)
    trained_on = data is not None and "test" not in parts and sources.is_training_data(data, card, TASKS[card["task"]])
    about = {
        "model": exported.title,
        "data": sources.name(data),
        "trained_on": trained_on,
        "classes": list(classes),
        "left_out": left_out,
        "unknown_labels": unknown,
    }
    if by is not None:
        is_correct = predicted(outputs, classes) == known.labels
        is_correct = is_correct.all(axis=1) if is_correct.ndim == 2 else is_correct
        about |= {"by": by, "groups": group_scores.compute_scores(rows.groups[_known_rows(rows, card)], is_correct)}
    return about | compute_scores(known, outputs, classes)


def _known_rows(rows: LabelledTexts, card: dict) -> np.ndarray:
    """Returns which rows `with_class_ids` keeps, bool [n]."""
    if label_sets.are_sets(rows.labels):
        return np.ones(len(rows), bool)
    return labels.class_ids(rows.labels, tuple(card["classes"]), card["config"]["polarity"]) >= 0


def _unknown_labels(rows: LabelledTexts, card: dict) -> dict[str, int]:
    """Returns label that the model does not have -> number of rows, the most frequent first."""
    if label_sets.are_sets(rows.labels):
        unknown = label_sets.indicators(rows.labels, tuple(card["classes"]))[1]
    else:
        unknown = collections.Counter(label.strip() for label in rows.labels[~_known_rows(rows, card)])
    return dict(unknown.most_common())


def format_scores(scores: dict) -> str:
    """Returns the result of `evaluate` as text for a terminal."""
    if "micro_f1" in scores:
        return _format_label_sets(scores)
    classes = scores["classes"]
    f1 = f"F1 of {classes[-1]}" if len(classes) == 2 else "macro-F1"
    roc_auc = scores["roc_auc"]
    values = {
        "accuracy": score_of(scores, "accuracy").for_terminal(),
        f1: score_of(scores, "f1").for_terminal(),
        "ROC AUC": "- (not all classes occur)" if roc_auc is None else f"{roc_auc:.4f}",
        "log loss, nats": f"{scores['log_loss']:.4f}",
        "calibration error": f"{scores['calibration_error']:.4f}",
    }
    if "abstention" in scores:
        values["texts with a label"] = f"{scores['abstention']['coverage']:.4f}"
        values["accuracy of these"] = score_of(scores["abstention"], "accuracy").for_terminal()
    if "average_precision" in scores:
        values[f"average precision of {classes[-1]}"] = score_of(scores, "average_precision").for_terminal()
    lines = _title_and_values(scores, values)
    lines += _confusion_lines(scores)
    lines += _class_lines(scores, ("precision", "recall", "f1"))
    lines += ["", f"  {'words':<24}{'texts':>12}{'accuracy':>12}"]
    for group in scores["accuracy_by_length"]:
        lines.append(f"  {group['words']:<24}{group['rows']:>12,}{group['accuracy']:>12.4f}")
    return "\n".join([*lines, *_last_lines(scores)])


def _confusion_lines(scores: dict) -> list[str]:
    """A table of the texts of each true label that got each label; of many labels, the largest numbers."""
    if "confusions" in scores:
        lines = ["", f"  {'true label':<24}{'predicted label':<24}{'texts':>12}"]
        return lines + [
            f"  {each['label']:<24}{each['predicted']:<24}{each['rows']:>12,}" for each in scores["confusions"]
        ]
    classes = scores["classes"]
    width = max(12, *(len(name) + 2 for name in classes))
    lines = ["", f"  {'true label':<24}" + "".join(f"{name:>{width}}" for name in classes)]
    for name, row in zip(classes, scores["confusion_matrix"], strict=True):
        lines.append(f"  {name:<24}" + "".join(f"{count:>{width},}" for count in row))
    return lines


def _format_label_sets(scores: dict) -> str:
    values = {
        "micro-F1": score_of(scores, "micro_f1").for_terminal(),
        "macro-F1": score_of(scores, "f1").for_terminal(),
        "precision over all labels": score_of(scores, "micro_precision").for_terminal(),
        "recall over all labels": score_of(scores, "micro_recall").for_terminal(),
        "all labels of a text correct": score_of(scores, "accuracy").for_terminal(),
        "mean average precision": score_of(scores, "average_precision").for_terminal(),
        "log loss per label, nats": f"{scores['log_loss']:.4f}",
        "calibration error": f"{scores['calibration_error']:.4f}",
        "labels per text": f"{scores['labels_per_text']['true']:.2f}, predicted "
        f"{scores['labels_per_text']['predicted']:.2f}",
    }
    lines = _title_and_values(scores, values)
    lines += _class_lines(scores, ("precision", "recall", "f1", "average_precision"))
    return "\n".join([*lines, *_last_lines(scores)])


def _title_and_values(scores: dict, values: dict[str, str]) -> list[str]:
    width = max(24, *(len(name) + 2 for name in values))
    lines = [f"{scores['model']} on {scores['data']}: {counted(scores['rows'], 'text')}", ""]
    return lines + [f"  {name:<{width}}{value}" for name, value in values.items()]


def _class_lines(scores: dict, measures: tuple[str, ...]) -> list[str]:
    """A table of measures by class, and which classes do not occur."""
    titles = {"f1": "F1", "average_precision": "av. precision"}
    lines = ["", f"  {'label':<24}{'texts':>12}" + "".join(f"{titles.get(name, name):>15}" for name in measures)]
    for each in most_frequent_classes(scores["by_class"]):
        numbers = "".join(f"{Score(each[name]).for_terminal():>15}" for name in measures)
        lines.append(f"  {each['class']:<24}{each['rows']:>12,}{numbers}")
    absent = [each["class"] for each in scores["by_class"] if not each["rows"]]
    return lines + ([f"  no text has the label {listed(absent)}: left out of the means"] if absent else [])


def _last_lines(scores: dict) -> list[str]:
    """The groups of --by, the rows that were left out, and whether the model knows the texts."""
    lines = ["", *group_scores.format_scores(scores["by"], scores["groups"])] if "groups" in scores else []
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in scores["left_out"].items()]
    if scores["unknown_labels"]:
        lines.append(f"  the model does not have the labels {listed(scores['unknown_labels'])}")
    if scores["trained_on"]:
        lines += ["", "  The model was trained on these texts: the scores say nothing about new ones."]
    return lines


def _classify(exported: Exported, texts: np.ndarray) -> dict[str, np.ndarray]:
    loaded = exported.load()
    from pipelines.export.signatures import (
        BatchedSignature,
    )  # after `load`, which imports TensorFlow without its messages

    return BatchedSignature(loaded.signatures["serving_default"])(texts)


def _write_mistakes(
    path: Path, data: Labelled, outputs: dict, classes: tuple[str, ...], others: pd.DataFrame | None
) -> None:
    """Writes the texts with a wrong label to a CSV file, the highest probability first.

    Args:
        others: further columns of the user for all texts, which follow as they are.
    """
    wrong, columns = (_wrong_label_sets if "labels" in outputs else _wrong_labels)(data, outputs, classes)
    if others is not None:
        names = row_files.new_names(list(columns), list(others), _PREFIX)
        if names["text"] != "text":
            console.say(f"{path}: the data has columns of these names, so the result is in {', '.join(names.values())}")
        columns = {names[name]: values for name, values in columns.items()}
        columns |= {name: others[name].to_numpy(object)[wrong] for name in others}
    with written_beside(path, newline="") as file:
        pd.DataFrame(columns).to_csv(file, index=False, float_format="%.6f")


def _wrong_labels(data: Labelled, outputs: dict, classes: tuple[str, ...]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns (the rows with a wrong label, columns about them)."""
    true_labels = np.array(classes, dtype=object)[data.labels]
    wrong = np.flatnonzero(outputs["label"] != true_labels)
    wrong = wrong[np.argsort(-outputs["score"][wrong], kind="stable")]
    return wrong, {
        "text": data.texts[wrong],
        "label": true_labels[wrong],
        "predicted": outputs["label"][wrong],
        "score": outputs["score"][wrong],
    }


def _wrong_label_sets(data: Labelled, outputs: dict, classes: tuple[str, ...]) -> tuple[np.ndarray, dict[str, list]]:
    """Returns (the rows with a wrong label set, the most certain wrong decision first; columns about them)."""
    labels = predicted(outputs, classes)
    certainty = np.where(labels != data.labels, np.abs(data.labels - outputs["probabilities"]), 0.0).max(axis=1)
    order = np.argsort(-certainty, kind="stable")
    wrong = order[certainty[order] > 0]
    return wrong, {
        "text": [data.texts[i] for i in wrong],
        "labels": [_joined(classes, data.labels[i] == 1) for i in wrong],
        "predicted": [_joined(classes, labels[i] == 1) for i in wrong],
        "missing": [_joined(classes, data.labels[i] > labels[i]) for i in wrong],
        "added": [_joined(classes, data.labels[i] < labels[i]) for i in wrong],
    }


def _joined(classes: tuple[str, ...], chosen: np.ndarray) -> str:
    return DEFAULT_LABELS_SEPARATOR.join(name for name, is_chosen in zip(classes, chosen, strict=True) if is_chosen)
