"""The command `compare`: finished runs in one table and one picture, with the intervals of their differences."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.command_line import RUNS, RunsFlag, print_json
from pipelines.commands.list import table
from pipelines.runs import inventory
from pipelines.runs.inventory import Run
from pipelines.settings.fields import PATH, flag
from pipelines.support.errors import UserError
from pipelines.support.files import check_folder, shown
from pipelines.support.installation import called_name
from pipelines.support.scores import score_of
from pipelines.task import TASKS

_MAX_SHOWN = 40  # characters of a setting in the table


@dataclasses.dataclass(frozen=True)
class Compare:
    """Compare runs: scores, settings, learning curves, and which differences are more than chance. It trains nothing.

    Classifiers that were validated on the same texts are compared text by text, each with the first one.
    """

    names: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="RUN RUN ...")]] = ()
    """Two runs or more: their folders or names. `list` has them."""
    picture: Annotated[Path | None, PATH] = None
    """PNG file for the learning curves. By default comparison.png in the folder of the runs, which the next comparison
    replaces."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints the table and the differences, and draws the curves."""
        if len(self.names) < 2:
            raise UserError(f"give two runs or more to compare; `{called_name()} list` lists them")
        if self.picture is not None and self.picture.suffix != ".png":
            raise UserError(f"--picture {self.picture}: the name must end in .png")
        runs = [inventory.find_run(self.runs, name) for name in self.names]
        if len({run.path.resolve() for run in runs}) < len(runs):
            raise UserError("the same run is named twice")
        for run in runs:
            _require_finished(run)
        picture = self.picture or self.runs / "comparison.png"
        check_folder(picture.parent, "--picture")
        differences = [compare_with_first(runs[0], run) for run in runs[1:]]
        _draw(runs, picture)
        if self.json:
            described = [_describe(run) for run in runs]
            print_json({"runs": described, "differences": differences, "picture": str(picture)})
        else:
            print("\n".join(_format(runs, differences)))
            print(f"\nlearning curves: {shown(picture)}")


def compare_with_first(first: Run, run: Run) -> dict:
    """Compares the validation predictions of two finished runs.

    Returns:
        "run", "first", and either "reason", why they cannot be compared, or the fields of `paired.Difference`.
    """
    from pipelines.labelled import paired, predictions

    about = {"run": run.title, "first": first.title}
    tables = [predictions.read(each.path) for each in (first, run)]
    for each, rows in zip((first, run), tables, strict=True):
        if rows is None:
            return about | {"reason": f"{each.title} {_why_without_predictions(each)}: it has no {predictions.FILE}"}
    if not tables[0][["text_sha256"]].equals(tables[1][["text_sha256"]]):
        return about | {"reason": "they were validated on different texts: give both the same --data or --valid"}
    if not tables[0]["label"].equals(tables[1]["label"]):
        return about | {"reason": "the labels of their validation texts differ"}
    is_correct = [(rows["label"] == rows["predicted"]).to_numpy() for rows in tables]
    return about | paired.compare(*is_correct)._asdict()


def _why_without_predictions(run: Run) -> str:
    if not TASKS[run.task].keeps_predictions:
        return "is no classifier of texts"
    if run.result["config"].get("folds"):
        return "is a cross-validation, whose texts were all validated"
    return "was trained before runs kept predictions"


def _require_finished(run: Run) -> None:
    if run.result is None:
        remedy = "delete its folder" if run.state == "damaged" else "the same `train` command finishes it"
        raise UserError(f"{run.title} is {run.state}: {remedy}, then compare")


def _describe(run: Run) -> dict:
    result = run.result
    measure = inventory.main_score(result["scores"], run.task)
    return {
        "name": run.title,
        "scores": result["scores"],
        "measure": measure and measure[0],
        "parameters": result["parameters"],
        "best_epoch": result["best_epoch"],
        "training_seconds": result["training_seconds"],
        "config": result["config"],
        "data": result["data"],
        "export": result["model"],
    }


