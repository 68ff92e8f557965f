"""One trial: a training without an export, in a process of its own: `python -m pipelines.tune.trial SPEC`.

It continues where a killed process of the same trial stopped, and ends with the same bits.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.tune import study as studies
from pipelines.tune.study import FAILED, FINISHED, PRUNED, UNFINISHED, Outcome

if TYPE_CHECKING:
    from pipelines.training.checkpoints import Position

_LOCK_SECONDS = 120  # to wait for a process of the same trial that is stopping


@dataclasses.dataclass(frozen=True)
class Spec:
    """What a process needs to know of its trial.

    Attributes:
        study: folder of the study.
        number: number of the trial.
        trial_id: Optuna's number of the trial, to report its epochs; None reports nothing, and the trial is not pruned.
        prune: whether the trial may be pruned.
        stop_at: time.time() after which it stops at the end of an epoch; None never.
    """

    study: str
    number: int
    trial_id: int | None = None
    prune: bool = False
    stop_at: float | None = None

    @property
    def folder(self) -> Path:
        """The folder of the trial."""
        return Path(self.study) / "trials" / f"{self.number:04d}"


class _Stop(Exception):
    """Ends a training after an epoch."""


def run(spec: Spec) -> Outcome:
    """Trains the trial to its end, or until it is pruned or its time is over, and writes trial.json.

    Raises:
        KeyboardInterrupt: SIGINT or SIGTERM; the checkpoint is saved.
    """
    folder = spec.folder
    if not folder.is_dir():
        raise UserError(f"{folder} is not on this machine: give --runs on a file system that all machines share")
    with _locked(folder):
        outcome = studies.outcome_of(folder)
        if outcome is None:
            try:
                outcome = _train(spec, folder)
            except UserError as error:
                outcome = Outcome(FAILED, reason=str(error))
            if outcome.state != UNFINISHED:
                studies.write_outcome(folder, outcome)
                outcome = studies.outcome_of(folder)  # lists, not tuples, as every later reader gets it
    return outcome


def _train(spec: Spec, folder: Path) -> Outcome:
    from pipelines.runs import fitting
    from pipelines.support.quiet import import_tensorflow
    from pipelines.task import TASKS

    task_name, config = studies.config_of(folder)
    shared = studies.shared_folder(Path(spec.study), config)
    splits = studies.shared_splits(shared)
    import_tensorflow(config.parallel_ops())
    task = TASKS[task_name].task()
    with studies.exclusive(shared):
        fitting.save_tokenizer(task, config, splits, shared)
    stopped = Outcome(UNFINISHED)
    should_prune = _reporter(spec) if spec.trial_id is not None else lambda epoch, value: False

    def on_epoch_end(position: "Position", value: float) -> None:
        nonlocal stopped
        is_worse = should_prune(position.epoch, value)
        if position.finished:
            return
        if is_worse:
            stopped = Outcome(
                PRUNED,
                value=position.best_value if position.best_epoch >= 0 else None,  # None: it was never a number
                epochs=position.rows,
                epoch_seconds=position.epoch_seconds,
                best_epoch=position.best_epoch + 1,
                training_seconds=round(position.seconds, 1),
            )
            raise _Stop
        if spec.stop_at is not None and time.time() > spec.stop_at:
            raise _Stop

    try:
        trained = fitting.fit_with_tokenizer(task, config, splits, shared, folder, on_epoch_end=on_epoch_end)
    except _Stop:
        return stopped
    position = trained.position
    return Outcome(
        FINISHED,
        value=position.best_value,
        epochs=position.rows,
        epoch_seconds=position.epoch_seconds,
        best_epoch=position.best_epoch + 1,
        training_seconds=round(position.seconds, 1),
        scores=trained.scores,
        parameters=trained.parameters,
        weights=trained.weights,
    )


def _reporter(spec: Spec) -> Callable[[int, float], bool]:
    """Returns a function that reports the value of an epoch to Optuna, and returns whether to prune the trial."""
    import optuna

    from pipelines.tune import search

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    trial = optuna.trial.Trial(search.load_study(Path(spec.study) / "journal.log"), spec.trial_id)

    def report(epoch: int, value: float) -> bool:
        trial.report(value, epoch)
        return spec.prune and trial.should_prune()

    return report


@contextlib.contextmanager
def _locked(folder: Path):
    """Holds the lock of the trial's run. A process that has it belongs to a search that was killed, and is stopping."""
    waiting_until = time.monotonic() + _LOCK_SECONDS
    with open(folder / "lock", "w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > waiting_until:
                    raise UserError(f"{folder} is being trained by another process: end it") from error
                time.sleep(0.2)
        yield


def stop_with_parent() -> None:
    """Stops this process as Ctrl-C does when the other end of its stdin is closed: its parent stops it, or has died."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Runs the trial whose Spec is the argument, in JSON. The exit status is 0 if it ended or its time is over."""
    stop_with_parent()
    try:
        outcome = run(Spec(**json.loads(sys.argv[1])))
    except UserError as error:
        console.say(f"error: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    console.say(f"{outcome.state} {outcome.reason}".rstrip())


if __name__ == "__main__":
    main()
