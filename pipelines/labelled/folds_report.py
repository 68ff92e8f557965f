"""The report of a cross-validation, and its summary on the terminal."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.labelled import duplicates, report
from pipelines.support import charts, confusion, markdown, reports
from pipelines.support.confusion import Confusion
from pipelines.support.files import shown
from pipelines.support.numbers import counted
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult
from pipelines.support.scores import score_of

MAX_LISTED = 50
_EXCERPT = 160  # characters of a text


def write(
    result: RunResult,
    epochs: list[tuple[int, int, float]],
    suspects: pd.DataFrame,
    confused: Confusion,
    folder: Path,
) -> None:
    """Writes the report and confusion.png to `folder`.

    Args:
        epochs: for each fold, (the epoch whose weights were kept, number of epochs, seconds of training).
        suspects: the rows with likely label errors, the likeliest first: "text", "label", "predicted", "score",
            "p(label)".
        confused: the labels of all texts.
    """
    charts.save(confusion.draw(confused, "label"), folder / "confusion.png")
    lines = [
        *_header_lines(result),
        *_fold_lines(result, epochs),
        *_baseline_lines(result),
        *_score_lines(result, confused),
        *_suspect_lines(suspects),
        *_data_lines(result),
        *reports.record_lines(result),
    ]
    reports.write(folder, lines)


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end."""
    scores, mean, folds = result.scores["validation"], _folds(result)["mean"], len(_folds(result)["scores"])
    lines = [f"{result.task}, {result.config['model']}, {reports.data_name(result)}: {folds} folds"]
    lines.append(
        f"  {'mean':<12}accuracy {_with_deviation(result, 'accuracy')}   "
        f"{'F1' if len(result.about['classes']) == 2 else 'macro-F1'} {_with_deviation(result, 'f1')}   "
        f"ROC AUC {reports.number(mean['roc_auc'])}   log loss {mean['log_loss']:.3f}"
    )
    for features, values in baselines(result).items():
        accuracy, difference = np.mean(values, axis=0)
        points = f"this model {100 * difference:+.1f} points"
        lines.append(f"  {'baseline':<12}accuracy {accuracy:.3f}   {features}; {points}")
    lines.append(f"  {'all folds':<12}{counted(scores['rows'], 'text')}   accuracy {report.accuracy(scores)}")
    if result.sample:
        lines.append(f"  {reports.SAMPLE_WARNING}")
    path = Path(result.report)
    errors = f"likely label errors: {_folds(result)['label_errors']:,}, in {shown(path.parent)}/label_errors.csv"
    lines.append(f"  {'check':<12}{errors}")
    lines.append(f"  {'report':<12}{shown(reports.page_of(path))}")
    lines.append("  No model was exported: for one, repeat the command without --folds.")
    return "\n".join(lines)


def _folds(result: RunResult) -> dict:
    """Returns what `cross_validation.summary` returned, and the number of likely label errors."""
    return result.findings["folds"]


def _with_deviation(result: RunResult, name: str) -> str:
    """Formats the mean of a measure over the folds and its standard deviation, such as "0.912 ± 0.008"."""
    mean, deviation = _folds(result)["mean"][name], _folds(result)["standard_deviation"][name]
    return reports.number(mean) if deviation is None else f"{mean:.3f} ± {deviation:.3f}"


def _header_lines(result: RunResult) -> list[str]:
    title = f"{result.task.capitalize()}: {result.config['model']} on {reports.data_name(result)}, cross-validation"
    num_folds = len(_folds(result)["scores"])
    sentence = (
        f"Over {num_folds} folds, the accuracy is **{_with_deviation(result, 'accuracy')}** (mean and standard "
        f"deviation). Each of {result.scores['validation']['rows']:,} texts was labelled by a model that had not seen "
        "it in training. No model was exported."
    )
    return reports.header_lines(result, title, sentence)


