"""report.md and its pictures: what a run came to, for somebody who did not watch it."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.classification import reliability
from pipelines.files import shown, write_text, written_beside

SAMPLE_WARNING = "Trained on the embedded sample: these scores say nothing about real text."
MISTAKES = 5
_BLUE, _ORANGE, _GREY = "#3465a4", "#ce5c00", "#888a85"


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    lines = [f"{result['pipeline']}, {result['config']['model']}, {_data_name(result)}"]
    for name, scores in result["scores"].items():
        lines.append(
            f"  {name:<12}{scores['rows']:>7,} reviews   accuracy {_percent(scores['accuracy'])}   F1 {scores['f1']:.3f}   "
            f"ROC AUC {_number(scores['roc_auc'])}   log loss {scores['log_loss']:.3f}"
        )
    if result["sample"]:
        lines.append(f"  {SAMPLE_WARNING}")
    lines.append(f"  {'report':<12}{shown(Path(result['report']))}")
    lines.append(f"  {'model':<12}{shown(Path(result['export']))}")
    lines.append(f"  {'try it':<12}{_try_command(result)}")
    return "\n".join(lines)


def write(folder: Path, result: dict, mistakes: list[dict], labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Writes `folder`/report.md, curves.png, calibration.png and lengths.png.

    Args:
        result: as run.py makes it.
        mistakes: from `worst_mistakes`.
        labels, probabilities: of the validation set: int [n], float [n, classes].
    """
    _save(_curves(result), folder / "curves.png")
    _save(_calibration(reliability(labels, probabilities)), folder / "calibration.png")
    _save(_lengths(result["scores"]["validation"]), folder / "lengths.png")
    write_text(folder / "report.md", "\n".join(_lines(result, mistakes)) + "\n")


def worst_mistakes(texts: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...]) -> list[dict]:
    """The wrong answers that the model was surest of: dicts of text, label, answer, score."""
    answers, scores = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero(answers != labels)
    wrong = wrong[np.argsort(-scores[wrong], kind="stable")][:MISTAKES]
    return [
        {"text": texts[i], "label": classes[labels[i]], "answer": classes[answers[i]], "score": float(scores[i])} for i in wrong
    ]


def _lines(result: dict, mistakes: list[dict]) -> list[str]:
    valid = result["scores"]["validation"]
    largest = max(sum(row) for row in valid["confusion_matrix"]) / valid["rows"]
    lines = [
        f"# {result['pipeline'].capitalize()}: {result['config']['model']} on {_data_name(result)}",
        "",
        f"Of {valid['rows']:,} reviews that it did not train on, this model gives **{_percent(valid['accuracy'])}** the right "
        f"label. Always answering the most frequent one would be right for {_percent(largest)}.",
        "",
    ]
    if result["sample"]:
        lines += [f"**{SAMPLE_WARNING}**", ""]
    lines += _score_lines(result)
    lines += _error_lines(valid, result["classes"], mistakes)
    lines += _learning_lines(result)
    lines += _data_lines(result)
    lines += _use_lines(result)
    return lines + _record_lines(result)


