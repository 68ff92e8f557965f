"""Measures an exported classifier on labelled texts."""

import collections
import dataclasses
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from rich.cells import cell_len

from pipelines.data import fields, label_sets, labels, sources
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, DEFAULTS, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled import group_scores, mistakes_file, number_evaluate
from pipelines.labelled.answers import read_rows
from pipelines.labelled.labelled_splits import Labelled
from pipelines.labelled.measure import compute_scores, predicted
from pipelines.labelled.metrics import most_frequent_classes
from pipelines.labelled.splits import with_class_ids
from pipelines.support import confusion, paths, terminal
from pipelines.support.errors import UserError
from pipelines.support.files import check_output
from pipelines.support.numbers import counted, listed
from pipelines.support.paths import Data
from pipelines.support.scores import Score, score_of

_MAX_NAME = 24  # columns of a label on a terminal
_MAX_IN_TITLE = 12  # beside the words of a title


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
    if number_evaluate.is_of_numbers(card) and data is not None:
        return number_evaluate.evaluate(exported, data, options, mistakes, by)
    rows, trained_on = read_rows(exported, data, options)
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
        _write_mistakes(mistakes, known, outputs, classes, others, rows.fields)
    left_out = {**rows.dropped, **({"unknown label": sum(notes.values())} if notes else {})}
    unknown = _unknown_labels(rows, card)
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
    return about | compute_scores(known, outputs, classes, card["config"].get("label_type") == "ordinal")


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
    if "spearman" in scores:
        return number_evaluate.format_scores(scores)
    if "micro_f1" in scores:
        return _format_label_sets(scores)
    classes = scores["classes"]
    last = terminal.cut(classes[-1], _MAX_IN_TITLE)
    f1 = f"F1 of {last}" if len(classes) == 2 else "macro-F1"
    roc_auc = scores["roc_auc"]
    values = {
        "accuracy": score_of(scores, "accuracy").for_terminal(),
        f1: score_of(scores, "f1").for_terminal(),
        "ROC AUC": "- (not all classes occur)" if roc_auc is None else f"{roc_auc:.4f}",
        "log loss, nats": f"{scores['log_loss']:.4f}",
        "calibration error": f"{scores['calibration_error']:.4f}",
    }
    if "ratings" in scores:
        values["mean absolute error"] = score_of(scores["ratings"], "mean_absolute_error").for_terminal()
        values["quadratic kappa"] = score_of(scores["ratings"], "quadratic_kappa").for_terminal()
    if "abstention" in scores:
        values["texts with a label"] = f"{scores['abstention']['coverage']:.4f}"
        values["accuracy of these"] = score_of(scores["abstention"], "accuracy").for_terminal()
    if "average_precision" in scores:
        values[f"average precision of {last}"] = score_of(scores, "average_precision").for_terminal()
    lines = _title_and_values(scores, values)
    lines += _confusion_lines(scores)
    lines += _class_lines(scores, ("precision", "recall", "f1"))
    lines += ["", f"  {'words':<24}{'texts':>12}{'accuracy':>12}"]
    for group in scores["accuracy_by_length"]:
        lines.append(f"  {group['words']:<24}{group['rows']:>12,}{group['accuracy']:>12.4f}")
    return "\n".join([*lines, *_last_lines(scores)])


