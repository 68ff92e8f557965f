"""Part of the report on several classes: how many texts get a label if the least certain ones get none."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.labelled import abstention
from pipelines.labelled.config import parse_threshold
from pipelines.labelled.metrics import wilson_interval
from pipelines.support import charts
from pipelines.support.charts import BLUE, GREY, ORANGE
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult

_PRECISIONS = (0.9, 0.95, 0.99)
_COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.5)


def coverage_lines(result: RunResult, details: dict, folder: Path) -> list[str]:
    """Writes `folder`/coverage.png and returns the section; of two classes, there is no such section.

    Args:
        details: of `measure.measure`.
    """
    if len(result.about["classes"]) == 2:
        return []
    labels, probabilities = details["valid"].labels, details["probabilities"]
    score, accuracy = abstention.curve(labels, probabilities)
    chosen = result.scores["validation"].get("abstention")
    charts.save(_plot(accuracy, chosen), folder / "coverage.png")
    return [
        "## Labels for the certain texts alone",
        "",
        f"The less probable a label, the more often it is wrong. {_choice_sentence(result, chosen)}",
        "",
        "![Accuracy of the labels by the fraction of the texts that get one](coverage.png)",
        "",
        *_table(labels, probabilities, score, accuracy),
        "",
    ]


def _choice_sentence(result: RunResult, chosen: dict | None) -> str:
    """Returns from which probability the export gives labels, and what that means."""
    if chosen is None:
        return (
            "Every text has its most probable label. `train --threshold precision=0.95`, or a probability, leaves out "
            'the labels below it: such texts have the label `""`, and `abstained` is true.'
        )
    text = result.config["threshold"]
    threshold = result.scores["validation"]["thresholds"][""]
    accuracy = "none is right" if chosen["accuracy"] is None else f"{percent(chosen['accuracy'])} of them are right"
    sentence = (
        f"The export gives a label from a probability of {threshold:.4f} (`--threshold {text}`): to "
        f"{percent(chosen['coverage'])} of the validation texts, and {accuracy}."
    )
    choice = parse_threshold(text)
    if choice.precision is None:
        return sentence
    missed = chosen["accuracy"] is None or chosen["accuracy"] < choice.precision
    reached = " **No threshold reaches it**, so this one has the highest accuracy." if missed else ""
    return f"{sentence} It was chosen on these same texts, so the accuracy is a little too high for new ones.{reached}"


def _table(labels: np.ndarray, probabilities: np.ndarray, score: np.ndarray, accuracy: np.ndarray) -> list[str]:
    lines = ["| aim | from probability | texts with a label | accuracy | 95 % interval |", "|---|---:|---:|---:|---:|"]
    rows = [
        (f"{100 * coverage:.0f} % of the texts", score[max(1, round(coverage * len(score))) - 1])
        for coverage in _COVERAGES
    ]
    for precision in _PRECISIONS:
        if abstention.not_reached(precision, labels, probabilities):
            rows.append((f"`precision={precision:g}`", None))
        else:
            rows.append((f"`precision={precision:g}`", abstention.choose(precision, labels, probabilities)))
    for aim, threshold in rows:
        if threshold is None:
            lines.append(f"| {aim} | no threshold reaches it | | | |")
            continue
        labelled = int((score >= threshold).sum())
        low, high = wilson_interval(round(accuracy[labelled - 1] * labelled), labelled)
        lines.append(
            f"| {aim} | {threshold:.4f} | {labelled:,} | {percent(accuracy[labelled - 1])} | "
            f"{100 * low:.1f} to {100 * high:.1f} |"
        )
    return lines


def _plot(accuracy: np.ndarray, chosen: dict | None) -> Figure:
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    coverage = np.arange(1, len(accuracy) + 1) / len(accuracy)
    shown = slice(min(abstention.MIN_LABELLED, len(accuracy)) - 1, None)  # the accuracy of fewer texts says nothing
    axes.plot(coverage[shown], accuracy[shown], color=BLUE)
    axes.axhline(accuracy[-1], color=GREY, linestyle=":", label="all texts")
    if chosen and chosen["labelled"]:
        axes.plot(chosen["coverage"], chosen["accuracy"], "o", color=ORANGE, label="this export")
    axes.set(xlabel="fraction of the texts that get a label", ylabel="accuracy of the labels", xlim=(0, 1.03))
    axes.set_ylim(min(0.9, accuracy[shown].min() - 0.02), 1.02)
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
