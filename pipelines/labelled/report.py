"""The report and its pictures for tasks on labelled texts, and the summary on the terminal."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.data import fields
from pipelines.labelled import baseline, duplicates, ratings
from pipelines.labelled.coverage_report import coverage_lines
from pipelines.labelled.metrics import MAX_MATRIX, most_frequent_classes, reliability
from pipelines.labelled.threshold_report import precision_recall_lines
from pipelines.support import charts, confusion, markdown, predictions, reports
from pipelines.support.charts import BLUE, GREY, ORANGE
from pipelines.support.confusion import Confusion
from pipelines.support.installation import shell_command
from pipelines.support.numbers import counted, listed
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult
from pipelines.support.scores import score_of

NUM_MISTAKES = 5
_FEW_OF_CLASS = 10  # training texts, with which a label is hardly learned
FEW_ROWS = 100
_EXCERPT = 240  # characters of a text in the report
_NOT_OF_PREPARED_DATA = "no baselines and no count of repeated texts, which need all training texts in memory"


def write(
    result: RunResult,
    details: dict,
    folder: Path,
    sections: Sequence[str] = (),
    data_lines: Sequence[str] = (),
    curve_labels: tuple[str, str] = ("training", "validation"),
) -> None:
    """Writes the report and predictions.csv to `folder`, with confusion.png, calibration.png, lengths.png and, if there
    was a training in epochs, curves.png.

    Two classes also have precision_recall.png, more of them coverage.png.

    Args:
        details: of `measure.measure`: "valid" (Labelled), its "probabilities" and its "predicted" labels.
        sections: lines of the task's own sections.
        data_lines: the task's own lines for the section on the data.
        curve_labels: what the learning curves of training and of validation show.
    """
    valid, probabilities = details["valid"], details["probabilities"]
    texts = fields.readable(fields.from_card(result.about.get("columns")), valid.texts)
    mistakes = worst_mistakes(texts, valid.labels, probabilities, result.about["classes"], details["predicted"])
    has_epochs = reports.has_epochs(result)
    if has_epochs:
        curves = reports.curves(result, {"loss": "loss, nats", "accuracy": "accuracy"}, *curve_labels)
        charts.save(curves, folder / "curves.png")
    bins = reliability(valid.labels, probabilities)
    plot = calibration_plot(bins, "probability of the most probable label", "fraction of correct predictions")
    charts.save(plot, folder / "calibration.png")
    charts.save(_lengths_plot(result.scores["validation"]), folder / "lengths.png")
    names = np.array(result.about["classes"], dtype=object)
    predictions.write(
        folder,
        valid.texts,
        names[valid.labels],
        names[details["predicted"]],
        probabilities[np.arange(len(valid)), details["predicted"]],
    )
    confused = confusion.count(valid.labels, details["predicted"], result.about["classes"])
    charts.save(confusion.draw(confused, "label"), folder / "confusion.png")
    lines = [
        *_header_lines(result, confused),
        *_score_lines(result),
        *member_lines(result),
        *ratings.report_lines(result.scores, result.config.get("label_type") == "ordinal"),
        *baseline.report_lines(result.scores),
        *_mistake_lines(result, mistakes, confused),
        *precision_recall_lines(result, details, folder),
        *coverage_lines(result, details, folder),
        *(_learning_lines(result) if has_epochs else _fitting_lines(result)),
        *sections,
        *_data_lines(result),
        *data_lines,
        f"- Texts are cut after {result.about['window']['max_bytes']:,} bytes.",
        "",
        *reports.use_lines(result, use_commands(result)),
        *reports.record_lines(result),
    ]
    reports.write(folder, lines)


def f1_name(classes: Sequence[str]) -> str:
    """Returns what the score "f1" is: that of the last of two classes, or the mean over more of them."""
    return f"F1 of {classes[-1]}" if len(classes) == 2 else "macro-F1"


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    score_lines, name_of_f1 = [], "F1" if len(result.about["classes"]) == 2 else "macro-F1"
    for name, scores in result.scores.items():
        f1, roc_auc = reports.number(scores["f1"]), reports.number(scores["roc_auc"])
        score_lines.append(
            f"  {name:<12}{scores['rows']:>7,} texts   accuracy {accuracy(scores)}   {name_of_f1} {f1}   "
            f"ROC AUC {roc_auc}   log loss {scores['log_loss']:.3f}"
        )
        score_lines += [f"  {'as ratings':<12}        {line}" for line in (ratings.shown(scores),) if line]
        score_lines += _abstention_lines(scores)
        score_lines += baseline.summary_lines(scores)
    if result.prepared:
        score_lines.append(f"  {'note':<12}prepared data: {_NOT_OF_PREPARED_DATA}")
    title = f"{result.task}, {result.config['model']}, {reports.data_name(result)}"
    return reports.summary(result, title, score_lines, use_commands(result)[0])


def _abstention_lines(scores: dict) -> list[str]:
    """Returns a line of the terminal on the texts that get a label; none if all do."""
    chosen = scores.get("abstention")
    if chosen is None:
        return []
    right = "" if chosen["accuracy"] is None else f", {score_of(chosen, 'accuracy').percent()} of them right"
    return [f"  {'labels':<12}{chosen['labelled']:>7,} of the texts get one{right}"]


def worst_mistakes(
    texts: Sequence[str], labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str], predicted: np.ndarray
) -> list[dict]:
    """Returns the wrong predictions with the highest probabilities: dicts of "text", "label", "predicted", "score".

    Args:
        labels, predicted: int [n], ids of the true and the predicted classes.
        probabilities: float [n, classes].
    """
    scores = np.take_along_axis(probabilities, predicted[:, None], axis=1)[:, 0]
    wrong = np.flatnonzero(predicted != labels)
    wrong = wrong[np.argsort(-scores[wrong], kind="stable")][:NUM_MISTAKES]
    return [
        {"text": texts[i], "label": classes[labels[i]], "predicted": classes[predicted[i]], "score": float(scores[i])}
        for i in wrong
    ]


def accuracy(scores: dict) -> str:
    """Returns the accuracy with its interval, such as "89.6 % (88.3 to 90.7)".

    Of few texts it is "9 of 10 (59.6 to 98.2 %)": a percentage looks more exact than it is.
    """
    if scores["rows"] < FEW_ROWS:
        low, high = (f"{100 * limit:.1f}" for limit in scores["accuracy_interval"])
        return f"{round(scores['accuracy'] * scores['rows'])} of {scores['rows']} ({low} to {high} %)"
    return score_of(scores, "accuracy").percent()


def few_rows_sentence(scores: dict) -> str:
    """Returns what fewer than FEW_ROWS validation texts are worth, with a leading space; "" for more."""
    rows = scores["rows"]
    if rows >= FEW_ROWS:
        return ""
    low, high = scores["accuracy_interval"]
    return (
        f" **{rows} validation text{'s are' if rows > 1 else ' is'} too few to judge a model**: on new texts, it may "
        f"be right for anything from {percent(low)} to {percent(high)}, and a smaller difference between two models "
        "says nothing. Validate on more texts with `--valid-fraction` or `--valid`, or add rows."
    )


def confusion_table(classes: Sequence[str], scores: dict) -> list[str]:
    """Returns a Markdown table of the texts of each true label that got each label; [] if it would be too wide."""
    if len(classes) > confusion.MAX_TABLE:
        return []
    matrix = scores["confusion_matrix"]
    lines = [f"| true label | {' | '.join(f'predicted {markdown.text(name)}' for name in classes)} |"]
    lines.append(f"|---|{'---:|' * len(classes)}")
    for name, row in zip(classes, matrix, strict=True):
        lines.append(f"| {markdown.text(name)} | {' | '.join(f'{count:,}' for count in row)} |")
    return [*lines, ""]


def class_table(scores: dict) -> list[str]:
    """Returns a Markdown table of precision, recall and F1 by class, and a line on the classes that do not occur."""
    lines = ["| label | texts | precision | recall | F1 |", "|---|---:|---:|---:|---:|"]
    for each in most_frequent_classes(scores["by_class"]):
        numbers = (reports.number(each[name]) for name in ("precision", "recall", "f1"))
        lines.append(f"| {markdown.text(each['class'])} | {each['rows']:,} | {' | '.join(numbers)} |")
    return [*lines, *others_lines(scores), *absent_lines(scores)]


def others_lines(scores: dict) -> list[str]:
    """Returns a line on the classes that a table leaves out; none if it has all."""
    others = len(scores["by_class"]) - MAX_MATRIX
    return ["", f"`result.json` has the other {others:,} labels, which are less frequent."] if others > 0 else []


def absent_lines(scores: dict) -> list[str]:
    """Returns a line on the classes without validation texts; none if there are no such classes."""
    absent = [markdown.text(each["class"]) for each in scores["by_class"] if not each["rows"]]
    if not absent:
        return []
    return ["", f"No text has the label {listed(absent)}: it is left out of the means, which say nothing about it."]


def _header_lines(result: RunResult, confused: Confusion) -> list[str]:
    valid = result.scores["validation"]
    most_frequent = max(each["rows"] for each in valid["by_class"]) / valid["rows"]
    title = f"{result.task.capitalize()}: {result.config['model']} on {reports.data_name(result)}"
    sentence = (
        f"This model labels **{accuracy(valid)}** of {valid['rows']:,} validation texts correctly; in parentheses, the "
        f"95 % interval. Always predicting the most frequent label would be correct for {percent(most_frequent)}."
    )
    if valid["rows"] < FEW_ROWS:
        correct = round(valid["accuracy"] * valid["rows"])
        constant = round(most_frequent * valid["rows"])
        sentence = (
            f"This model labels **{correct} of {valid['rows']}** validation texts correctly. Always predicting the "
            f"most frequent label would be correct for {constant}.{few_rows_sentence(valid)}"
        )
    return reports.header_lines(result, title, sentence, next_steps(result, confused))


def next_steps(result: RunResult, confused: Confusion) -> list[str]:
    """Returns what may make the model better, as sentences for `header_lines`."""
    steps = []
    if contradicting := (result.findings.get("duplicates") or {}).get("contradicting"):
        steps.append(f"Correct the labels of {counted(contradicting, 'text')} with different labels: see “Data”.")
    rare = {name: rows for name, rows in result.about["class_rows"].items() if rows < _FEW_OF_CLASS}
    if rare:
        names = listed([f"*{markdown.text(name)}* ({rows})" for name, rows in rare.items()])
        steps.append(f"Add texts of labels with few training texts: {names}.")
    for true, name, rows in confusion.most_frequent(confused, 1):
        steps.append(
            f"Look at *{markdown.text(true)}*: {counted(rows, 'text')} of it got the label *{markdown.text(name)}*, "
            f"the most frequent mistake. `evaluate {result.task} --data FILE --mistakes mistakes.csv` lists those of "
            "other data."
        )
    return steps


def _score_lines(result: RunResult) -> list[str]:
    formatted = {
        split: {
            "rows": f"{scores['rows']:,}",
            "accuracy": accuracy(scores),
            "f1": score_of(scores, "f1").number(),
            "roc_auc": reports.number(scores["roc_auc"]),
            "log_loss": f"{scores['log_loss']:.3f}",
            "calibration_error": f"{scores['calibration_error']:.3f}",
        }
        for split, scores in result.scores.items()
    }
    rows = [
        ("texts", "{rows}"),
        ("accuracy", "{accuracy}"),
        (f1_name(result.about["classes"]), "{f1}"),
        ("ROC AUC", "{roc_auc}"),
        ("log loss, nats", "{log_loss}"),
        ("calibration error", "{calibration_error}"),
    ]
    return [
        *reports.score_table(dataclasses.replace(result, scores=formatted), rows),
        "",
        "In parentheses: the 95 % interval (Wilson's for the accuracy, the bootstrap's for F1). The calibration error "
        "is the mean difference between the probability of a prediction and the fraction of such predictions that are "
        f"correct.{temperature_sentence(result)}",
        "",
        "![Fraction of correct predictions by their probability](calibration.png)",
        "",
    ]


def member_lines(result: RunResult) -> list[str]:
    """Returns the section on the models whose logits are added; none if there is one, or the record does not say it."""
    members = result.scores["validation"].get("members")
    if not members:
        return []
    lines = [
        "## Network and n-grams",
        "",
        "The answer is the sum of the logits of a network and of a linear model over n-grams. Their shares were fitted "
        "to the validation texts, so their sum is slightly too good on these. The measures are those of each alone, "
        "calibrated by itself.",
        "",
        "| model | share of the logits | accuracy | log loss, nats |",
        "|---|---:|---:|---:|",
    ]
    for each in members:
        lines.append(
            f"| {each['name']} | {percent(each['share'])} | {percent(each['accuracy'])} | {each['loss']:.3f} |"
        )
    return [*lines, ""]


def temperature_sentence(result: RunResult) -> str:
    """Returns how the probabilities were calibrated, with a space before; "" if the record does not say it."""
    temperature = result.scores["validation"].get("temperature")
    if temperature is None:
        return ""
    return (
        f" The logits are divided by a temperature of {temperature:.2f}, which was fitted to the validation texts; the "
        "scores of either half of them are those with the temperature of the other half."
    )


def _learning_lines(result: RunResult) -> list[str]:
    return reports.learning_lines(result, "the lowest validation loss", "Loss and accuracy by epoch")


def _fitting_lines(result: RunResult) -> list[str]:
    duration = reports.duration(result.training_seconds)
    return ["## Learning", "", f"A solver fitted the model in {duration}: there are no epochs.", ""]


def _mistake_lines(result: RunResult, mistakes: list[dict], confused: Confusion) -> list[str]:
    """The confusion, the scores of each label, the accuracy by length, and the worst mistakes."""
    valid = result.scores["validation"]
    lines = ["## Confusion", "", *confusion_table(result.about["classes"], valid)]
    lines += [*confusion.report_lines(confused, "label", "texts"), "## Labels", "", *class_table(valid)]
    lines += ["", "## Length", "", "| words in the text | texts | accuracy |", "|---|---:|---:|"]
    for group in valid["accuracy_by_length"]:
        lines.append(f"| {group['words']} | {group['rows']:,} | {percent(group['accuracy'])} |")
    lines += ["", "![Accuracy by the number of words](lengths.png)"]
    if mistakes:
        lines += ["", "## Worst mistakes", "", "The wrong predictions with the highest probabilities:", ""]
    for mistake in mistakes:
        predicted, true = markdown.text(mistake["predicted"]), markdown.text(mistake["label"])
        lines.append(
            f"- predicted *{predicted}* with {percent(mistake['score'])}, true label *{true}*: "
            f"{markdown.quoted(mistake['text'], _EXCERPT)}"
        )
    return [*lines, ""]


def _data_lines(result: RunResult) -> list[str]:
    counts = result.about["class_rows"]
    lines = ["## Data", "", f"- Training: {result.rows['train']:,} texts ({counted_classes(counts)})."]
    if min(counts.values()) * 3 < max(counts.values()):
        weighted = result.config["class_weights"]
        hint = (
            "Training gave each the same weight."
            if weighted
            else "`--class-weights` gives each the same weight in training."
        )
        lines.append(f"- The classes have very different sizes. {hint}")
    if result.prepared:
        lines.append(f"- Prepared data: {_NOT_OF_PREPARED_DATA}.")
    return lines + reports.note_lines(result) + duplicates.report_lines(result.findings.get("duplicates"))


def counted_classes(rows: dict[str, int]) -> str:
    """Returns the classes with their numbers of training texts; of more than MAX_MATRIX, the range of the numbers."""
    if len(rows) > MAX_MATRIX:
        return f"{len(rows):,} labels with {min(rows.values()):,} to {max(rows.values()):,} texts"
    return ", ".join(f"{markdown.text(name)} {count:,}" for name, count in rows.items())


def use_commands(result: RunResult) -> list[str]:
    """Returns commands that use the export: predict and evaluate."""
    flags = reports.model_flags(result)
    return [
        f"{shell_command()} predict {result.task} {result.example}{flags}",
        f"{shell_command()} evaluate {result.task} --data FILE{flags}",
    ]


def calibration_plot(bins: list[dict], probability: str, frequency: str) -> Figure:
    """Draws a reliability diagram.

    Args:
        bins: dicts of "rows", "score" (mean probability) and "accuracy" (frequency).
        probability, frequency: labels of the axes.
    """
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    scores, accuracies = [b["score"] for b in bins], [b["accuracy"] for b in bins]
    rows = np.array([b["rows"] for b in bins])
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect")
    axes.plot(scores, accuracies, color=BLUE, linewidth=1)
    axes.scatter(scores, accuracies, s=10 + 150 * rows / rows.max(), color=BLUE)
    axes.set(xlabel=probability, ylabel=frequency)
    axes.set(xlim=(0, 1.03), ylim=(0, 1.03))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _lengths_plot(scores: dict) -> Figure:
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    groups = scores["accuracy_by_length"]
    names = [f"{group['words']}\n{counted(group['rows'], 'text')}" for group in groups]
    axes.bar(names, [group["accuracy"] for group in groups], color=BLUE, width=0.6)
    axes.set_xlim(-0.6, max(len(groups), 2) - 0.4)
    axes.axhline(scores["accuracy"], color=ORANGE, linestyle=":", label="all texts")
    axes.set(xlabel="words in the text", ylabel="accuracy", ylim=(0, 1))
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