def _score_lines(result: dict) -> list[str]:
    names = list(result["scores"])
    rows = [
        ("reviews", lambda s: f"{s['rows']:,}"),
        ("accuracy", lambda s: _percent(s["accuracy"])),
        ("F1" if len(result["classes"]) > 2 else f"F1 of {result['classes'][-1]}", lambda s: f"{s['f1']:.3f}"),
        ("ROC AUC", lambda s: _number(s["roc_auc"])),
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
        lines.append(f"| {part['words']} | {part['rows']:,} | {_percent(part['accuracy'])} |")
    lines += ["", "![Accuracy by the number of words](lengths.png)"]
    if mistakes:
        lines += ["", "The mistakes that it was surest of:", ""]
    for mistake in mistakes:
        lines.append(
            f"- {_percent(mistake['score'])} sure of *{mistake['answer']}*, in truth *{mistake['label']}*: "
            f"“{_excerpt(mistake['text'])}”"
        )
    return [*lines, ""]


def _learning_lines(result: dict) -> list[str]:
    best = result["best_epoch"]
    return [
        "## Learning",
        "",
        f"{len(result['epochs'])} epochs in {_duration(result['training_seconds'])}. The weights of epoch {best}, the one with "
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
    lines += [f"- {note[0].upper()}{note[1:]}: {rows:,}." for note, rows in result["notes"].items()]
    window = result["window"]
    if window["reviews_cut"]:
        lines.append(
            f"- The model reads {window['max_tokens']:,} tokens of a review. {_percent(window['reviews_cut'])} of the training "
            f"reviews are longer; of those it reads the start and the end, and so misses {_percent(window['tokens_lost'])} of "
            "all tokens."
        )
    else:
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
        f"python main.py evaluate {result['pipeline']} --data FILE{_model_flags(result)}",
        "```",
        "",
    ]


def _record_lines(result: dict) -> list[str]:
    config, versions = result["config"], result["versions"]
    return [
        "## Record",
        "",
        f"- Begun {result['started']} on {result['machine']}, training in {result['precision']}.",
        f"- {', '.join(f'{name} {version}' for name, version in versions.items())}.",
        f"- Data: {result['data']['name']}, fingerprint `{result['data']['fingerprint']}`.",
        f"- {result['parameters']:,} parameters, {result['vocabulary_size']:,} tokens in the vocabulary.",
        f"- {', '.join(f'{name} {value}' for name, value in config.items() if value is not None)}.",
        "- `config.json` beside this file holds all that is needed to repeat the run; `metrics.csv` has the epochs.",
    ]


def _curves(result: dict) -> Figure:
    epochs = [row["epoch"] for row in result["epochs"]]
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, measure, title in zip(figure.subplots(1, 2), ("loss", "accuracy"), ("loss, nats", "accuracy"), strict=True):
        axes.plot(epochs, [row[measure] for row in result["epochs"]], "o-", color=_GREY, label="training")
        axes.plot(epochs, [row[f"val_{measure}"] for row in result["epochs"]], "o-", color=_BLUE, label="validation")
        axes.axvline(result["best_epoch"], color=_ORANGE, linestyle=":", label="kept")
        axes.set(title=title, xlabel="epoch", xticks=epochs)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _calibration(bins: list[dict]) -> Figure:
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle=":", label="perfect")
    rows = np.array([b["rows"] for b in bins])
    axes.plot([b["score"] for b in bins], [b["accuracy"] for b in bins], color=_BLUE, linewidth=1)
    axes.scatter([b["score"] for b in bins], [b["accuracy"] for b in bins], s=10 + 150 * rows / rows.max(), color=_BLUE)
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
    bars = axes.bar([part["words"] for part in parts], [part["accuracy"] for part in parts], color=_BLUE, width=0.6)
    axes.bar_label(bars, [f"{part['rows']:,} reviews" for part in parts], color=_GREY, fontsize=8, padding=2)
    axes.axhline(scores["accuracy"], color=_ORANGE, linestyle=":", label="all")
    lowest = min(part["accuracy"] for part in parts)
    axes.set(xlabel="words in the review", ylabel="accuracy", ylim=(max(0, lowest - 0.1), 1.02))
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _save(figure: Figure, path: Path) -> None:
    with written_beside(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)


def _data_name(result: dict) -> str:
    return "the embedded sample" if result["sample"] else Path(result["config"]["data"]).name


def _model_flags(result: dict) -> str:
    """The flags with which the other commands find this model."""
    name = result["model"].split("/")[0]
    folder = Path(result["export"]).parent.parent
    flags = "" if name == result["pipeline"] else f" --name {name}"
    if folder.resolve() != Path(__file__).resolve().parent.parent / "saved_models":
        flags += f" --saved-models {shown(folder)}"
    return flags


def _try_command(result: dict) -> str:
    return f'python main.py predict {result["pipeline"]} "A gripping story and a wonderful cast."{_model_flags(result)}'


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _excerpt(text: str, characters: int = 240) -> str:
    text = " ".join(text.replace("<br />", " ").split())
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0] + " ..."
