"""The command `compare`: finished runs in one table and one picture, or two models on new data; their differences."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_error, print_json
from pipelines.commands import compared, flags_of_tasks
from pipelines.commands.list import table
from pipelines.runs import inventory
from pipelines.runs.inventory import Run
from pipelines.settings.fields import PATH, PATHS, flag
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.examples import excerpt
from pipelines.support.files import check_folder, check_output, shown
from pipelines.support.installation import called_name
from pipelines.support.paths import Data
from pipelines.support.scores import score_of
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry

if TYPE_CHECKING:  # NumPy is imported when models are compared
    from pipelines.support.answers import Answers, Measured

_MAX_SHOWN = 40  # characters of a setting in the table
_MAX_CHANGES = 10  # answers that are shown on the terminal
_MAX_TEXT, _MAX_ANSWER = 60, 40  # characters of them
# Flags of `evaluate` on how to read the data.
_DATA_FLAGS = (
    *("text_column", "label_column", "labels_separator", "label_columns", "column", "token_column", "tag_names"),
    *("target", "source_column", "target_column", "split", "encoding", "separator", "quote", "no_header"),
)


@dataclasses.dataclass(frozen=True)
class Compare:
    """Compare models, runs or exports: scores, and which differences are more than chance. It trains nothing.

    With --data, two models answer the same new texts. Without it, runs are compared by their scores, settings and
    learning curves; those that were validated on the same texts text by text, each with the first one.
    """

    examples: ClassVar = (
        "spam/1 spam/2 --data test.csv",
        "sentiment/reviews-best-0123abcd sentiment/reviews-bag-4567cdef",
    )

    names: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL MODEL ...")]] = ()
    """Two models or more, A and B: exports (name, of which the newest version is taken, name/version, or a folder) or
    runs (name, task/name, or a folder). `list` has them."""
    data: Annotated[Data | None, PATHS] = None
    """New data with the right answers, as for `evaluate`: both models answer it."""
    output: Annotated[Path | None, PATH] = None
    """With --data: CSV file for all answers that differ (text, a, b, right), those first by which B is worse."""
    fail_if_worse: bool = False
    """Exit with status 1 if B is worse than A: if the 95 % interval of the difference of the first measure excludes 0.
    Without --data, B is each model after the first one."""
    picture: Annotated[Path | None, PATH] = None
    """PNG file for the learning curves. By default comparison.png in the folder of the runs, which the next comparison
    replaces."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints the differences. Exits with status 1 if --fail-if-worse demands it."""
        if len(self.names) < 2:
            raise UserError(f"give two models or more to compare; `{called_name()} list` lists them")
        worse = self._compare_runs() if self.data is None else self._compare_on_data(self.data)
        sys.stdout.flush()
        if worse and self.fail_if_worse:
            print_error("\n".join(worse))
            sys.exit(1)

    def _compare_runs(self) -> list[str]:
        """Prints the table and the differences of runs, and draws the curves. Returns the models that are worse."""
        given = ["--output"] * (self.output is not None) + [flag(name) for name in flags_of_tasks.given(self)]
        if given:
            raise UserError(f"{given[0]} needs --data: a run keeps no texts")
        if self.picture is not None and self.picture.suffix != ".png":
            raise UserError(f"--picture {self.picture}: the name must end in .png")
        runs = [compared.find_run(name, self.runs, self.saved_models) for name in self.names]
        if len({run.path.resolve() for run in runs}) < len(runs):
            raise UserError("the same run is named twice")
        for run in runs:
            _require_finished(run)
        picture = self.picture or self.runs / "comparison.png"
        check_folder(picture.parent, "--picture")
        letters = _letters(len(runs))
        differences = [compare_with_first(runs[0], run, (letters[0], each)) for run, each in zip(runs[1:], letters[1:])]
        if self.fail_if_worse:
            for run, each in zip(runs[1:], differences):
                _require_decided(f"{run.title} and {runs[0].title}", each)
        _draw(runs, picture)
        if self.json:
            described = [_describe(run) for run in runs]
            listed = [{name: value for name, value in each.items() if name != "sentences"} for each in differences]
            print_json({"runs": described, "differences": listed, "picture": str(picture)})
        else:
            print("\n".join(_format(runs, differences)))
            print(f"\nlearning curves: {shown(picture)}")
        return [
            f"{run.title} is worse than {runs[0].title}" for run, each in zip(runs[1:], differences) if _is_worse(each)
        ]

    def _compare_on_data(self, data: Data) -> list[str]:
        """Prints how two models differ on new data. Returns the second one if it is worse."""
        if len(self.names) > 2:
            raise UserError(f"--data compares two models, and {len(self.names)} are named: name two")
        if self.picture is not None:
            raise UserError("--picture has no effect with --data: it is for the learning curves of runs")
        check_output(self.output, suffixes=(".csv",))
        exports = [compared.find_export(name, self.runs, self.saved_models) for name in self.names]
        if exports[0].path.resolve() == exports[1].path.resolve():
            raise UserError(f"both names are the model {exports[0].title}: name two models")
        entry, source = compared.entry_of(exports), paths.shown(data)
        answers = []
        for exported in exports:
            print_error(f"asking {exported.title} ...")
            answers.append(compared.ask(exported, data, flags_of_tasks.given(self)))
        compared.require_same_questions(exports, answers, source)
        from pipelines.support.answers import changes

        first, second = (entry.measure_answers(each, model.card()) for each, model in zip(answers, exports))
        difference = _differences(first, second, compared.LETTERS)
        if not difference["measures"]:
            raise UserError(
                f"{exports[0].title} and {exports[1].title} have no measure in common: they answer otherwise"
            )
        if self.fail_if_worse:
            doubt = next((each.doubt for each in answers if answers[0].doubt != answers[1].doubt and each.doubt), None)
            _require_decided(source, difference | ({"reason": doubt} if doubt else {}))
        changed = changes(*answers, (first.errors, second.errors))
        if self.output is not None:
            compared.write_changes(self.output, changed)
        notes = _notes(answers)
        if self.json:
            models = [{"name": each.title, "trained_on": given.trained_on} for each, given in zip(exports, answers)]
            listed = {name: value for name, value in difference.items() if name != "sentences"}
            kept = {} if self.output else {"changes": changed}
            print_json({"models": models, "data": source, **listed, "changed": len(changed), **kept, "notes": notes})
        else:
            lines = [f"{letter}  {each.title}" for letter, each in zip(compared.LETTERS, exports)]
            lines += ["", *_measure_table(first.measures, difference["measures"]), "", *difference["sentences"]]
            lines += ["", *_change_lines(changed, len(answers[0].texts), self.output), *notes]
            print("\n".join(lines))
        return [f"{exports[1].title} is worse than {exports[0].title}"] * _is_worse(difference)


