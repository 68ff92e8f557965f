"""Trains as `python main.py train` does, and writes the loss of every step. A test starts it once for each worker.

Arguments: a JSON object with `trainings`: a list of objects with task, settings (fields of the config), runs,
saved_models, run, and losses: the file to write. The same processes train them one after the other. `kill_at` is the
step, counted in this process, before which worker `victim` kills itself; `stop_at` that before which it sends itself
SIGTERM. With `only_train` nothing is measured and exported.
"""

import contextlib
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

from pipelines.distributed import tf_config
from pipelines.support.errors import UserError
from pipelines.task import TASKS


def main(arguments: dict) -> int:
    part = tf_config.part()
    recorder = _record_losses(arguments, part.index)
    with contextlib.ExitStack() as stack:
        if part.count > 1:
            _join_once(stack)
        for training in arguments["trainings"]:
            recorder.path = Path(training["losses"])
            try:
                _train(training, part)
            except _Trained:
                pass
            except UserError as error:
                print(f"error: {error}", file=sys.stderr)
                return 2
            except KeyboardInterrupt:
                print("interrupted", file=sys.stderr)
                return 130
    return 0


def _train(training: dict, part) -> None:
    from pipelines.distributed import worker
    from pipelines.runs import run

    entry = TASKS[training["task"]]
    default = dataclasses.replace(entry.command().Train().config, **entry.defaults)
    config = dataclasses.replace(default, **training["settings"]).resolve()
    destination = run.Destination(Path(training["runs"]), Path(training["saved_models"]), training["run"], verify=False)
    if part.count > 1:
        worker.train(training["task"], config, destination, part)
    else:
        run.train(training["task"], config, destination)


def _join_once(stack: contextlib.ExitStack) -> None:
    """Makes all trainings use the group that the first one joins: a process can join a group once."""
    from pipelines.distributed import worker
    from pipelines.training import group

    def joined(part):
        if group.current().part.count == 1:
            stack.enter_context(group.joined(part))
        return contextlib.nullcontext()

    worker._joined = joined


class _Trained(Exception):
    """The training is finished, and the rest of the run is not of interest."""


def _record_losses(arguments: dict, index: int):
    """Makes `fit` write the loss of each step; the losses of steps that are repeated after a restart are replaced.

    Returns the class that does, whose attribute `path` is the file.
    """
    from pipelines.support.quiet import capture_stderr_descriptor

    os.environ["KERAS_BACKEND"] = "tensorflow"
    with capture_stderr_descriptor():
        from pipelines.training import fit

    if arguments.get("only_train"):

        def end_run(model, folder):
            raise _Trained

        fit.restore_best = end_run
    is_victim = arguments.get("victim", 0) == index
    done = 0

    class Recorder(fit._Saver):
        def _loss_variables(self):
            return next(metric for metric in self.model.metrics if metric.name == "loss").variables

        def on_train_batch_begin(self, batch, logs=None):
            nonlocal done
            if is_victim and done == arguments.get("kill_at"):
                os.kill(os.getpid(), signal.SIGKILL)
            if is_victim and done == arguments.get("stop_at"):
                os.kill(os.getpid(), signal.SIGTERM)
            done += 1
            super().on_train_batch_begin(batch, logs)
            self._before = [float(variable) for variable in self._loss_variables()]
            for variable in self._loss_variables():  # so that the loss of the step is not rounded to the epoch's sum
                variable.assign(0.0)

        def on_train_batch_end(self, batch, logs=None):
            total, count = (float(variable) for variable in self._loss_variables())
            for variable, before in zip(self._loss_variables(), self._before):
                variable.assign_add(before)
            if index == 0:
                losses = json.loads(self.path.read_text()) if self.path.exists() else []
                first = self._position.epoch * self._steps + self._position.step
                self.path.write_text(json.dumps([*losses[:first], total / count]))
            super().on_train_batch_end(batch, logs)

    fit._Saver = Recorder
    return Recorder


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
