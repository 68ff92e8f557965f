"""The searches and grids on this machine: the folders runs/tune/<name>, and what their records state."""

from pathlib import Path
from typing import NamedTuple

from pipelines.runs.inventory import is_locked, main_score
from pipelines.support.errors import UserError
from pipelines.support.records import read_record
from pipelines.tune import study as studies
from pipelines.tune.study import FINISHED, Outcome


class KeptSearch(NamedTuple):
    """A folder runs/tune/<name> of a search or a grid.

    Attributes:
        name: its name.
        path: the folder.
        record: tune.json; {} if it is damaged.
        trials: number of trials that have ended.
        best: measure and score of the trial with the lowest value; None if no trial is finished.
        state: "finished", "unfinished", "training" (a process holds its lock, or that of a trial) or "damaged".
    """

    name: str
    path: Path
    record: dict
    trials: int
    best: tuple[str, float] | None
    state: str

    @property
    def title(self) -> str:
        """Its place below the folder of the runs, such as "tune/sentiment-reviews-0123abcd"."""
        return f"tune/{self.name}"


def all_searches(root: Path) -> list[KeptSearch]:
    """Returns all searches and grids in the folder `root` of the runs, the newest first."""
    records = [path for path in root.glob(f"tune/*/{studies.RECORD}") if not path.parent.name.startswith(".")]
    records.sort(key=lambda path: (-path.stat().st_mtime, path.parent.name))
    return [read_search(path.parent) for path in records]


def read_search(folder: Path) -> KeptSearch:
    """Reads the records of a search's folder. A damaged record is a state, not an error."""
    trials = sorted(folder.glob("trials/*"))
    try:
        record = read_record(folder / studies.RECORD, "")
        outcomes = [outcome for trial in trials if (outcome := studies.outcome_of(trial))]
    except (OSError, UserError, ValueError):
        return KeptSearch(folder.name, folder, {}, 0, None, "damaged")
    if any(map(is_locked, [folder, *trials])):
        state = "training"
    else:
        state = "finished" if (folder / studies.RESULT).exists() else "unfinished"
    return KeptSearch(folder.name, folder, record, len(outcomes), _best(outcomes, record.get("task")), state)


def _best(outcomes: list[Outcome], task: str | None) -> tuple[str, float] | None:
    finished = [outcome for outcome in outcomes if outcome.state == FINISHED and outcome.value is not None]
    best = min(finished, key=lambda outcome: outcome.value, default=None)
    return best and main_score(best.scores, task)
