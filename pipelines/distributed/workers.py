"""`train --workers N [--ray ADDRESS|local]`: the workers of one training, which Ray places, watches and starts again.

The workers are those of `worker.py`. If one is lost, Ray ends the others and starts all again, on the machines that it
then has; the chief continues from its last checkpoint. The files of the run are the chief's, so what is lost with a
worker is the time since that checkpoint.
"""

import contextlib
import dataclasses
import os
import shutil
import threading
import time
import traceback
from pathlib import Path

from pipelines import run, run_folder
from pipelines.data.part import Part
from pipelines.distributed import cluster, worker
from pipelines.support import console, machine
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders
from pipelines.support.quiet import import_tensorflow
from pipelines.support.run_result import RunResult
from pipelines.task import TASKS

_MAX_FAILURES = 3  # losses of a worker in one training after which it ends; the same command then continues
_POLL = 0.5  # seconds
_MAX_PER_PROCESSOR = 2  # workers on this machine


def train(
    task_name: str,
    config,
    destination: run.Destination,
    num_workers: int,
    address: str = cluster.LOCAL,
    needs_gpus: bool = False,
) -> RunResult:
    """Trains on `num_workers` workers of a Ray cluster; see `run.train`.

    Args:
        address: see `cluster.check`.
        needs_gpus: refuse a cluster with fewer GPUs than workers; without it, the workers then have none.

    Raises:
        UserError: also if the cluster cannot be used or is too small, or workers were lost too often.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the checkpoint is saved.
    """
    if num_workers < 1:
        raise UserError(f"--workers {num_workers}: give a number of at least 1")
    cores = machine.processor()["cores"]
    if address == cluster.LOCAL and num_workers > _MAX_PER_PROCESSOR * cores:
        raise UserError(
            f"--workers {num_workers}: this machine has {cores} processors: give at most "
            f"{_MAX_PER_PROCESSOR * cores}, or the --ray ADDRESS of a cluster"
        )
    config.check()
    worker.check(config, num_workers)
    destination = dataclasses.replace(
        destination, runs=destination.runs.resolve(), saved_models=destination.saved_models.resolve()
    )
    _, folder = run_folder.find(TASKS[task_name], config, destination.runs, destination.run)
    if result := run_folder.finished_result(folder):
        return result
    with cluster.connected(address, max(cores, num_workers) if address == cluster.LOCAL else None):
        storage = destination.runs / f".ray-{os.getpid()}"
        make_folders(storage)
        try:
            _train_on_cluster((task_name, config, destination), num_workers, address, storage, needs_gpus)
        finally:
            shutil.rmtree(storage, ignore_errors=True)
    return run_folder.finished_result(folder)


def train_on_gpus(task_name: str, config, destination: run.Destination, num_gpus: int) -> RunResult:
    """Trains on GPUs of this machine, with a worker for each; see `train`.

    Raises:
        UserError: also if this machine has fewer GPUs.
    """
    found = len(machine.gpus())
    if not 1 <= num_gpus <= found:
        remedy = f"give a number from 1 to {found}" if found else "leave out --gpus"
        raise UserError(f"--gpus {num_gpus}: nvidia-smi lists {found} GPUs on this machine: {remedy}")
    return train(task_name, config, destination, num_gpus, needs_gpus=True)


def _train_on_cluster(training: tuple, num_workers: int, address: str, storage: Path, needs_gpus: bool) -> None:
    import_tensorflow()  # Ray would import it with its messages
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    resources = ray.cluster_resources()
    if resources.get("CPU", 0) < num_workers:
        raise UserError(
            f"--workers {num_workers}: the cluster {address} has {resources.get('CPU', 0):.0f} processors: give fewer "
            "workers, or add machines"
        )
    num_gpus = int(resources.get("GPU", 0))
    if needs_gpus:
        _check_gpus(num_workers, num_gpus)
    board = ray.remote(num_cpus=0)(Board).remote()
    arguments = {"training": training, "board": board, "folder": os.getcwd(), "versions": cluster.versions()}
    trainer = TensorflowTrainer(
        _work,
        train_loop_config=arguments,
        # Workers on different machines, if there are enough: each then has the processors of a machine.
        scaling_config=ScalingConfig(
            num_workers=num_workers, use_gpu=num_gpus >= num_workers, placement_strategy="SPREAD"
        ),
        run_config=RunConfig(
            name="workers",
            storage_path=str(storage),
            failure_config=FailureConfig(max_failures=_MAX_FAILURES),
            callbacks=[_losses_to(board)],
        ),
    )
    outcome = {}

    def fit():
        try:
            trainer.fit()
        except ray.train.TrainingFailedError as error:
            outcome["error"] = error

    # In a thread, because in the main thread Ray would answer Ctrl-C by killing the workers.
    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    stopping = False
    while True:
        try:
            is_alive = thread.is_alive()
            for message in ray.get(board.take.remote()):
                console.say(message)
            if not is_alive:
                break
            time.sleep(_POLL)
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            console.say("stopping after this step ...")
            board.stop.remote()
    kind, text = ray.get(board.end.remote()) or (None, None)
    if kind == "interrupted":
        raise KeyboardInterrupt
    if kind == "error":
        raise UserError(text)
    if kind == "bug":
        raise RuntimeError(f"a worker failed:\n{text}")
    if "error" in outcome:
        raise UserError(
            f"the workers failed {_MAX_FAILURES + 1} times, the last time with: {_last_line(outcome['error'])}. The "
            "same command continues from the last checkpoint"
        )


