"""Building blocks of the reports of all tasks: report.md, its pictures, and the summary on the terminal."""

import math
from pathlib import Path

from matplotlib.figure import Figure

from pipelines.support import paths
from pipelines.support.files import shown, write_text, written_beside
from pipelines.support.installation import default_folder, shell_command
from pipelines.support.numbers import counted
from pipelines.support.run_result import RunResult

SAMPLE_WARNING = "Trained on the embedded sample: these scores say nothing about real text."
NOT_EXPORTED = "not exported, because it is below its baseline; the same command with --force exports it"
_LEAST_GAIN = 0.01  # of the last epoch, as a fraction of the loss, for which another epoch may help
_MAX_WEIGHTS = 60  # that a report lists one by one
BLUE, ORANGE, GREY = "#3465a4", "#ce5c00", "#888a85"


def summary(result: RunResult, title: str, score_lines: list[str], try_command: str, product: str = "model") -> str:
    """Returns the lines that the terminal shows at the end of a run.

    Args:
        title: task, model and data.
        score_lines: one line per split.
        try_command: a command that uses the export.
        product: what was exported.
    """
    lines = [title, *score_lines]
    if result.sample:
        lines.append(f"  {SAMPLE_WARNING}")
    elif falling := still_falling(result):
        lines.append(f"  {'note':<12}{falling}")
    lines.append(f"  {'report':<12}{shown(Path(result.report))}")
    if not result.export:
        lines.append(f"  {product:<12}{NOT_EXPORTED}")
        return "\n".join(lines)
    lines.append(f"  {product:<12}{shown(Path(result.export))}")
    lines.append(f"  {'try it':<12}{try_command}")
    return "\n".join(lines)


def write(folder: Path, lines: list[str]) -> None:
    """Writes `folder`/report.md."""
    write_text(folder / "report.md", "\n".join(lines) + "\n")


def write_plain(result: RunResult, folder: Path) -> None:
    """Writes report.md and curves.png of a task without a report of its own: scores, learning, data and record."""
    save(curves(result, {"loss": "loss"}), folder / "curves.png")
    title = f"{result.task}: {result.config['model']} on {data_name(result)}"
    rows = ", ".join(f"{split} {count:,}" for split, count in result.rows.items())
    lines = [
        *header_lines(result, title, f"The measures of {' and '.join(result.scores)} texts are those of the export."),
        *score_table(result, [(name, f"{{{name}:.6g}}") for name in _numbers(next(iter(result.scores.values())))]),
        "",
        *learning_lines(result, "the best validation score", "Loss by epoch"),
        "## Data",
        "",
        f"- Rows: {rows}.",
        *note_lines(result),
        "",
        *use_lines(result, [predict_command(result)]),
        *record_lines(result),
    ]
    write(folder, lines)


def summarize_plain(result: RunResult) -> str:
    """Returns the lines for the terminal of a task without a report of its own."""
    lines = [
        f"  {split:<12}{'   '.join(f'{name} {value:.6g}' for name, value in _numbers(scores).items())}"
        for split, scores in result.scores.items()
    ]
    title = f"{result.task}, {result.config['model']}, {data_name(result)}"
    return summary(result, title, lines, predict_command(result))


def _numbers(scores: dict) -> dict[str, float]:
    return {name: value for name, value in scores.items() if isinstance(value, int | float)}


def predict_command(result: RunResult) -> str:
    """Returns the command that predicts a text: one of the validation data, if the run has one."""
    text = result.example or '"TEXT"'
    return f"{shell_command()} predict {result.task} {text}{model_flags(result)}"


def header_lines(result: RunResult, title: str, result_in_one_sentence: str) -> list[str]:
    """Returns the title, the most important result and, for the embedded sample, the warning."""
    lines = [f"# {title}", "", result_in_one_sentence, ""]
    return lines + ([f"**{SAMPLE_WARNING}**", ""] if result.sample else [])


def cell(text: object) -> str:
    """Returns a text as a cell of a Markdown table: one line, in which a bar does not end the cell."""
    return " ".join(str(text).replace("|", "\\|").splitlines())


def score_table(result: RunResult, rows: list[tuple[str, str]]) -> list[str]:
    """Returns a Markdown table of scores with one column per split.

    Args:
        rows: (label, format of the measure as in str.format, such as "{accuracy:.3f}").
    """
    lines = ["## Scores", "", f"| | {' | '.join(result.scores)} |", f"|---|{'---:|' * len(result.scores)}"]
    lines += [
        f"| {cell(label)} | {' | '.join(text.format(**of) for of in result.scores.values())} |" for label, text in rows
    ]
    return lines


def has_epochs(result: RunResult) -> bool:
    """Whether the model was trained by gradients; else a solver has fitted it, and there are no learning curves."""
    return "loss" in result.epochs[0]


def learning_lines(result: RunResult, reason: str, curves_title: str) -> list[str]:
    """Returns the section on the training: epochs, duration, which weights were kept and why, and the curves.

    Args:
        reason: why that epoch, such as "the lowest validation loss".
        curves_title: alternative text of the picture.
    """
    return [
        "## Learning",
        "",
        f"{counted(len(result.epochs), 'epoch')} in {duration(result.training_seconds)}. "
        f"The weights of epoch {result.best_epoch} were kept ({reason}).",
        *(["", f"**{falling[0].upper()}{falling[1:]}.**"] if (falling := still_falling(result)) else []),
        "",
        f"![{curves_title}](curves.png)",
        "",
    ]


