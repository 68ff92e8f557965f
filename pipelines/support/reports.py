"""Building blocks of the reports of all tasks: report.md, its pictures and page, and the summary on the terminal."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from pipelines.support import baselines, charts, markdown, paths, report_page
from pipelines.support.charts import BLUE, GREY, ORANGE
from pipelines.support.files import shown, write_text
from pipelines.support.installation import default_folder, shell_command
from pipelines.support.numbers import counted
from pipelines.support.run_result import PAGE, RunResult

SAMPLE_WARNING = "Trained on the embedded sample: these scores say nothing about real text."
NOT_EXPORTED = "not exported, because it is below its baseline; the same command with --force exports it"
_LEAST_GAIN = 0.01  # of the last epoch, as a fraction of the loss, for which another epoch may help
_MAX_WEIGHTS = 60  # that a report lists one by one


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
    if continued := result.findings.get("continued"):
        lines.append(f"  {'continued':<12}from {continued['run']}: {_changes(continued, 'new')} on the new data")
        if continued["old"]:
            lines.append(f"  {'old data':<12}{_changes(continued, 'old')} on the validation data of that run")
    lines.append(f"  {'report':<12}{shown(page_of(Path(result.report)))}")
    if not result.export:
        lines.append(f"  {product:<12}{NOT_EXPORTED}")
        return "\n".join(lines)
    lines.append(f"  {product:<12}{shown(Path(result.export))}")
    lines.append(f"  {'try it':<12}{try_command}")
    return "\n".join(lines)


def write(folder: Path, lines: list[str]) -> None:
    """Writes `folder`/report.md, and report.html with the pictures, which are in `folder` already, in itself."""
    write_text(folder / "report.md", "\n".join(lines) + "\n")
    write_text(folder / PAGE, report_page.render(lines, folder))


def page_of(report: Path) -> Path:
    """Returns the page beside a report.md; the report itself, if an earlier version wrote it without a page."""
    page = report.with_name(PAGE)
    return page if page.is_file() else report


def write_plain(result: RunResult, folder: Path) -> None:
    """Writes the report, and curves.png, of a task without a report of its own: scores, learning, data and record."""
    charts.save(curves(result, {"loss": "loss"}), folder / "curves.png")
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


def header_lines(
    result: RunResult, title: str, result_in_one_sentence: str, next_steps: Sequence[str] = ()
) -> list[str]:
    """Returns the title and the summary in words: the result, the baselines, and what to do next.

    Args:
        next_steps: what the task recommends, as sentences.
    """
    lines = [f"# {markdown.text(title, None)}", "", result_in_one_sentence, ""]
    lines += [f"**{SAMPLE_WARNING}**", ""] if result.sample else []
    validation = result.scores["validation"]
    compared = baselines.comparison(validation)
    lines += [compared, ""] if compared else []
    encoder = f" --encoder {shlex.quote(result.config['encoder'])}" if result.config.get("encoder") else ""
    own = f"Train on data of your own: `{shell_command()} train {result.task}{encoder} --data FILE`."
    steps = [own] * result.sample
    if falling := still_falling(result):
        steps.append(f"Train longer: {falling}.")
    if not result.sample:
        steps += [baselines.REMEDY] * bool(baselines.better(validation))
        steps += next_steps
    if result.export:
        steps.append("Try the model on texts that it has not seen: the commands are under “Use”.")
    return [*lines, "What to do next:", "", *(f"- {step}" for step in steps), ""] if steps else lines


def score_table(result: RunResult, rows: list[tuple[str, str]]) -> list[str]:
    """Returns a Markdown table of scores with one column per split.

    Args:
        rows: (label, format of the measure as in str.format, such as "{accuracy:.3f}").
    """
    lines = ["## Scores", "", f"| | {' | '.join(result.scores)} |", f"|---|{'---:|' * len(result.scores)}"]
    lines += [
        f"| {markdown.text(label)} | {' | '.join(text.format(**of) for of in result.scores.values())} |"
        for label, text in rows
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
        *continued_lines(result),
        "",
        f"![{curves_title}](curves.png)",
        "",
    ]


def continued_lines(result: RunResult) -> list[str]:
    """Returns which run the training continued from, and the scores before and after it; [] if it was a new one."""
    found = result.findings.get("continued")
    if not found:
        return []
    parts = {"new validation data": found["new"], "validation data of that run": found["old"]}
    lines = ["", f"The training continued from the run {found['run']}.", "", "| | before | after |", "|---|---:|---:|"]
    for name, scores in parts.items():
        for measure, before in (scores or {"before": {}})["before"].items():
            lines.append(f"| {measure}, {name} | {before:.4g} | {scores['after'][measure]:.4g} |")
    if not found["old"]:
        lines += ["", f"What was forgotten of that run is not known: {found['problem']}."]
    return lines


def _changes(continued: dict, part: str) -> str:
    """Returns each measure before and after a training that continued from a run, as one line."""
    before, after = continued[part]["before"], continued[part]["after"]
    return ", ".join(f"{name} {before[name]:.3f} -> {after[name]:.3f}" for name in before)


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
    return [f"- {markdown.text(note[0].upper() + note[1:], None)}{count}." for note, count in counts.items()]


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
    command = ["The command of this run:", "", *markdown.fenced([result.command]), ""] if result.command else []
    settings = (f"{name} {markdown.text(value)}" for name, value in result.config.items() if value is not None)
    vocabulary = f", {result.vocabulary_size:,} tokens in the vocabulary" if result.vocabulary_size else ""
    return [
        *weight_lines(result),
        "## Record",
        "",
        *command,
        f"- Started {result.started} on {result.machine}, training in {result.precision}.",
        f"- {', '.join(f'{name} {version}' for name, version in result.versions.items())}.",
        f"- Data: {markdown.text(result.data['name'])}, fingerprint `{result.data['fingerprint']}`.",
        f"- {result.parameters:,} parameters{vocabulary}.",
        f"- {', '.join(settings)}.",
        "- `config.json` beside this file has all settings that are needed to repeat the run; "
        "`metrics.csv` has one row per epoch.",
    ]


_WIDEST = 11.4  # inches of a figure that a page shows without scrolling


def curves(
    result: RunResult, measures: dict[str, str], training_label: str = "training", validation_label: str = "validation"
) -> Figure:
    """Draws the learning curves of `measures` (column of metrics.csv -> title), one panel each, from 0 upwards."""
    epochs = [row["epoch"] for row in result.epochs]
    panel = min(4.5, _WIDEST / len(measures))
    figure = Figure(figsize=(panel * len(measures), 3.4), layout="constrained")
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for axes, (measure, title) in zip(panels, measures.items(), strict=True):
        if measure in result.epochs[0]:
            axes.plot(epochs, [row[measure] for row in result.epochs], "o-", color=GREY, label=training_label)
        axes.plot(epochs, [row[f"val_{measure}"] for row in result.epochs], "o-", color=BLUE, label=validation_label)
        axes.axvline(result.best_epoch, color=ORANGE, linestyle=":", label="kept")
        axes.set(title=title, xlabel="epoch")
        axes.set_ylim(0, 1.03 * axes.get_ylim()[1])
        if len(epochs) == 1:
            axes.set_xticks(epochs)
        else:
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