def _check_gpus(wanted: int, found: int) -> None:
    if found < wanted:
        raise UserError(f"--gpus {wanted}: Ray finds {found}: does CUDA_VISIBLE_DEVICES hide the others?")


class Board:
    """What the workers report to the command, and the command's request to stop: an actor of Ray."""

    def __init__(self):
        self._messages, self._end, self._is_stopped = [], None, False

    def say(self, message: str) -> None:
        """Keeps a line for the terminal."""
        self._messages.append(message)

    def take(self) -> list[str]:
        """Returns the lines since the last call."""
        messages, self._messages = self._messages, []
        return messages

    def stop(self) -> None:
        """Requests a stop after the current step."""
        self._is_stopped = True

    def is_stopped(self) -> bool:
        """Whether a stop is requested."""
        return self._is_stopped

    def set_end(self, kind: str, text: str = "") -> None:
        """Records how the training ended for the first worker that reports it.

        Args:
            kind: "interrupted"; "error", with the text of a UserError; or "bug", with the traceback.
        """
        self._end = self._end or (kind, text)

    def end(self) -> tuple[str, str] | None:
        """Returns what `set_end` recorded; None if the training was finished, or a worker was lost."""
        return self._end


def _work(arguments: dict) -> None:
    """One worker, in a process of Ray; TF_CONFIG is set."""
    import ray

    from pipelines.distributed import tf_config

    board = arguments["board"]
    part = tf_config.part()
    if ray.get(board.end.remote()):
        return  # Ray starts the workers again also after an error that would come again
    try:
        with contextlib.suppress(OSError):
            os.chdir(arguments["folder"])  # relative paths are those of the command
        if cluster.versions() != arguments["versions"]:
            raise UserError(_difference(arguments["versions"], part))
        _use_processors()
        with console.forwarded(lambda message: ray.get(board.say.remote(message))), _stopped_by(board):
            worker.train(*arguments["training"], part)
    except UserError as error:
        if error.__cause__ is not None and worker.is_loss(error.__cause__):
            raise error.__cause__ from None  # Ray starts the workers again
        ray.get(board.set_end.remote("error", str(error)))
    except KeyboardInterrupt:
        ray.get(board.set_end.remote("interrupted"))
    except Exception:
        ray.get(board.set_end.remote("bug", traceback.format_exc()))
        raise


def _use_processors() -> None:
    """Divides the processors of this machine among the workers that it has."""
    from ray import train

    threads = max(1, machine.processor()["cores"] // train.get_context().get_local_world_size())
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
    # Ray sets it for Keras 2. We import Keras 3 itself, and no module here may load the other one.
    os.environ.pop("TF_USE_LEGACY_KERAS", None)


@contextlib.contextmanager
def _stopped_by(board):
    """Stops the training of this process when the command requests it; a process of Ray gets no Ctrl-C."""
    import ray

    ended = threading.Event()

    def watch():
        from pipelines.training import fit

        while not ended.wait(_POLL):
            if ray.get(board.is_stopped.remote()):
                fit.request_stop()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _difference(expected: dict, part: Part) -> str:
    found = cluster.versions()
    name = next(name for name in {**expected, **found} if expected.get(name) != found.get(name))
    return (
        f"the machine of worker {part.index} has {name} {found.get(name, 'not installed')}, this one "
        f"{expected.get(name, 'not installed')}: install the same versions"
    )


def _losses_to(board):
    """Returns a callback for Ray's controller that says on the terminal which workers were lost."""
    import ray
    from ray.train import UserCallback

    class Losses(UserCallback):
        def after_exception(self, run_context, worker_exceptions):
            if ray.get(board.end.remote()):
                return
            lost = _lost(worker_exceptions)
            ray.get(board.say.remote(f"lost {lost}: starting all workers again from the last checkpoint"))

    return Losses()


def _lost(errors: dict[int, BaseException]) -> str:
    """Returns the workers that were lost, each with its reason.

    The collective operations of the others fail because of these.

    Args:
        errors: number of a worker -> its error.
    """
    lines = {rank: _last_line(error) for rank, error in errors.items()}
    first = {rank: line for rank, line in lines.items() if "ollective" not in line}
    return ", ".join(f"worker {rank} ({line})" for rank, line in (first or lines).items())


def _last_line(error: BaseException) -> str:
    """Returns the last line of an error, or its first sentence where that says that the process has died."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].partition(". Worker exit type")[0].partition(". Some common")[0] if lines else type(error).__name__
