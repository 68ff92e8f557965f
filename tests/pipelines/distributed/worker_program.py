"""Trains as `python main.py train` does, and writes the loss of every step. A test starts it once for each worker.

Arguments: a JSON object with task, settings (fields of the config), runs, saved_models, run, and losses: the file to
write. `kill_at` is the step, counted in this process, before which worker `victim` kills itself; `stop_at` that before
which it sends itself SIGTERM. With `only_train` nothing is measured and exported.
"""

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
    _record_losses(arguments, part.index)
    entry = TASKS[arguments["task"]]
    default = dataclasses.replace(entry.command().Train().config, **entry.defaults)
    config = dataclasses.replace(default, **arguments["settings"]).resolve()
    from pipelines import run
    from pipelines.distributed import worker

    destination = run.Destination(
        Path(arguments["runs"]), Path(arguments["saved_models"]), arguments["run"], verify=False
    )
    try:
        if part.count > 1:
            worker.train(arguments["task"], config, destination, part)
        else:
            run.train(arguments["task"], config, destination)
    except _Trained:
        pass
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


class _Trained(Exception):
    """The training is finished, and the rest of the run is not of interest."""


def _record_losses(arguments: dict, index: int) -> None:
    """Makes `fit` write the loss of each step; the losses of steps that are repeated after a restart are replaced."""
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
                path = Path(arguments["losses"])
                losses = json.loads(path.read_text()) if path.exists() else []
                first = self._position.epoch * self._steps + self._position.step
                path.write_text(json.dumps([*losses[:first], total / count]))
            super().on_train_batch_end(batch, logs)

    fit._Saver = Recorder


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
