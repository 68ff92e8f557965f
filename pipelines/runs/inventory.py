"""The runs and exports on this machine: finds them by name, and reads what their records state."""

import contextlib
import datetime
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipelines.export.exported import Exported, versions
from pipelines.support.errors import UserError, suggestion
from pipelines.support.files import shown
from pipelines.support.installation import called_name
from pipelines.support.records import read_record
from pipelines.task import TASKS


class Run(NamedTuple):
    """A folder runs/<task>/<name>.

    Attributes:
        task, name: its place.
        path: the folder.
        record: config.json; {} if it is damaged.
        result: result.json; None if the run is not finished.
        state: "finished", "unfinished", "training" (a process holds its lock) or "damaged".
    """

    task: str
    name: str
    path: Path
    record: dict
    result: dict | None
    state: str

    @property
    def title(self) -> str:
        """Task and name, such as "sentiment/reviews-best-0123abcd"."""
        return f"{self.task}/{self.name}"


def read_run(path: Path) -> Run:
    """Reads the records of a run's folder. A damaged record is a state, not an error."""
    task, name = path.parent.name, path.name
    try:
        record = read_record(path / "config.json", "")
        result = read_record(path / "result.json", "") if (path / "result.json").exists() else None
    except (OSError, UserError, ValueError):
        return Run(task, name, path, {}, None, "damaged")
    if is_locked(path):
        state = "training"
    else:
        state = "unfinished" if result is None else "finished"
    return Run(task, name, path, record, result, state)


def all_runs(root: Path) -> list[Run]:
    """Returns all runs in the folder `root`, the newest first. Folders without a config.json are no runs."""
    folders = [path.parent for task in TASKS for path in root.glob(f"{task}/*/config.json")]
    found = [read_run(folder) for folder in folders if not folder.name.startswith(".")]
    return sorted(found, key=lambda run: (run.record.get("started", ""), run.title), reverse=True)


def all_exports(root: Path) -> list[Exported]:
    """Returns all versions of all exports in the folder `root`, by name and version."""
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [Exported(folder.name, version, folder / str(version)) for folder in folders for version in versions(folder)]


def card_of(exported: Exported) -> dict:
    """Returns the card of an export; {} if it has none that can be read, as models of other programs."""
    try:
        return exported.card()
    except UserError:
        return {}


def is_locked(folder: Path) -> bool:
    """Whether a process trains the run in `folder`: whether it holds the run's lock."""
    try:
        with open(folder / "lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file: the run is one that was copied
        return False
    return False


def measures_of(task: str | None) -> tuple[str, ...]:
    """Returns the measures of a task in the registry, the most important one first; () of an unknown one."""
    return TASKS[task].measures if task in TASKS else ()


def main_score(scores: dict, task: str | None) -> tuple[str, float] | None:
    """Returns the measure that is listed, and its value on the validation set; None if there is none.

    Args:
        scores: split -> measures, as in result.json and the card.
        task: name in the registry.
    """
    measures = scores.get("validation", {})
    return next(((name, measures[name]) for name in measures_of(task) if measures.get(name) is not None), None)


def size_of(folder: Path) -> int:
    """Returns the bytes of all files in `folder`. Links count as links: they are not followed."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # removed in the meantime
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def find_run(root: Path, named: str) -> Run:
    """Returns the run that the user named: by its folder, by task/name, or by its name alone.

    Raises:
        UserError: there is none, with the most similar name; or several tasks have a run of this name.
    """
    folder = Path(named)
    if (folder / "config.json").is_file():
        return read_run(folder.resolve())
    runs = all_runs(root)
    fitting = [run for run in runs if named.strip("/") in (run.title, run.name)]
    if not fitting:
        raise UserError(
            f"no run {named!r} in {shown(root)}{suggestion(named, known_names(runs))} "
            f"(`{called_name()} list` lists all)"
        )
    if len(fitting) > 1:
        raise UserError(f"there are several runs {named!r}: name one of {', '.join(run.title for run in fitting)}")
    return fitting[0]


def run_of_export(root: Path, exported: Exported) -> Run | None:
    """Returns the run that made an export, by the number that the card has; None if it is gone."""
    number = card_of(exported).get("run")
    return next((run for run in all_runs(root) if number and run.record.get("run") == number), None)


def find_exports(root: Path, named: str) -> list[Exported]:
    """Returns the exports that the user named: a version (name/2, or its folder), or all versions of a name.

    Returns:
        The versions; [] if there are none.
    """
    folders = {Path(named).resolve(), (root / named).resolve()}
    return [found for found in all_exports(root) if folders & {found.path.resolve(), found.path.parent.resolve()}]


def known_names(runs: Iterable, exports: Iterable[Exported] = ()) -> list[str]:
    """Returns all names by which runs and exports can be found.

    Args:
        runs: runs, or searches (`pipelines.tune.inventory`).
    """
    names = [name for run in runs for name in (run.name, run.title)]
    return names + [name for exported in exports for name in (exported.name, exported.title)]


def age(started: str | float) -> str:
    """Returns the time since `started` for people, such as "3 h"; "-" if it is unknown.

    Args:
        started: ISO 8601, or seconds since 1970.
    """
    if not started:
        return "-"
    if isinstance(started, str):
        started = datetime.datetime.fromisoformat(started).timestamp()
    seconds = max(0.0, datetime.datetime.now(datetime.UTC).timestamp() - started)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def size(num_bytes: int) -> str:
    """Returns a size for people, such as "1.5 MB"."""
    for unit, length in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if num_bytes >= length:
            return f"{num_bytes / length:.1f} {unit}"
    return f"{num_bytes} B"
