"""The report, its pictures and the summary on the terminal for classifiers that give a text several labels."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.data import fields
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR
from pipelines.labelled import baseline, duplicates, report
from pipelines.labelled.config import parse_threshold
from pipelines.labelled.metrics import most_frequent_classes
from pipelines.labelled.multi_label_metrics import reliability
from pipelines.labelled.thresholds import MIN_ROWS
from pipelines.support import charts, markdown, predictions, reports
from pipelines.support.charts import BLUE, GREY, SMALL
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult
from pipelines.support.scores import score_of

NUM_MISTAKES = 5
_EXCERPT = 240  # characters of a text
_MAX_NAME = 24  # characters of a label in the picture
_MEASURES = ("precision", "recall", "f1", "average_precision")


def write(
    result: RunResult,
    details: dict,
    folder: Path,
    data_lines: Sequence[str] = (),
    curve_labels: tuple[str, str] = ("training", "validation"),
) -> None:
    """Writes the report and predictions.csv to `folder`, with labels.png, calibration.png and, if there was a training
    in epochs, curves.png.

    Args:
        details: of `measure.measure`: "valid" (Labelled), its "probabilities" and its "predicted" labels.
        data_lines: the task's own lines for the section on the data.
        curve_labels: what the learning curves of training and of validation show.
    """
    valid, probabilities = details["valid"], details["probabilities"]
    texts = fields.readable(fields.from_card(result.about.get("columns")), valid.texts)
    mistakes = worst_mistakes(texts, valid.labels, details["predicted"], probabilities, result.about["classes"])
    has_epochs = "loss" in result.epochs[0]  # else a solver has fitted the model
    if has_epochs:
        measures = {"loss": "loss per label, nats", "accuracy": "correct decisions per label, threshold 0.5"}
        charts.save(reports.curves(result, measures, *curve_labels), folder / "curves.png")
    charts.save(_labels_plot(result.scores["validation"]), folder / "labels.png")
    bins = reliability(valid.labels, probabilities)
    plot = report.calibration_plot(bins, "probability of a label", "fraction of texts that have it")
    charts.save(plot, folder / "calibration.png")
    decided = np.where(details["predicted"] == 1, probabilities, 1 - probabilities)  # [n, classes]
    names = [_joined(labels, result.about["classes"]) for labels in (valid.labels, details["predicted"])]
    predictions.write(folder, valid.texts, *names, decided.prod(axis=1))
    lines = [
        *_header_lines(result),
        *_score_lines(result),
        *report.member_lines(result),
        *_label_lines(result),
        *baseline.report_lines(result.scores),
        *_mistake_lines(mistakes),
        *(
            reports.learning_lines(result, "the lowest validation loss", "Loss and correct decisions by epoch")
            * has_epochs
        ),
        *_data_lines(result),
        *data_lines,
        f"- Texts are cut after {result.about['window']['max_bytes']:,} bytes.",
        "",
        *reports.use_lines(result, report.use_commands(result)),
        *reports.record_lines(result),
    ]
    reports.write(folder, lines)


def _joined(has_label: np.ndarray, classes: Sequence[str]) -> list[str]:
    """Returns the labels of each text as one str."""
    return [
        DEFAULT_LABELS_SEPARATOR.join(name for name, has in zip(classes, row, strict=True) if has) for row in has_label
    ]


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    score_lines = []
    for name, scores in result.scores.items():
        score_lines.append(
            f"  {name:<12}{scores['rows']:>7,} texts   micro-F1 {reports.number(scores['micro_f1'])}   "
            f"macro-F1 {reports.number(scores['f1'])}   all labels correct {report.accuracy(scores)}"
        )
        score_lines += baseline.summary_lines(scores)
    title = f"{result.task}, {result.config['model']}, {reports.data_name(result)}, several labels per text"
    return reports.summary(result, title, score_lines, report.use_commands(result)[0])


def worst_mistakes(
    texts: Sequence[str], labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray, classes: Sequence[str]
) -> list[dict]:
    """Returns the texts with the most certain wrong decision: dicts of "text", "labels", "predicted", "wrong", "score".

    "wrong" is the label of that decision and "score" its probability.

    Args:
        labels, predicted: int [n, classes] of 0 and 1.
        probabilities: float [n, classes].
    """
    certainty = np.where(labels != predicted, np.abs(labels - probabilities), 0.0)  # [n, classes]
    worst = certainty.max(axis=1)
    rows = np.argsort(-worst, kind="stable")[:NUM_MISTAKES]
    names = np.array(classes, dtype=object)
    return [
        {
            "text": texts[i],
            "labels": names[labels[i] == 1].tolist(),
            "predicted": names[predicted[i] == 1].tolist(),
            "wrong": classes[certainty[i].argmax()],
            "score": float(probabilities[i, certainty[i].argmax()]),
        }
        for i in rows
        if worst[i]
    ]


def _header_lines(result: RunResult) -> list[str]:
    valid = result.scores["validation"]
    title = f"{result.task.capitalize()}: {result.config['model']} on {reports.data_name(result)}"
    sentence = (
        f"Over all labels of {valid['rows']:,} validation texts, this model has a micro-F1 of "
        f"**{score_of(valid, 'micro_f1').number()}**; **{report.accuracy(valid)}** of "
        "the texts have exactly the right labels. In parentheses: the 95 % interval. Giving every text the same labels "
        f"would reach a micro-F1 of at most {reports.number(constant_f1(valid))}."
    )
    sentence += report.few_rows_sentence(valid)
    return reports.header_lines(result, title, sentence, report.next_steps(result, {}))


def constant_f1(scores: dict) -> float | None:
    """Returns the highest micro-F1 of a model that gives every text the same labels; None if no text has a label."""
    frequent = np.sort([each["rows"] for each in scores["by_class"]])[::-1]
    if not frequent[0]:
        return None
    num_labels = np.arange(1, len(frequent) + 1)
    return float((2 * np.cumsum(frequent) / (frequent.sum() + num_labels * scores["rows"])).max())


def _score_lines(result: RunResult) -> list[str]:
    formatted = {
        split: {
            "rows": f"{scores['rows']:,}",
            "micro_f1": score_of(scores, "micro_f1").number(),
            "macro_f1": score_of(scores, "f1").number(),
            "precision": reports.number(scores["micro_precision"]),
            "recall": reports.number(scores["micro_recall"]),
            "accuracy": report.accuracy(scores),
            "average_precision": reports.number(scores["average_precision"]),
            "log_loss": f"{scores['log_loss']:.3f}",
            "calibration_error": f"{scores['calibration_error']:.3f}",
            **{f"{of}_labels": f"{number:.2f}" for of, number in scores["labels_per_text"].items()},
        }
        for split, scores in result.scores.items()
    }
    rows = [
        ("texts", "{rows}"),
        ("micro-F1", "{micro_f1}"),
        ("macro-F1", "{macro_f1}"),
        ("precision over all labels", "{precision}"),
        ("recall over all labels", "{recall}"),
        ("texts with exactly the right labels", "{accuracy}"),
        ("mean average precision", "{average_precision}"),
        ("log loss per label, nats", "{log_loss}"),
        ("calibration error", "{calibration_error}"),
        ("labels per text", "{true_labels}"),
        ("predicted labels per text", "{predicted_labels}"),
    ]
    return [
        *reports.score_table(dataclasses.replace(result, scores=formatted), rows),
        "",
        "Micro-F1 counts every label of every text alike, so that frequent labels count most; macro-F1 is the mean of "
        "the labels' own F1. In parentheses: the 95 % interval (Wilson's for the fraction of texts, the bootstrap's "
        "for F1). The calibration error is the mean difference between the probability of a label and the fraction of "
        f"texts that have it.{report.temperature_sentence(result)}",
        "",
        _choice_sentence(result),
        "",
        "![Fraction of texts that have a label by its probability](calibration.png)",
        "",
    ]


def _choice_sentence(result: RunResult) -> str:
    """How the thresholds were chosen, and what that means for the scores."""
    text = result.config["threshold"]
    choice = parse_threshold(text or "best-f1")
    if choice.value is not None:
        return f"A text has a label from a probability of {choice.value:g} (`--threshold {text}`)."
    aim = "the highest F1" if choice.precision is None else f"a precision of at least {choice.precision:g}"
    optimism = (
        "They were chosen on the same validation texts that are measured here, so precision, recall and F1 are a "
        "little too high for new texts; the average precision does not depend on them."
    )
    tested = " The test set had no part in it." if "test" in result.scores else ""
    return (
        f"Each label has its own threshold, the probability from which a text has it, chosen for {aim}; labels with "
        f"fewer than {MIN_ROWS} validation texts share one. {optimism}{tested}"
    )


def _label_lines(result: RunResult) -> list[str]:
    valid = result.scores["validation"]
    lines = [
        "## Labels",
        "",
        "| label | texts | threshold | precision | recall | F1 | average precision |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for each in most_frequent_classes(valid["by_class"]):
        threshold = valid["thresholds"][each["class"]]
        numbers = " | ".join(reports.number(each[name]) for name in _MEASURES)
        lines.append(f"| {markdown.text(each['class'])} | {each['rows']:,} | {threshold:.3f} | {numbers} |")
    lines += [*report.others_lines(valid), *report.absent_lines(valid)]
    return [*lines, "", "![F1 of each label](labels.png)", ""]


def _mistake_lines(mistakes: list[dict]) -> list[str]:
    if not mistakes:
        return []
    lines = ["## Mistakes", "", "The most certain wrong decisions on a label:", ""]
    for mistake in mistakes:
        names, right = (", ".join(map(markdown.text, mistake[of])) or "none" for of in ("predicted", "labels"))
        lines.append(
            f"- *{markdown.text(mistake['wrong'])}* with {percent(mistake['score'])}; predicted labels *{names}*, true "
            f"labels *{right}*: {markdown.quoted(mistake['text'], _EXCERPT)}"
        )
    return [*lines, ""]


def _data_lines(result: RunResult) -> list[str]:
    classes = report.counted_classes(result.about["class_rows"])
    total = sum(result.about["class_rows"].values()) / result.rows["train"]
    lines = [
        "## Data",
        "",
        f"- Training: {result.rows['train']:,} texts with {total:.2f} labels on average ({classes}).",
    ]
    return lines + reports.note_lines(result) + duplicates.report_lines(result.findings.get("duplicates"))


def _labels_plot(scores: dict) -> Figure:
    found = most_frequent_classes([each for each in scores["by_class"] if each["rows"]])
    found = sorted(found, key=lambda each: each["f1"])
    figure = Figure(figsize=(6, 1.2 + 0.26 * len(found)), layout="constrained")
    axes = figure.subplots()
    names = [markdown.shorter(each["class"], _MAX_NAME) for each in found]
    bars = axes.barh(range(len(found)), [each["f1"] for each in found], color=BLUE, height=0.7)
    axes.bar_label(bars, [f"{each['rows']:,} texts" for each in found], color=GREY, fontsize=SMALL, padding=3)
    axes.set_yticks(range(len(found)), names, fontsize=SMALL)
    axes.set(xlabel="F1", xlim=(0, 1.2), xticks=np.linspace(0, 1, 6))
    axes.margins(y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