def _confusion_lines(scores: dict) -> list[str]:
    """A table of the texts of each true label that got each label; of many labels, the most frequent confusions."""
    classes = scores["classes"]
    if len(classes) <= confusion.MAX_TABLE:
        first = _label_width(classes)
        columns = [min(14, max(cell_len(name) + 2, len(f"{scores['rows']:,}") + 2)) for name in classes]
        if 2 + first + sum(columns) <= terminal.width():
            names = (f"{terminal.cut(name, columns[i] - 2):>{columns[i]}}" for i, name in enumerate(classes))
            lines = ["", f"  {'true label':<{first}}" + "".join(names)]
            for name, row in zip(classes, scores["confusion_matrix"], strict=True):
                numbers = "".join(f"{count:>{columns[i]},}" for i, count in enumerate(row))
                lines.append(f"  {terminal.padded(name, first)}{numbers}")
            return lines
    found = confusion.most_frequent(_confusion_of(scores))
    if not found:
        return []
    width = min(_label_width(classes), (terminal.width() - 14) // 2)
    lines = ["", f"  {'true label':<{width}}{'predicted label':<{max(17, width)}}{'texts':>10}"]
    return lines + [
        f"  {terminal.padded(true, width - 2)}  {terminal.padded(name, max(15, width - 2))}  {rows:>10,}"
        for true, name, rows in found
    ]


def _confusion_of(scores: dict) -> dict[str, dict[str, int]]:
    """Returns the confusion of a matrix; of many classes, of the most frequent confusions."""
    found: dict[str, dict[str, int]] = {}
    if "confusion_matrix" in scores:
        classes = scores["classes"]
        return {name: dict(zip(classes, row)) for name, row in zip(classes, scores["confusion_matrix"], strict=True)}
    for each in scores["confusions"]:
        found.setdefault(each["label"], {})[each["predicted"]] = each["rows"]
    return found


def _label_width(names: Iterable[str]) -> int:
    """Returns the columns for names of labels, with two for the space after them."""
    return min(_MAX_NAME, max(map(cell_len, names))) + 2 if names else _MAX_NAME


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
    width = max(24, *(cell_len(name) + 2 for name in values))
    lines = [f"{scores['model']} on {scores['data']}: {counted(scores['rows'], 'text')}", ""]
    return lines + [f"  {terminal.padded(name, width)}{value}" for name, value in values.items()]


def _class_lines(scores: dict, measures: tuple[str, ...]) -> list[str]:
    """A table of measures by class, and which classes do not occur."""
    titles = {"f1": "F1", "average_precision": "av. precision"}
    shown = most_frequent_classes(scores["by_class"])
    width, columns = (
        _label_width([each["class"] for each in shown]),
        [len(titles.get(name, name)) + 2 for name in measures],
    )
    columns = [max(8, each) for each in columns]
    head = "".join(f"{titles.get(name, name):>{columns[i]}}" for i, name in enumerate(measures))
    lines = ["", f"  {'label':<{width}}{'texts':>10}{head}"]
    for each in shown:
        numbers = "".join(f"{Score(each[name]).for_terminal():>{columns[i]}}" for i, name in enumerate(measures))
        lines.append(f"  {terminal.padded(each['class'], width)}{each['rows']:>10,}{numbers}")
    absent = [terminal.cut(each["class"], _MAX_NAME) for each in scores["by_class"] if not each["rows"]]
    return lines + ([f"  no text has the label {listed(absent)}: left out of the means"] if absent else [])


def _last_lines(scores: dict) -> list[str]:
    """The groups of --by, the rows that were left out, and whether the model knows the texts."""
    lines = ["", *group_scores.format_scores(scores["by"], scores["groups"])] if "groups" in scores else []
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in scores["left_out"].items()]
    if scores["unknown_labels"]:
        unknown = [terminal.cut(name, _MAX_NAME) for name in scores["unknown_labels"]]
        lines.append(f"  the model does not have the labels {listed(unknown)}")
    if scores["trained_on"]:
        lines += ["", "  The model was trained on these texts: the scores say nothing about new ones."]
    return lines


def _classify(exported: Exported, texts: np.ndarray) -> dict[str, np.ndarray]:
    loaded = exported.load()
    from pipelines.export.signatures import (
        BatchedSignature,
        of_texts,
    )  # after `load`, which imports TensorFlow without its messages

    return BatchedSignature(of_texts(loaded.signatures))(texts)


def _write_mistakes(
    path: Path,
    data: Labelled,
    outputs: dict,
    classes: tuple[str, ...],
    others: pd.DataFrame | None,
    read: tuple[fields.Field, ...],
) -> None:
    """Writes the texts with a wrong label to a CSV file, the highest probability first.

    Args:
        others: further columns of the user for all texts, which follow as they are.
        read: the columns that the texts are made of, if there are several.
    """
    wrong, columns = (_wrong_label_sets if "labels" in outputs else _wrong_labels)(data, outputs, classes)
    columns["text"] = fields.readable(read, columns["text"])
    mistakes_file.write(path, columns, wrong, others)


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
