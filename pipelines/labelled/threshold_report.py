"""Parts of the report on thresholds: the precision-recall curve of two classes, and how thresholds were chosen."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.labelled import precision_recall
from pipelines.labelled.config import parse_threshold
from pipelines.labelled.metrics import wilson_interval
from pipelines.labelled.precision_recall import Curve
from pipelines.support import charts, markdown
from pipelines.support.charts import BLUE, GREY, ORANGE
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult

PRECISIONS = (0.8, 0.9, 0.95, 0.99)
_MAX_NAME = 24  # characters of a label in the picture


def precision_recall_lines(result: RunResult, details: dict, folder: Path) -> list[str]:
    """Writes `folder`/precision_recall.png and returns the section on the second of two classes.

    With more classes, there is no such section.

    Args:
        details: of `measure.measure`.
    """
    scores = result.scores["validation"]
    if len(result.about["classes"]) != 2 or scores["average_precision"] is None:
        return []
    positive = result.about["classes"][1]
    curve = precision_recall.curve(details["valid"].labels == 1, details["probabilities"][:, 1])
    threshold = scores.get("thresholds", {}).get(positive, 0.5)
    charts.save(_plot(curve, positive, threshold, scores), folder / "precision_recall.png")
    return [
        "## Precision and recall",
        "",
        f"The average precision of *{markdown.text(positive)}* is {scores['average_precision']:.3f}: the area under "
        f"the curve. {choice_sentence(result)}",
        "",
        f"![Precision and recall of {markdown.text(positive)} for every threshold](precision_recall.png)",
        "",
        *_table(curve, positive),
        "",
    ]


def choice_sentence(result: RunResult) -> str:
    """Returns what the threshold is, how it was chosen, and what that means for the scores."""
    positive = result.about["classes"][1]
    chosen = result.scores["validation"].get("thresholds", {}).get(positive)
    if chosen is None:
        return (
            "A text has its more probable label, as with a threshold of 0.5. To store another one in the export, train "
            "with `--threshold best-f1`, `--threshold precision=0.95` or a probability."
        )
    sentence = f"The export gives the label *{markdown.text(positive)}* from a probability of {chosen:.4f}"
    choice = parse_threshold(result.config["threshold"])
    if choice.value is not None:
        return f"{sentence} (`--threshold {result.config['threshold']}`)."
    aim = "the highest F1" if choice.precision is None else f"a precision of at least {choice.precision:g}"
    precision = result.scores["validation"]["by_class"][1]["precision"]
    missed = choice.precision is not None and (precision is None or precision < choice.precision)
    missed = " **No threshold reaches it**, so this one has the highest precision." if missed else ""
    return (
        f"{sentence}. It was chosen for {aim} on these same validation texts (`--threshold "
        f"{result.config['threshold']}`), so precision, recall and F1 are a little too high for new texts.{missed}"
    )


def _table(curve: Curve, positive: str) -> list[str]:
    lines = [
        f"| aim | threshold | texts labelled {markdown.text(positive)} | precision | 95 % interval | recall |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    rows = [(f"`precision={wanted:g}`", precision_recall.highest_recall(curve, wanted)) for wanted in PRECISIONS]
    rows.append(("`best-f1`", precision_recall.best_f1(curve)))
    for aim, i in rows:
        if i is None:
            lines.append(f"| {aim} | no threshold reaches it | | | | |")
            continue
        predicted, precision = int(curve.num_predicted[i]), float(curve.precision[i])
        low, high = wilson_interval(round(precision * predicted), predicted)
        lines.append(
            f"| {aim} | {curve.threshold[i]:.4f} | {predicted:,} | {percent(precision)} | "
            f"{100 * low:.1f} to {100 * high:.1f} | {percent(curve.recall[i])} |"
        )
    return lines


def _plot(curve: Curve, positive: str, threshold: float, scores: dict) -> Figure:
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    recall, precision = np.append(0.0, curve.recall), np.append(curve.precision[0], curve.precision)
    axes.plot(recall, precision, color=BLUE, drawstyle="steps-pre")
    of_class = scores["by_class"][1]
    frequency = of_class["rows"] / scores["rows"]
    axes.axhline(frequency, color=GREY, linestyle=":", label=f"labels at random: {frequency:.2f}")
    if of_class["precision"] is not None:
        axes.plot(of_class["recall"], of_class["precision"], "o", color=ORANGE, label=f"threshold {threshold:.2f}")
    name = markdown.shorter(positive, _MAX_NAME)
    axes.set(xlabel=f"recall of {name}", ylabel=f"precision of {name}", xlim=(0, 1.03), ylim=(0, 1.03))
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
