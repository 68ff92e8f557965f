"""Trainings in processes of their own, which kill themselves with SIGKILL, and their outcomes."""

import os
import signal
import sys

import numpy as np

import main
from pipelines.training import checkpoints, fit
from tests.forked import Forked


def start(arguments, kind="never", count=0, whole=False) -> Forked:
    """Starts `main.py ARGUMENTS`, which kills itself.

    Args:
        kind: `step`: after `count` steps; `write`: in the middle of writing checkpoint number `count`.
        whole: whether what follows the training is done, too.
    """
    return Forked(_train, kind, count, whole, [str(argument) for argument in arguments])


def _train(kind, count, whole, arguments):
    if not whole:
        fit.restore_best = lambda *arguments: sys.exit(0)  # what follows the training has its own tests
    done = 0

    def is_last():
        nonlocal done
        done += 1
        return done == count

    if kind == "step":
        end_step = fit._Saver.on_train_batch_end

        def on_train_batch_end(self, *arguments, **keywords):
            end_step(self, *arguments, **keywords)
            if is_last():
                os.kill(os.getpid(), signal.SIGKILL)

        fit._Saver.on_train_batch_end = on_train_batch_end
    elif kind == "write":
        write = checkpoints.np.savez

        def savez(file, **arrays):
            if is_last():
                file.write(b"half a checkpoint")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            return write(file, **arrays)

        checkpoints.np.savez = savez
    return main.main(arguments)


def outcome(folder):
    """Returns (the arrays of the checkpoints, metrics.csv) of a training."""
    (run,) = folder.glob("runs/*/r")
    arrays = {}
    for name in ("last", "best"):
        with np.load(run / "checkpoints" / f"{name}.npz") as saved:
            arrays |= {f"{name}/{key}": saved[key] for key in saved.files if key != "position"}
    return arrays, (run / "metrics.csv").read_text()


def assert_equal_outcomes(first, second):
    assert first[1] == second[1]
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        assert array.dtype == second[0][name].dtype
        assert array.tobytes() == second[0][name].tobytes(), name
