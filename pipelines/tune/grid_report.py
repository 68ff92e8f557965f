"""The report of a grid: a table with means and intervals, a picture, and the summary on the terminal."""

import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from pipelines.runs.inventory import main_score
from pipelines.support import charts, markdown, reports
from pipelines.support.files import shown
from pipelines.tune import values
from pipelines.tune.study import FINISHED, Study

if TYPE_CHECKING:
    from pipelines.tune.grid import Point

# Measures that a table has beside the main one, where a task has them; a loss per token depends on the tokens.
_MORE_MEASURES = ("loss", "perplexity", "bits_per_character", "log_loss", "chrf")
_PER_TOKEN = ("tokenizer", "vocabulary_size", "max_characters", "joint_vocabulary")
_LOWER_IS_BETTER = ("loss", "perplexity", "bits_per_character", "log_loss")


def mean_and_interval(numbers: list[float]) -> tuple[float, float | None]:
    """Returns the mean and half of the width of its 95 % interval (Student's t); None for a single number."""
    mean = statistics.fmean(numbers)
    if len(numbers) < 2:
        return mean, None
    from scipy import stats

    factor = float(stats.t.ppf(0.975, len(numbers) - 1))
    return mean, factor * statistics.stdev(numbers) / math.sqrt(len(numbers))


def write(study: Study, grid: dict[str, tuple], points: list["Point"], equal_parameters: bool) -> dict[str, Any]:
    """Writes the report and grid.png; returns the result of the grid.

    Returns:
        "measure", and "points": settings, command, seeds (number -> numbers of its training), "mean", "interval",
        "difference" and "difference_interval" to the first point with the same seeds, "parameters" and
        "seconds_per_epoch"; None where nothing is finished.
    """
    from pipelines.tune.grid import as_dict

    finished = [outcome for point in points for outcome in point.outcomes.values() if outcome.state == FINISHED]
    measure = (main_score(finished[0].scores, study.task) or ("value", 0.0))[0]
    others = [name for name in _MORE_MEASURES if name != measure and name in finished[0].scores.get("validation", {})]
    described = [as_dict(point) | summary(point, points[0], measure) for point in points]
    num_seeds = len(points[0].outcomes)
    result = {
        "study": str(study.folder),
        "task": study.task,
        "measure": measure,
        "points": described,
        "report": str(study.folder / "report.md"),
    }
    charts.save(_picture(grid, described, measure), study.folder / "grid.png")
    fields = list(points[0].settings)
    seeds = f"{num_seeds} seeds each" if num_seeds > 1 else "one seed"
    missing = sum(outcome.state != FINISHED for point in points for outcome in point.outcomes.values())
    lines = [
        f"# {', '.join(grid)}: {study.task} on {study.record.data['name']}",
        "",
        f"{len(points)} points, {seeds}. Scores are of the validation set."
        f"{f' {missing} trainings are not finished.' if missing else ''}",
        "",
        *([f"**{reports.SAMPLE_WARNING}**", ""] if study.config.data is None else []),
        f"| {' | '.join(fields)} | {measure} | difference to the first | {''.join(f'{name} | ' for name in others)}"
        "parameters | epochs | seconds per epoch | training |",
        f"|{'---|' * len(fields)}---:|---:|{'---:|' * len(others)}---:|---:|---:|---:|",
        *(_row(point, fields, others) for point in described),
        "",
        "![Scores of the points](grid.png)",
        "",
        *_notes(grid, described, num_seeds, measure, equal_parameters),
        "## Commands",
        "",
        "```",
        *(point["command"] for point in described),
        "```",
    ]
    reports.write(study.folder, lines)
    return result


def summary(point: "Point", first: "Point", measure: str) -> dict[str, Any]:
    """Returns the means of a point over its finished seeds; of an unfinished point None everywhere.

    The difference to the first point pairs the trainings with the same seed.
    """
    scores = {seed: _score(outcome, measure) for seed, outcome in _finished(point).items()}
    if not scores:
        names = ("mean", "interval", "difference", "difference_interval", "parameters", "seconds_per_epoch")
        return dict.fromkeys(names)
    mean, interval = mean_and_interval(list(scores.values()))
    pairs = [scores[seed] - _score(of, measure) for seed, of in _finished(first).items() if seed in scores]
    difference, difference_interval = mean_and_interval(pairs) if pairs and point is not first else (None, None)
    outcomes = list(_finished(point).values())
    return {
        "mean": mean,
        "interval": interval,
        "difference": difference,
        "difference_interval": difference_interval,
        "parameters": outcomes[0].parameters,
        "seconds_per_epoch": statistics.median(s for outcome in outcomes for s in outcome.epoch_seconds),
    }


