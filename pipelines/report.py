"""report.md and its pictures: what a run came to, for somebody who did not watch it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.classification import reliability
from pipelines.files import shown, write_text
from pipelines.reporting import (
    BLUE, GREY, ORANGE, SAMPLE_WARNING, curves, data_name, duration, model_flags, note_lines, number, percent, record_lines, save,
)  # fmt: skip

MISTAKES = 5


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    lines = [f"{result['pipeline']}, {result['config']['model']}, {data_name(result)}"]
    for name, scores in result["scores"].items():
        lines.append(
            f"  {name:<12}{scores['rows']:>7,} reviews   accuracy {percent(scores['accuracy'])}   F1 {scores['f1']:.3f}   "
            f"ROC AUC {number(scores['roc_auc'])}   log loss {scores['log_loss']:.3f}"
        )
    if result["sample"]:
        lines.append(f"  {SAMPLE_WARNING}")
    lines.append(f"  {'report':<12}{shown(Path(result['report']))}")
    lines.append(f"  {'model':<12}{shown(Path(result['export']))}")
    lines.append(f"  {'try it':<12}{_try_command(result)}")
    return "\n".join(lines)


def write(
    folder: Path, result: dict, mistakes: list[dict], labels: np.ndarray, probabilities: np.ndarray, more: Sequence[str] = ()
) -> None:
    """Writes `folder`/report.md, curves.png, calibration.png and lengths.png.

    Args:
        result: as run.py makes it.
        mistakes: from `worst_mistakes`.
        labels, probabilities: of the validation set: int [n], float [n, classes].
        more: lines of a section about the pipeline's own things.
    """
    save(curves(result, {"loss": "loss, nats", "accuracy": "accuracy"}), folder / "curves.png")
    save(_calibration(reliability(labels, probabilities)), folder / "calibration.png")
    save(_lengths(result["scores"]["validation"]), folder / "lengths.png")
    write_text(folder / "report.md", "\n".join(_lines(result, mistakes, more)) + "\n")


def worst_mistakes(texts: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...]) -> list[dict]:
    """The wrong answers that the model was surest of: dicts of text, label, answer, score."""
    answers, scores = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero(answers != labels)
    wrong = wrong[np.argsort(-scores[wrong], kind="stable")][:MISTAKES]
    return [
        {"text": texts[i], "label": classes[labels[i]], "answer": classes[answers[i]], "score": float(scores[i])} for i in wrong
    ]


def _lines(result: dict, mistakes: list[dict], more: Sequence[str]) -> list[str]:
    valid = result["scores"]["validation"]
    largest = max(sum(row) for row in valid["confusion_matrix"]) / valid["rows"]
    lines = [
        f"# {result['pipeline'].capitalize()}: {result['config']['model']} on {data_name(result)}",
        "",
        f"Of {valid['rows']:,} reviews that it did not train on, this model gives **{percent(valid['accuracy'])}** the right "
        f"label. Always answering the most frequent one would be right for {percent(largest)}.",
        "",
    ]
    if result["sample"]:
        lines += [f"**{SAMPLE_WARNING}**", ""]
    lines += _score_lines(result)
    lines += _error_lines(valid, result["classes"], mistakes)
    lines += [*_learning_lines(result), *more]
    lines += _data_lines(result)
    lines += _use_lines(result)
    return lines + record_lines(result)


def _score_lines(result: dict) -> list[str]:
    names = list(result["scores"])
    rows = [
        ("reviews", lambda s: f"{s['rows']:,}"),
        ("accuracy", lambda s: percent(s["accuracy"])),
        ("F1" if len(result["classes"]) > 2 else f"F1 of {result['classes'][-1]}", lambda s: f"{s['f1']:.3f}"),
        ("ROC AUC", lambda s: number(s["roc_auc"])),
        ("log loss, nats", lambda s: f"{s['log_loss']:.3f}"),
        ("calibration error", lambda s: f"{s['calibration_error']:.3f}"),
    ]
    lines = ["## Scores", "", f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    lines += [f"| {title} | {' | '.join(show(result['scores'][name]) for name in names)} |" for title, show in rows]
    return [
        *lines,
        "",
        "The calibration error is how far, on average, the probability of an answer is from how often such answers are right.",
        "",
        "![How often answers of each probability are right](calibration.png)",
        "",
    ]


def _error_lines(valid: dict, classes: list[str], mistakes: list[dict]) -> list[str]:
    lines = ["## Where it errs", "", f"| in truth | {' | '.join(f'answered {name}' for name in classes)} |"]
    lines += [f"|---|{'---:|' * len(classes)}"]
    for name, row in zip(classes, valid["confusion_matrix"], strict=True):
        lines.append(f"| {name} | {' | '.join(f'{count:,}' for count in row)} |")
    lines += ["", "| words in the review | reviews | accuracy |", "|---|---:|---:|"]
    for part in valid["accuracy_by_length"]:
        lines.append(f"| {part['words']} | {part['rows']:,} | {percent(part['accuracy'])} |")
    lines += ["", "![Accuracy by the number of words](lengths.png)"]
    if mistakes:
        lines += ["", "The mistakes that it was surest of:", ""]
    for mistake in mistakes:
        lines.append(
            f"- {percent(mistake['score'])} sure of *{mistake['answer']}*, in truth *{mistake['label']}*: "
            f"“{_excerpt(mistake['text'])}”"
        )
    return [*lines, ""]


def _learning_lines(result: dict) -> list[str]:
    best = result["best_epoch"]
    return [
        "## Learning",
        "",
        f"{len(result['epochs'])} epochs in {duration(result['training_seconds'])}. The weights of epoch {best}, the one with "
        "the lowest validation loss, were kept.",
        "",
        "![Loss and accuracy by epoch](curves.png)",
        "",
    ]


def _data_lines(result: dict) -> list[str]:
    counts = result["class_rows"]
    classes = ", ".join(f"{name} {rows:,}" for name, rows in counts.items())
    lines = ["## Data", "", f"- Training: {result['rows']['train']:,} reviews ({classes})."]
    if min(counts.values()) * 3 < max(counts.values()):
        weighted = result["config"]["class_weights"]
        lines.append(
            "- The classes are out of balance. "
            + ("Each weighed the same in training." if weighted else "`--class-weights` would weigh each the same.")
        )
    lines += note_lines(result)
    window = result["window"]
    if window.get("reviews_cut"):
        lines.append(
            f"- The model reads {window['max_tokens']:,} tokens of a review. {percent(window['reviews_cut'])} of the training "
            f"reviews are longer; of those it reads the start and the end, and so misses {percent(window['tokens_lost'])} of "
            "all tokens."
        )
    elif "max_tokens" in window:
        lines.append(f"- The model reads {window['max_tokens']:,} tokens of a review; none of the training reviews is longer.")
    return [*lines, f"- Of a review's bytes, those after the first {window['max_bytes']:,} are cut.", ""]


def _use_lines(result: dict) -> list[str]:
    return [
        "## Use",
        "",
        f"The model is in `{shown(Path(result['export']))}`: a SavedModel that takes strings, for TF Serving or "
        "`tf.saved_model.load`.",
        "",
        "```",
        _try_command(result),
        f"python main.py evaluate {result['pipeline']} --data FILE{model_flags(result)}",
        "```",
        "",
    ]


def _calibration(bins: list[dict]) -> Figure:
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect")
    rows = np.array([b["rows"] for b in bins])
    axes.plot([b["score"] for b in bins], [b["accuracy"] for b in bins], color=BLUE, linewidth=1)
    axes.scatter([b["score"] for b in bins], [b["accuracy"] for b in bins], s=10 + 150 * rows / rows.max(), color=BLUE)
    low = min(min(b["score"], b["accuracy"]) for b in bins) - 0.05
    axes.set(xlabel="probability of the answer", ylabel="part of these answers that is right")
    axes.set(xlim=(max(0, low), 1.03), ylim=(max(0, low), 1.03))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _lengths(scores: dict) -> Figure:
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    parts = scores["accuracy_by_length"]
    bars = axes.bar([part["words"] for part in parts], [part["accuracy"] for part in parts], color=BLUE, width=0.6)
    axes.bar_label(bars, [f"{part['rows']:,} reviews" for part in parts], color=GREY, fontsize=8, padding=2)
    axes.axhline(scores["accuracy"], color=ORANGE, linestyle=":", label="all")
    lowest = min(part["accuracy"] for part in parts)
    axes.set(xlabel="words in the review", ylabel="accuracy", ylim=(max(0, lowest - 0.1), 1.02))
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _try_command(result: dict) -> str:
    return f'python main.py predict {result["pipeline"]} "A gripping story and a wonderful cast."{model_flags(result)}'


def _excerpt(text: str, characters: int = 240) -> str:
    text = " ".join(text.replace("<br />", " ").split())
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0] + " ..."
