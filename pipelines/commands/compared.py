"""What `compare` compares: finds the models that the user named, asks them, and reads what runs have kept."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.commands import flags_of_tasks
from pipelines.export.exported import Exported
from pipelines.runs import inventory
from pipelines.runs.inventory import Run
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError, suggestion
from pipelines.support.files import shown, written_beside
from pipelines.support.paths import Data
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry

if TYPE_CHECKING:  # NumPy is imported when models are compared
    from pipelines.support.answers import Answers, Measured

LETTERS = ("A", "B")


def find_run(named: str, runs: Path, saved_models: Path) -> Run:
    """Returns the run that the user named, or that made the export that the user named.

    Raises:
        UserError: there is no such run or export, or the export's run is gone.
    """
    exports = inventory.find_exports(saved_models, named)
    if not exports:
        _require_known(named, runs, saved_models)
        return inventory.find_run(runs, named)
    run = inventory.run_of_export(runs, exports[-1])
    if run is None:
        raise UserError(
            f"{exports[-1].title}: the run that made it is not in {shown(runs)}: give --data, on which the models are "
            "compared, or its folder of runs with --runs"
        )
    return run


def find_export(named: str, runs: Path, saved_models: Path) -> Exported:
    """Returns the export that the user named, of a name the newest version, or that the named run made.

    Raises:
        UserError: there is no such run or export, or the run has no export (any more).
    """
    exports = inventory.find_exports(saved_models, named)
    if exports:
        return exports[-1]
    _require_known(named, runs, saved_models)
    run = inventory.find_run(runs, named)
    made = (run.result or {}).get("model", "")
    found = inventory.find_exports(saved_models, made) if made else []
    if not found:
        state = f"its export {made} is not in {shown(saved_models)}" if made else f"it is {run.state} and has no export"
        raise UserError(f"{run.title}: {state}: --data asks exported models: name an export")
    return found[-1]


def _require_known(named: str, runs: Path, saved_models: Path) -> None:
    known = inventory.all_runs(runs)
    if not any(named.strip("/") in (run.title, run.name) for run in known) and not Path(named, "config.json").is_file():
        similar = suggestion(named, inventory.known_names(known, inventory.all_exports(saved_models)))
        raise UserError(f"no run {named!r} in {shown(runs)}, and no such export in {shown(saved_models)}{similar}")


def entry_of(exports: list[Exported]) -> TaskEntry:
    """Returns the task of models that can answer the same questions.

    Raises:
        UserError: they are of tasks that cannot be compared.
    """
    entries = []
    for exported in exports:
        task = exported.card().get("task")
        if task not in TASKS:
            raise UserError(f"{exported.title}: this version has no task {task!r}")
        if TASKS[task].answers is None:
            raise UserError(f"{exported.title}: an {task} gives no answers that are right or wrong: leave out --data")
        entries.append(TASKS[task])
    if len({entry.answers for entry in entries}) > 1:
        named = " and ".join(f"{each.title} ({entry.name})" for each, entry in zip(exports, entries))
        raise UserError(f"{named} are of different tasks: name two models of one task")
    return entries[0]


def ask(exported: Exported, data: Data, given: dict[str, Any]) -> "Answers":
    """Returns what a model answers to the data.

    Args:
        given: flag on the data -> value.

    Raises:
        UserError: the task does not have such a flag, or the data cannot be read.
    """
    task = exported.card()["task"]
    evaluate = TASKS[task].command().Evaluate
    for name in given:
        if name not in flags_of_tasks.names(evaluate):
            raise UserError(f"{flag(name)} has no effect: `evaluate {task}` does not have it")
    if not isinstance(data, str) and not flags_of_tasks.takes_several(evaluate):
        raise UserError(f"`evaluate {task}` reads one --data, and {len(data)} are given: give one file or folder")
    return flags_of_tasks.filled(evaluate(task=task, data=data), given).answers(exported)


def require_same_questions(exports: list[Exported], answers: "list[Answers]", source: str) -> None:
    """Raises a UserError if two models have read other rows, or other right answers."""
    first, second = answers
    if len(first.right) != len(second.right):
        what = f"{exports[0].title} reads {len(first.right):,} of them and {exports[1].title} {len(second.right):,}"
        raise UserError(f"{source}: the models read other rows ({what}): give data with the columns of both")
    other = next((i for i, pair in enumerate(zip(first.right, second.right)) if pair[0] != pair[1]), None)
    if other is not None:
        pair = " and ".join(repr(_short(each.right[other])) for each in answers)
        raise UserError(
            f"{source}: the models expect other answers, such as {pair} for one text: name the column with the right "
            "answers, or compare models with the same labels"
        )


def kept(run: Run) -> "Answers | str":
    """Returns the predictions that a run has kept, sorted by their texts, or why it has none. Texts are checksums."""
    from pipelines.support import predictions
    from pipelines.support.answers import Answers

    rows = predictions.read(run.path)
    if rows is None:
        return f"{run.title} {_why_without_predictions(run)}: it has no {predictions.FILE}"
    scores = rows["score"].tolist() if "score" in rows else None
    return Answers(*(rows[name].tolist() for name in ("text_sha256", "label", "predicted")), scores)


def _why_without_predictions(run: Run) -> str:
    if not TASKS[run.task].keeps_predictions:
        return "keeps no predictions" + " (--data compares exports)" * (TASKS[run.task].answers is not None)
    if run.result["config"].get("folds"):
        return "is a cross-validation, whose texts were all validated"
    return "was trained before runs kept predictions (--data compares exports)"


def measured_of_runs(first: Run, run: Run) -> "tuple[Measured, Measured] | str":
    """Returns what is measured of the validation predictions of two runs, or why they cannot be compared."""
    if TASKS[first.task].answers != TASKS[run.task].answers:
        return "they are of different tasks"
    answers = [kept(each) for each in (first, run)]
    for each in answers:
        if isinstance(each, str):
            return each
    if answers[0].texts != answers[1].texts:
        return "they were validated on different texts: give both the same --data or --valid"
    if answers[0].right != answers[1].right:
        return "the labels of their validation texts differ"
    return tuple(TASKS[each.task].measure_answers(kept, each.result) for each, kept in zip((first, run), answers))


def write_changes(path: Path, changes: list[dict[str, str]]) -> None:
    """Writes the answers that differ to a CSV file."""
    with written_beside(path, newline="") as file:
        table = csv.DictWriter(file, ("text", "a", "b", "right"), lineterminator="\n")
        table.writeheader()
        table.writerows(changes)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:40]}..."