def with_flags() -> Compare:
    """Returns the command with the flags of all `evaluate` on how to read the data."""
    entries: dict[str, TaskEntry] = {}
    for entry in TASKS.values():
        if entry.answers:
            entries.setdefault(entry.answers, entry)
    declared = {entry.name: entry.command().Evaluate for entry in entries.values()}
    return flags_of_tasks.with_flags(Compare, flags_of_tasks.flags_of(declared, lambda evaluate: _DATA_FLAGS))


def compare_with_first(first: Run, run: Run, letters: tuple[str, str] = compared.LETTERS) -> dict:
    """Compares the validation predictions of two finished runs.

    Returns:
        "run", "first", and either "reason", why they cannot be compared, or what `_differences` returns.
    """
    about = {"run": run.title, "first": first.title}
    measured = compared.measured_of_runs(first, run)
    return about | ({"reason": measured} if isinstance(measured, str) else _differences(*measured, letters))


def _differences(first: "Measured", second: "Measured", letters: tuple[str, str]) -> dict:
    """Returns how two models differ.

    Returns:
        "rows"; "measures", name -> the fields of `answers.Difference`; "sentences" for people; of labels also those of
        `paired.Difference`.
    """
    from pipelines.support import answers, paired

    found = answers.compare(first, second)
    counts = {}
    if first.is_right is not None and second.is_right is not None:
        counts = paired.compare(first.is_right, second.is_right)._asdict()
    return {
        "rows": len(first.errors),
        **counts,
        "measures": {name: each._asdict() for name, each in found.items()},
        "sentences": answers.sentences(letters, (first, second), found),
    }


def _is_worse(difference: dict) -> bool:
    """Whether the first measure says that the second model is worse."""
    return next(iter(difference.get("measures", {}).values()), {}).get("verdict") == "worse"


def _require_decided(named: str, difference: dict) -> None:
    """Raises a UserError if --fail-if-worse cannot say whether a model is worse."""
    reason = difference.get("reason")
    if reason is None and next(iter(difference["measures"].values()))["interval"] is None:
        reason = f"{difference['rows']:,} texts are too few for an interval"
    if reason is not None:
        raise UserError(f"--fail-if-worse: {named} cannot be compared: {reason}")


def _measure_table(measures, found: dict[str, dict]) -> list[str]:
    """A table of the measures of both models."""
    rows = []
    for name, each in found.items():
        form = "{:.4f}" if measures[name].is_fraction else "{:.5g}"
        cells = ["-" if each[which] is None else form.format(each[which]) for which in ("first", "second")]
        rows.append({"": measures[name].title, **dict(zip(compared.LETTERS, cells))})
    return table(rows)


def _change_lines(changed: list[dict[str, str]], num_texts: int, output: Path | None) -> list[str]:
    if not changed:
        return ["All answers are the same."]
    shown_rows = [
        {
            "text": excerpt(each["text"], _MAX_TEXT),
            **{title: excerpt(each[name], _MAX_ANSWER) for title, name in (("A", "a"), ("B", "b"), ("right", "right"))},
        }
        for each in changed[:_MAX_CHANGES]
    ]
    if not any(row["right"] for row in shown_rows):
        shown_rows = [{name: cell for name, cell in row.items() if name != "right"} for row in shown_rows]
    where = f"; all: {shown(output)}" if output else "; --output changes.csv writes all" * (len(changed) > _MAX_CHANGES)
    lines = [f"{len(changed):,} of {num_texts:,} answers differ, those first by which B is worse{where}"]
    return [*lines, "", *table(shown_rows)]


def _notes(answers: "list[Answers]") -> list[str]:
    notes = []
    for letter, each in zip(compared.LETTERS, answers):
        if each.trained_on:
            notes.append(f"note: {letter} was trained on these texts: its scores say nothing about new ones")
        notes += [f"note: {letter}: {text}" for text in (each.note, each.doubt) if text]
    return notes


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
    letters = _letters(len(runs))
    lines = [f"{letter}  {run.title}" for letter, run in zip(letters, runs, strict=True)]
    lines += ["", *table(_rows(runs, letters)), ""]
    for letter, difference in zip(letters[1:], differences, strict=True):
        if "reason" in difference:
            lines.append(f"{letter} and {letters[0]} cannot be compared text by text: {difference['reason']}.")
        lines += difference.get("sentences", [])
    return lines


def _letters(number: int) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(number)]


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


def _shortened(value: str) -> str:
    return value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "..."


def _draw(runs: list[Run], path: Path) -> None:
    """Draws validation loss, and the measure that is listed where the epochs have it, over the epochs."""
    from matplotlib.figure import Figure  # takes a second, which no mistake should wait for

    from pipelines.support import charts

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
    charts.write(figure, path)
