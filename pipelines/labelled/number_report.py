"""The report, its pictures and the summary on the terminal for models of measured numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.data import fields
from pipelines.labelled import duplicates, number_scores, report
from pipelines.labelled.answers import number_text
from pipelines.labelled.number_scores import TITLES
from pipelines.support import baselines, charts, markdown, predictions, reports
from pipelines.support.charts import BLUE, GREY
from pipelines.support.run_result import RunResult
from pipelines.support.scores import Score, score_of

_NUM_MISTAKES = 5
_MAX_POINTS = 1000
_EXCERPT = 240  # characters of a text


def write(
    result: RunResult,
    details: dict,
    folder: Path,
    data_lines: Sequence[str] = (),
    curve_labels: tuple[str, str] = ("training", "validation"),
) -> None:
    """Writes the report to `folder`, with predictions.csv, numbers.png and, of a training in epochs, curves.png.

    Args:
        details: of `measure.measure`: "valid" (Labelled) and the predicted "numbers" of its texts.
        data_lines: the task's own lines for the section on the data.
        curve_labels: what the learning curves of training and of validation show.
    """
    valid, predicted = details["valid"], details["numbers"]
    texts = fields.readable(fields.from_card(result.about.get("columns")), valid.texts)
    has_epochs = reports.has_epochs(result)
    if has_epochs:
        measures = {"loss": "loss of the intervals, nats", "accuracy": "accuracy of the intervals"}
        charts.save(reports.curves(result, measures, *curve_labels), folder / "curves.png")
    charts.save(_plot(valid.numbers, predicted), folder / "numbers.png")
    predictions.write(folder, valid.texts, *(list(map(number_text, each)) for each in (valid.numbers, predicted)))
    scores = result.scores["validation"]
    title = f"{result.task.capitalize()}: numbers by {result.config['model']} on {reports.data_name(result)}"
    error, correlation = (shown(scores, name) for name in ("mean_absolute_error", "spearman"))
    sentence = (
        f"On {scores['rows']:,} validation texts, the predicted number is off by **{error}** on average, and "
        f"Spearman's rank correlation with the true one is {correlation}; in parentheses, the 95 % interval."
    )
    lines = [
        *reports.header_lines(result, title, sentence),
        *_score_lines(result),
        *_baseline_lines(result.scores),
        *_mistake_lines(texts, valid.numbers, predicted),
        *(reports.learning_lines(result, "the lowest validation loss", "Loss by epoch") if has_epochs else []),
        "## Data",
        "",
        f"- Training: {result.rows['train']:,} texts.",
        f"- The numbers are in {len(result.about['classes'])} intervals, whose probabilities the model predicts; its "
        "answer is the mean of their means, weighted with these, and scaled to fit the validation texts. The scores of "
        "either half of these are with the scale of the other half.",
        *reports.note_lines(result),
        *duplicates.report_lines(result.findings.get("duplicates")),
        *data_lines,
        f"- Texts are cut after {result.about['window']['max_bytes']:,} bytes.",
        "",
        *reports.use_lines(result, report.use_commands(result)),
        *reports.record_lines(result),
    ]
    reports.write(folder, lines)


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    lines = []
    for split, scores in result.scores.items():
        measures = "   ".join(f"{TITLES[name]} {shown(scores, name)}" for name in ("mean_absolute_error", "spearman"))
        lines.append(f"  {split:<12}{scores['rows']:>7,} texts   {measures}")
        lines += baselines.summary_lines(scores, _described)
    title = f"{result.task}, {result.config['model']}, {reports.data_name(result)}, numbers"
    return reports.summary(result, title, lines, report.use_commands(result)[0])


def shown(scores: dict, name: str) -> str:
    """Returns a measure with its interval, to four digits: numbers may have any size."""
    score = score_of(scores, name)
    if score.value is None:
        return "-"
    limits = " to ".join(f"{limit:.4g}" for limit in score.interval or ())
    return f"{score.value:.4g}{limits and f' ({limits})'}"


def _described(compared: dict) -> str:
    difference = Score(compared["difference"], compared["difference_interval"])
    low, high = difference.interval or (0, 0)
    return (
        f"mean absolute error {shown(compared, 'mean_absolute_error')}, {TITLES['spearman']} "
        f"{shown(compared, 'spearman')}; the root mean squared error of this model is lower by "
        f"{difference.value:.4g} ({low:.4g} to {high:.4g})"
    )


def _score_lines(result: RunResult) -> list[str]:
    lines = ["## Scores", "", f"| | {' | '.join(result.scores)} |", f"|---|{'---:|' * len(result.scores)}"]
    lines.append(f"| texts | {' | '.join(format(each['rows'], ',') for each in result.scores.values())} |")
    for name, title in TITLES.items():
        lines.append(f"| {title} | {' | '.join(shown(each, name) for each in result.scores.values())} |")
    return [
        *lines,
        "",
        "In parentheses: the 95 % interval, by the bootstrap over texts. R² is 1 for the right numbers and 0 for their "
        "mean; the rank correlation is 1 if the order of the texts is right.",
        "",
        "![Predicted and true numbers](numbers.png)",
        "",
    ]


def _baseline_lines(scores: dict[str, dict]) -> list[str]:
    if not any(each.get("baselines") for each in scores.values()):
        return []
    head = ["## Baselines", "", f"| | split | {' | '.join(TITLES.values())} | this model's error is lower by |"]
    lines = [*head, f"|---|---|{'---:|' * (len(TITLES) + 1)}"]
    for split, of_split in scores.items():
        for each in of_split["baselines"]:
            if "left_out" in each:
                lines.append(f"| {each['name']} | {split} | left out: {each['left_out']} |{' |' * len(TITLES)}")
                continue
            low, high = each["difference_interval"]
            difference = f"{each['difference']:.4g} ({low:.4g} to {high:.4g})"
            lines.append(
                f"| {each['name']} | {split} | {' | '.join(shown(each, name) for name in TITLES)} | {difference} |"
            )
    return [
        *lines,
        *baselines.report_lines(scores),
        "",
        f"The last column compares root mean squared errors on the same texts. {number_scores.RIDGE[0].upper()}"
        f"{number_scores.RIDGE[1:]}: TF-IDF with fixed settings, fitted to the same training texts.",
        "",
    ]


def _mistake_lines(texts: Sequence[str], true: np.ndarray, predicted: np.ndarray) -> list[str]:
    worst = np.argsort(-np.abs(true - predicted), kind="stable")[:_NUM_MISTAKES]
    lines = ["## Mistakes", "", "The texts whose numbers are furthest off:", ""]
    lines += [f"- {predicted[i]:.4g} instead of {true[i]:.4g}: {markdown.quoted(texts[i], _EXCERPT)}" for i in worst]
    return [*lines, ""]


def _plot(true: np.ndarray, predicted: np.ndarray) -> Figure:
    figure = Figure(figsize=(4.4, 4.0), layout="constrained")
    axes = figure.subplots()
    kept = np.random.default_rng(0).permutation(len(true))[:_MAX_POINTS]
    limits = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    axes.plot(limits, limits, color=GREY, linestyle=":", label="equal")
    axes.scatter(true[kept], predicted[kept], s=9, alpha=0.4, color=BLUE, linewidths=0)
    axes.set(xlabel="true number", ylabel="predicted number")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