def summarize(result: dict[str, Any]) -> str:
    """Returns the lines for the terminal: a line per point, and where the report is."""
    measure = result["measure"]
    rows = [
        (values.shown(point["settings"]), *_cells(point), _count(point["parameters"])) for point in result["points"]
    ]
    header = ("point", measure, "difference to the first", "parameters")
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, len(header)))])
        for row in (header, *rows)
    ]
    return "\n".join([*lines, f"report {shown(reports.page_of(Path(result['report'])))}"])


def _finished(point: "Point") -> dict:
    return {seed: outcome for seed, outcome in point.outcomes.items() if outcome.state == FINISHED}


def _score(outcome, measure: str) -> float:
    return outcome.value if measure == "value" else outcome.scores["validation"][measure]


def _cells(point: dict) -> tuple[str, str]:
    """Returns the cells of the mean and of the difference, with their intervals."""
    return _with_interval(point["mean"], point["interval"], ""), _with_interval(
        point["difference"], point["difference_interval"], "+"
    )


def _with_interval(mean: float | None, interval: float | None, sign: str) -> str:
    if mean is None:
        return "-"
    return f"{mean:{sign}.4f}" + ("" if interval is None else f" \N{PLUS-MINUS SIGN} {interval:.4f}")


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _row(point: dict, fields: list[str], others: list[str]) -> str:
    finished = [seed for seed in point["seeds"].values() if seed["state"] == FINISHED]
    more = [
        f"{statistics.fmean(seed['scores'][name] for seed in finished):.4f}" if finished else "-" for name in others
    ]
    epochs = sorted({seed["epochs"] for seed in finished})
    shown_epochs = "-" if not epochs else str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    seconds = "-" if not finished else f"{point['seconds_per_epoch']:.1f}"
    total = "-" if not finished else reports.duration(statistics.fmean(seed["training_seconds"] for seed in finished))
    cells = [str(point["settings"][field]) for field in fields]
    cells += [*_cells(point), *more, _count(point["parameters"]), shown_epochs, seconds, total]
    return f"| {' | '.join(map(markdown.text, cells))} |"


def _notes(
    grid: dict[str, tuple], points: list[dict], num_seeds: int, measure: str, equal_parameters: bool
) -> list[str]:
    """Returns what a reader needs to judge the table."""
    lines = []
    if num_seeds > 1:
        lines.append(
            "- \N{PLUS-MINUS SIGN} is a 95 % interval (Student's t) over the seeds; a difference pairs the trainings "
            "with the same seed. An interval that contains 0 shows no difference."
        )
    else:
        lines.append("- One seed shows no difference for certain: `--seeds 3` reports intervals.")
    lines.append("- Seconds per epoch are medians on this machine; with --parallel 1 no other training disturbs them.")
    if measure in _LOWER_IS_BETTER:
        lines.append(f"- A lower {measure} is better.")
    if set(values.fields_of(grid)) & set(_PER_TOKEN) and measure in ("loss", "perplexity"):
        lines.append(
            f"- The points have different tokens, so that their {measure} per token cannot be compared: compare bits "
            "per character."
        )
    counts = [point["parameters"] for point in points if point["parameters"]]
    if equal_parameters and counts:
        off = max(abs(number / counts[0] - 1) for number in counts)
        lines.append(
            f"- hidden_size was chosen so that the networks have equally many parameters; they differ by at most "
            f"{reports.percent(off)} from the first one."
        )
    for point in points:
        failed = {seed: each["reason"] for seed, each in point["seeds"].items() if each["reason"]}
        lines += [
            f"- {values.shown(point['settings'])}, seed {seed}, failed: {reason}" for seed, reason in failed.items()
        ]
    return [*lines, ""]


def _picture(grid: dict[str, tuple], points: list[dict], measure: str) -> Figure:
    """Draws the mean of each point with its interval, and the seeds as dots."""
    figure = Figure(figsize=(max(5.0, 1.1 * len(points)), 4.0), layout="constrained")
    axes = figure.subplots()
    names = ["\n".join(f"{field} {point['settings'][field]}" for field in values.fields_of(grid)) for point in points]
    for x, point in enumerate(points):
        if point["mean"] is None:
            continue
        finished = [seed for seed in point["seeds"].values() if seed["state"] == FINISHED]
        of_seeds = [each["value"] if measure == "value" else each["scores"][measure] for each in finished]
        axes.plot([x] * len(of_seeds), of_seeds, "o", color=charts.GREY, markersize=4)
        axes.errorbar(x, point["mean"], yerr=point["interval"] or 0.0, fmt="D", color=charts.BLUE, capsize=4)
    axes.set_xticks(range(len(points)), names, rotation=0 if len(points) < 8 else 60)
    axes.set(ylabel=f"validation {measure}", title=", ".join(grid))
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