def _format(runs: list[Run], differences: list[dict]) -> list[str]:
    letters = [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(len(runs))]
    lines = [f"{letter}  {run.title}" for letter, run in zip(letters, runs, strict=True)]
    lines += ["", *table(_rows(runs, letters)), ""]
    for letter, difference in zip(letters[1:], differences, strict=True):
        lines.append(_sentence(letter, letters[0], difference))
    return lines


def _rows(runs: list[Run], letters: list[str]) -> list[dict[str, str]]:
    """Returns the rows of the table: measures, then the settings that differ; one column per run."""
    columns = []
    for run in runs:
        result, cells = run.result, {}
        for split, scores in result["scores"].items():
            for measure in inventory.measures_of(run.task):
                if scores.get(measure) is not None:
                    cells[f"{split} {measure}"] = score_of(scores, measure).number()
            if scores.get("log_loss") is not None:
                cells[f"{split} log loss"] = f"{scores['log_loss']:.3f}"
        cells["parameters"] = f"{result['parameters']:,}"
        if result["epochs"]:  # a cross-validation has none of its own
            cells["best epoch"] = f"{result['best_epoch']} of {len(result['epochs'])}"
        cells["training"] = f"{result['training_seconds']:.0f} s"
        cells["data"] = f"{result['data']['name']}, {result['data']['fingerprint'][:8]}"
        columns.append(cells)
    names = list(dict.fromkeys(name for cells in columns for name in cells))
    rows = [[name, *(cells.get(name, "-") for cells in columns)] for name in names]
    settings = [run.result["config"] | {"task": run.task} for run in runs]
    for name in dict.fromkeys(name for each in settings for name in each):
        values = ["-" if each.get(name) is None else str(each[name]) for each in settings]
        if len(set(values)) > 1 and name != "data":
            rows.append([flag(name) if name != "task" else name, *(_shortened(value) for value in values)])
    return [dict(zip(["", *letters], row, strict=True)) for row in rows]


def _sentence(letter: str, first: str, difference: dict) -> str:
    if "reason" in difference:
        return f"{letter} and {first} cannot be compared text by text: {difference['reason']}."
    low, high = (100 * value for value in difference["interval"])
    verdict = "a difference" if low > 0 or high < 0 else "they may be equally good"
    return (
        f"{letter} against {first}, on {difference['rows']:,} texts: {100 * difference['accuracy']:+.1f} points of "
        f"accuracy (95 % interval {low:+.1f} to {high:+.1f}); only {letter} is right on {difference['only_second']:,}, "
        f"only {first} on {difference['only_first']:,} (McNemar p = {difference['p_value']:.2g}): {verdict}."
    )


def _shortened(value: str) -> str:
    return value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "..."


def _draw(runs: list[Run], path: Path) -> None:
    """Draws validation loss, and the measure that is listed where the epochs have it, over the epochs."""
    from matplotlib.figure import Figure  # takes a second, which no mistake should wait for

    from pipelines.support import reports

    measured = {name for run in runs for row in run.result["epochs"][:1] for name in row}
    names = [f"val_{measure}" for run in runs for measure in ("loss", *inventory.measures_of(run.task))]
    panels = [name for name in dict.fromkeys(names) if name in measured] or ["val_loss"]
    figure = Figure(figsize=(4.8 * len(panels), 3.6 + 0.25 * len(runs)), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for i, run in enumerate(runs):
            points = [(row["epoch"], row[name]) for row in run.result["epochs"] if name in row]
            if points:
                (line,) = axes.plot(*zip(*points, strict=True), "o-", color=f"C{i}", label=run.title)
                kept = dict(points).get(run.result["best_epoch"])
                if kept is not None:
                    axes.plot(
                        run.result["best_epoch"], kept, "o", markersize=11, fillstyle="none", color=line.get_color()
                    )
        axes.set(
            title=name.replace("val_", "validation "),
            xlabel="epoch (circle: kept)",
            ylabel="(the axis does not start at 0)",
        )
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.spines[["top", "right"]].set_visible(False)
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", frameon=False)
    reports.save(figure, path)
