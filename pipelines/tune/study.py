"""The folder of a search or a grid, runs/tune/<name>/: its record, its data, its trials and what they ended with.

tune.json            what is tried, on which data; written once
journal.log          Optuna's record of a search
shared/<key>/        the data as it was read and split, and the tokenizer, of all trials that have the same
trials/<number>/     a run without an export, log.txt, and trial.json, which is written last
report.md, the pictures, and result.json of a study that is finished
"""

import contextlib
import dataclasses
import fcntl
import json
import pickle
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.runs import run_folder
from pipelines.settings.config import TrainingConfig, from_dict
from pipelines.settings.fields import tuned_fields
from pipelines.support.errors import UserError
from pipelines.support.files import (
    check_folder,
    folder_written_beside,
    make_folders,
    read_json,
    write_json,
    written_beside,
)
from pipelines.support.records import read_record, write_record
from pipelines.support.run_result import RunRecord
from pipelines.task import TASKS

FINISHED, PRUNED, FAILED, UNFINISHED = "finished", "pruned", "failed", "unfinished"
RECORD, RESULT = "tune.json", "result.json"
_OUTCOME, _SPLITS = "trial.json", "splits.pickle"


@dataclasses.dataclass(frozen=True)
class Study:
    """A search or a grid.

    Attributes:
        folder: its folder.
        task: name in the registry.
        config: what the user gave; not resolved.
        record: the record of the runs, with a number, a config and a time that each trial replaces.
    """

    folder: Path
    task: str
    config: TrainingConfig
    record: RunRecord

    @property
    def journal(self) -> Path:
        """Optuna's file."""
        return self.folder / "journal.log"

    @property
    def result(self) -> Path:
        """What came of the search or the grid. Its existence means that it is finished."""
        return self.folder / RESULT

    def trial(self, number: int) -> Path:
        """Returns the folder of a trial."""
        return self.folder / "trials" / f"{number:04d}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a trial ended with: trial.json.

    Attributes:
        state: FINISHED, PRUNED, FAILED or UNFINISHED; the last one is in no file.
        reason: why it failed.
        value: the lowest monitored value.
        epochs, epoch_seconds, best_epoch, training_seconds, scores, parameters, weights: as in `RunResult`.
    """

    state: str
    reason: str = ""
    value: float | None = None
    epochs: list[dict] = dataclasses.field(default_factory=list)
    epoch_seconds: list[float] = dataclasses.field(default_factory=list)
    best_epoch: int = 0
    training_seconds: float = 0.0
    scores: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    parameters: int | None = None
    weights: dict[str, list[int]] = dataclasses.field(default_factory=dict)


class Clock:
    """The time of a study over all its processes, in time.json. That since the last `save` is lost by a kill.

    Args:
        folder: of the study.
        seconds: the time that it may take; None has no limit.
    """

    def __init__(self, folder: Path, seconds: float | None):
        self._path = folder / "time.json"
        self._before = read_json(self._path)["seconds"] if self._path.exists() else 0.0
        self._started = time.time()
        self.stop_at = None if seconds is None else self._started + seconds - self._before

    @property
    def is_over(self) -> bool:
        """Whether no other trial may start."""
        return self.stop_at is not None and time.time() > self.stop_at

    def save(self) -> None:
        """Writes time.json."""
        write_json(self._path, {"seconds": round(self._before + time.time() - self._started, 1)})


def find(task: str, config: TrainingConfig, tried: dict, runs: Path, name: str | None) -> Study:
    """Returns the study of a config and of what is tried. Its folder may not exist yet.

    Args:
        config: not resolved.
        tried: JSON values that describe what is tried; the name without `name` depends on them.

    Raises:
        UserError: the data does not exist, the name cannot be a folder's, or nothing can be written to `runs`.
    """
    entry = TASKS[task]
    resolved = config.resolve()
    resolved.check()
    record = run_folder.make_record(entry, resolved)
    if name is None:
        digits = run_folder.short_hash({"run": run_folder.run_name(record, resolved), "tried": tried})
        name = f"{task}-{record.data['name']}-{digits}"
    folder = runs / "tune" / run_folder.check_name("run", name)
    check_folder(folder, "--runs")
    return Study(folder, task, config, record)


def save_or_check(study: Study, tried: dict) -> None:
    """Writes tune.json of a new study; of an existing one, checks that it tries the same on the same data.

    Raises:
        UserError: it does not, or the file is damaged.
    """
    record = study.record
    tried = json.loads(json.dumps(tried))
    values = {"task": study.task, "config": record.config, "data": record.data, "modules": record.modules, **tried}
    path = study.folder / RECORD
    if not path.exists():
        write_record(path, values)
        return
    kept = read_record(path, f"delete {study.folder} to start again, or give another --run")
    for name, value in values.items():
        if name == "config":
            defaults = json.loads(json.dumps(dataclasses.asdict(study.config.resolve().defaults())))
            changed = [field for field in value if kept[name].get(field, defaults[field]) != value[field]]
            if changed:
                raise UserError(f"{study.folder} was started with another {changed[0]}: give another --run")
        elif kept.get(name) != value:
            what = {"data": "data", "modules": "pretrained modules"}.get(name, name)
            raise UserError(f"{study.folder} was started with other {what}: give another --run")


def resolved_config(study: Study, config: TrainingConfig) -> TrainingConfig:
    """Returns the config that a trial trains with: without the baselines, which no trial needs."""
    quick = {"no_baseline": True} if hasattr(config, "no_baseline") else {}
    return dataclasses.replace(config, **quick)


def prepare_trial(study: Study, number: int, config: TrainingConfig) -> Path:
    """Makes the folder of a trial with its config.json, unless it is there; returns it. Keeps the data of the trial.

    Removes the result of the study, which is that of fewer trials: the study is unfinished until it has another one.

    Args:
        config: resolved.

    Raises:
        UserError: the data cannot be read.
    """
    folder = study.trial(number)
    config = resolved_config(study, config)
    study.result.unlink(missing_ok=True)
    keep_splits(shared_folder(study.folder, config), lambda: load_splits(study.task, config))
    if not (folder / "config.json").exists():
        make_folders(folder)
        settings = json.loads(json.dumps(dataclasses.asdict(config)))
        record = dataclasses.replace(study.record, run=secrets.token_hex(8), config=settings)
        write_record(folder / "config.json", dataclasses.asdict(record))
    return folder


def config_of(folder: Path) -> tuple[str, TrainingConfig]:
    """Returns the task and the resolved config of a trial's folder."""
    record = read_record(folder / "config.json", f"delete {folder} to train it again")
    return record["task"], from_dict(TASKS[record["task"]].config_class(), record["config"])


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Writes trial.json. Its existence means that the trial has ended: write it last."""
    write_record(folder / _OUTCOME, dataclasses.asdict(outcome))


def outcome_of(folder: Path) -> Outcome | None:
    """Returns what a trial ended with; None if it has not ended."""
    path = folder / _OUTCOME
    return Outcome(**read_record(path, f"delete {path.parent} to train it again")) if path.exists() else None


def shared_folder(study_folder: Path, config: TrainingConfig) -> Path:
    """Returns the folder of the data and the tokenizer that trials share.

    They have all settings alike except those with a range, which change neither.
    """
    own = tuned_fields(type(config))
    values = {name: value for name, value in dataclasses.asdict(config).items() if name not in own}
    return study_folder / "shared" / run_folder.short_hash(json.loads(json.dumps(values)))


def load_splits(task: str, config: TrainingConfig) -> Any:
    """Returns `Task.load` of a config without the test set, which no trial may see.

    Raises:
        UserError: the data cannot be read.
    """
    splits = TASKS[task].load(config)
    return dataclasses.replace(splits, test=None) if hasattr(splits, "test") else splits


def keep_splits(folder: Path, load: Callable[[], Any]) -> None:
    """Keeps the splits that trials share, unless they are kept already: no trial needs the files of the data.

    Args:
        folder: of `shared_folder`.
        load: as `load_splits`.
    """
    path = folder / _SPLITS
    with exclusive(folder):
        if not path.exists():
            with written_beside(path, "wb") as file:
                pickle.dump(load(), file)


def shared_splits(folder: Path) -> Any:
    """Returns the splits that `keep_splits` has kept."""
    with open(folder / _SPLITS, "rb") as file:
        return _Unpickler(file).load()


class _Unpickler(pickle.Unpickler):
    """Reads also what an installed Unroll has written in a checkout, and the other way round."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Returns a class of this code for one of `pipelines` or `unroll.pipelines`."""
        name = module_name.removeprefix("unroll.")
        if name.startswith("pipelines."):
            module_name = __name__.removesuffix("pipelines.tune.study") + name
        return super().find_class(module_name, global_name)


@contextlib.contextmanager
def exclusive(folder: Path):
    """Holds the lock of a shared folder; waits for another process that has it."""
    make_folders(folder)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove_checkpoints(folder: Path) -> None:
    """Removes the weights of a trial that is not the best: large files that nothing reads any more."""
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def promote(study: Study, number: int, config: TrainingConfig, runs: Path) -> Path:
    """Makes a trial a run: copies its folder to the place where `train` with its settings looks for it.

    Args:
        config: resolved.

    Returns:
        The run's folder. An existing one is left as it is.
    """
    trial = study.trial(number)
    record = dataclasses.replace(study.record, config=json.loads(json.dumps(dataclasses.asdict(config))))
    folder = runs / study.task / run_folder.run_name(record, config)
    if not folder.exists() and (trial / "checkpoints" / "last.npz").exists():
        shared = shared_folder(study.folder, resolved_config(study, config))
        with folder_written_beside(folder) as part:
            shutil.copytree(trial, part, ignore=shutil.ignore_patterns(_OUTCOME, "log.txt"), dirs_exist_ok=True)
            shutil.copytree(shared / "tokenizer", part / "tokenizer")
    return folder
