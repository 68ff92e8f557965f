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

    class Recorder(fit._Progress):
        def __init__(self, plan, position):
            super().__init__(plan, position)
            self._first = position.epoch * plan.steps + position.step
            self._epoch_losses = []

        def on_train_batch_begin(self, batch, logs=None):
            nonlocal done
            if is_victim and done == arguments.get("kill_at"):
                os.kill(os.getpid(), signal.SIGKILL)
            if is_victim and done == arguments.get("stop_at"):
                os.kill(os.getpid(), signal.SIGTERM)
            done += 1
            tracker = next(metric for metric in self.model.metrics if metric.name == "loss")
            self._before = float(tracker.total), float(tracker.count)

        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, logs)
            tracker = next(metric for metric in self.model.metrics if metric.name == "loss")
            total, count = float(tracker.total) - self._before[0], float(tracker.count) - self._before[1]
            self._epoch_losses.append(total / count)
            if index == 0:
                path = Path(arguments["losses"])
                losses = json.loads(path.read_text()) if path.exists() else []
                first = self._first + len(self._epoch_losses) - 1
                path.write_text(json.dumps([*losses[:first], self._epoch_losses[-1]]))

    fit._Progress = Recorder


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