def _fold_lines(result: RunResult, epochs: list[tuple[int, int, float]]) -> list[str]:
    lines = [
        "## Folds",
        "",
        f"| fold | texts | accuracy | {markdown.text(report.f1_name(result.about['classes']))} | ROC AUC | log loss "
        "| epoch | training |",
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    names = ("accuracy", "f1", "roc_auc", "log_loss")
    for fold, (scores, (best, number, seconds)) in enumerate(zip(_folds(result)["scores"], epochs, strict=True), 1):
        values = " | ".join(reports.number(scores[name]) for name in names)
        lines.append(f"| {fold} | {scores['rows']:,} | {values} | {best} of {number} | {reports.duration(seconds)} |")
    for title, key in (("mean", "mean"), ("standard deviation", "standard_deviation")):
        values = " | ".join(reports.number(_folds(result)[key][name]) for name in names)
        lines.append(f"| {title} | | {values} | | |")
    return [
        *lines,
        "",
        "A fold holds whole groups (films where they are known, else texts), chosen by a hash. Its texts also choose "
        "the epoch whose weights are kept, so the scores are slightly too good, as those of a single run are.",
        "",
    ]


def baselines(result: RunResult) -> dict[str, list[tuple[float, float]]]:
    """Returns features -> (accuracy of the baseline, that of the model minus it) in each fold.

    A baseline that is left out of a fold is left out here.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for fold in _folds(result)["scores"]:
        for each in fold.get("baselines", ()):
            if "accuracy" in each:
                found.setdefault(each["features"], []).append((each["accuracy"], each["difference"]))
    return {name: values for name, values in found.items() if len(values) == len(_folds(result)["scores"])}


def _baseline_lines(result: RunResult) -> list[str]:
    found = baselines(result)
    if not found:
        return []
    lines = ["## Baselines", "", "| TF-IDF of | accuracy | this model, points | better in |"]
    lines.append("|---|---:|---:|---:|")
    for features, values in found.items():
        accuracies, differences = np.array(values).T
        better = f"{(differences > 0).sum()} of {len(differences)} folds"
        points = f"{100 * differences.mean():+.1f} ± {100 * differences.std(ddof=1):.1f}"
        lines.append(f"| {features} | {accuracies.mean():.3f} ± {accuracies.std(ddof=1):.3f} | {points} | {better} |")
    return [*lines, "", "Fitted to the same texts in each fold. After ±: the standard deviation over the folds.", ""]


def _score_lines(result: RunResult, confused: Confusion) -> list[str]:
    scores = result.scores["validation"]
    lines = [
        "## All folds together",
        "",
        f"- Accuracy {report.accuracy(scores)}; in parentheses, the 95 % interval.",
        f"- {markdown.text(report.f1_name(result.about['classes']))} {score_of(scores, 'f1').number()}.",
        f"- ROC AUC {reports.number(scores['roc_auc'])}, log loss {scores['log_loss']:.3f} nats, calibration error "
        f"{scores['calibration_error']:.3f}.",
        "",
        *report.confusion_table(result.about["classes"], scores),
        *confusion.report_lines(confused, "label", "texts"),
    ]
    return [*lines, *report.class_table(scores), ""]


def _suspect_lines(suspects: pd.DataFrame) -> list[str]:
    lines = ["## Likely label errors", ""]
    if suspects.empty:
        return [*lines, "None: no model contradicts a label with confidence.", ""]
    lines += [
        f"Labels that a model contradicts with confidence, without having seen the text: {len(suspects):,}. Another "
        "label has at least the probability that it usually has for its own texts (Northcutt et al. 2021). In some "
        "cases the label is wrong, in others the model. `label_errors.csv` has all of them, `out_of_fold.csv` the "
        "probabilities of all texts.",
        "",
    ]
    for row in suspects.head(MAX_LISTED).to_dict("records"):
        lines.append(
            f"- labelled *{markdown.text(row['label'])}* ({percent(row['p(label)'])}), predicted "
            f"*{markdown.text(row['predicted'])}* ({percent(row['score'])}): {markdown.quoted(row['text'], _EXCERPT)}"
        )
    return [*lines, ""]


def _data_lines(result: RunResult) -> list[str]:
    classes = report.counted_classes(result.about["class_rows"])
    lines = ["## Data", "", f"- {result.rows['all']:,} texts ({classes})."]
    return [*lines, *reports.note_lines(result), *duplicates.report_lines(result.findings.get("duplicates")), ""]