def still_falling(result: RunResult) -> str:
    """Returns what more epochs would help, where the loss still fell when they ended; else ""."""
    losses = [row.get("val_loss", math.nan) for row in result.epochs]
    most = result.config.get("epochs") or 0
    if not 2 <= len(losses) == most == result.best_epoch or not losses[-1] < (1 - _LEAST_GAIN) * losses[-2]:
        return ""
    return f"the validation loss still fell in the last epoch: --epochs {2 * most} may help"


def use_lines(result: RunResult, commands: list[str], description: str | None = None) -> list[str]:
    """Returns the section on using the export: where it is, what it is, and commands to copy."""
    if not result.export:
        is_below = result.about.get("below_baseline")
        reason = NOT_EXPORTED if is_below else "not exported yet; `export(path)` of the estimator does it"
        return ["## Use", "", f"{reason[0].upper()}{reason[1:]}.", ""]
    description = description or "a SavedModel that takes strings, for TF Serving or `tf.saved_model.load`"
    lines = ["## Use", "", f"The export is in `{shown(Path(result.export))}`: {description}."]
    return [*lines, "", "```", *commands, "```", ""]


def note_lines(result: RunResult) -> list[str]:
    """Returns what was left out of the data, and why."""
    counts = {note: f": {rows:,}" if rows else "" for note, rows in result.notes.items()}
    return [f"- {note[0].upper()}{note[1:]}{count}." for note, count in counts.items()]


def weight_lines(result: RunResult) -> list[str]:
    """Returns the section on the weights: each with its shape; where there are many, the sums of each layer."""
    if not result.weights:
        return []
    lines = ["## Weights", ""]
    counts = {name: math.prod(shape) for name, shape in result.weights.items()}
    if len(counts) <= _MAX_WEIGHTS:
        lines += ["| weight | shape | numbers |", "|---|---|---:|"]
        lines += [
            f"| {name} | {' x '.join(f'{size:,}' for size in result.weights[name])} | {count:,} |"
            for name, count in counts.items()
        ]
    else:
        lines += ["| layer | weights | numbers |", "|---|---:|---:|"]
        of_layer: dict[str, list[int]] = {}
        for name, count in counts.items():
            of_layer.setdefault(name.split("/")[0], []).append(count)
        lines += [f"| {layer} | {len(each)} | {sum(each):,} |" for layer, each in of_layer.items()]
    return [*lines, f"| all | | {sum(counts.values()):,} |", ""]


def record_lines(result: RunResult) -> list[str]:
    """Returns the sections on the weights, and on what is needed to repeat the run."""
    vocabulary = f", {result.vocabulary_size:,} tokens in the vocabulary" if result.vocabulary_size else ""
    return [
        *weight_lines(result),
        "## Record",
        "",
        f"- Started {result.started} on {result.machine}, training in {result.precision}.",
        f"- {', '.join(f'{name} {version}' for name, version in result.versions.items())}.",
        f"- Data: {result.data['name']}, fingerprint `{result.data['fingerprint']}`.",
        f"- {result.parameters:,} parameters{vocabulary}.",
        f"- {', '.join(f'{name} {value}' for name, value in result.config.items() if value is not None)}.",
        "- `config.json` beside this file has all settings that are needed to repeat the run; "
        "`metrics.csv` has one row per epoch.",
    ]


def save(figure: Figure, path: Path) -> None:
    """Writes the picture to `path` (.png)."""
    with written_beside(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)


def curves(
    result: RunResult, measures: dict[str, str], training_label: str = "training", validation_label: str = "validation"
) -> Figure:
    """Draws the learning curves of `measures` (column of metrics.csv -> title), one panel each, from 0 upwards."""
    epochs = [row["epoch"] for row in result.epochs]
    figure = Figure(figsize=(4.5 * len(measures), 3.4), layout="constrained")
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for axes, (measure, title) in zip(panels, measures.items(), strict=True):
        if measure in result.epochs[0]:
            axes.plot(epochs, [row[measure] for row in result.epochs], "o-", color=GREY, label=training_label)
        axes.plot(epochs, [row[f"val_{measure}"] for row in result.epochs], "o-", color=BLUE, label=validation_label)
        axes.axvline(result.best_epoch, color=ORANGE, linestyle=":", label="kept")
        axes.set(title=title, xlabel="epoch")
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def data_name(result: RunResult) -> str:
    """Returns the name of the data for people."""
    if result.sample:
        return "the embedded sample"
    first, *others = paths.each(result.config["data"])
    return Path(first).name + (f" and {len(others)} more" if others else "")


def model_flags(result: RunResult) -> str:
    """Returns the flags with which the other commands find this export, with a leading space; "" if they need none."""
    name = result.model.split("/")[0]
    folder = Path(result.export).parent.parent
    flags = "" if name == result.task else f" --name {name}"
    return (
        flags
        if folder.resolve() == default_folder("saved_models").resolve()
        else f"{flags} --saved-models {shown(folder)}"
    )


def percent(fraction: float) -> str:
    """Formats 0.123 as "12.3 %"."""
    return f"{100 * fraction:.1f} %"


def number(value: float | None) -> str:
    """Formats a number with three digits; "-" for None."""
    return "-" if value is None else f"{value:.3f}"


def duration(seconds: float) -> str:
    """Formats seconds as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
