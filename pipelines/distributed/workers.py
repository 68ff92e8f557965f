"""`train --workers N [--ray ADDRESS|local]`: the workers of one training, which Ray places and watches.

The workers are those of `worker.py`. If one is lost, Ray ends the others, and all are started again, as many as the
cluster then has room for; the chief continues from its last checkpoint. The files of the run are the chief's, so what
is lost with a worker is the time since that checkpoint.
"""

import contextlib
import dataclasses
import os
import shutil
import threading
import time
import traceback
from pathlib import Path

from pipelines.distributed import cluster, worker
from pipelines.runs import run, run_folder
from pipelines.support import console, machine
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders
from pipelines.support.quiet import import_tensorflow
from pipelines.support.run_result import RunResult
from pipelines.task import TASKS

_MAX_FAILURES = 3  # losses of a worker in one training after which it ends; the same command then continues
_RELEASE_SECONDS = 15  # in which processors of workers that have ended are free again
_POLL = 0.5  # seconds


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
    if address == cluster.LOCAL:
        cluster.check_local_processes("--workers", num_workers)
    config.check()
    worker.check(config, num_workers)
    destination = dataclasses.replace(
        destination, runs=destination.runs.resolve(), saved_models=destination.saved_models.resolve()
    )
    _, folder = run_folder.find(TASKS[task_name], config, destination.runs, destination.run)
    if result := run_folder.finished_result(folder):
        return result
    cores = machine.processor()["cores"]
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

    resources = ray.cluster_resources()
    kind = "GPU" if resources.get("GPU", 0) >= num_workers else "CPU"
    if resources.get(kind, 0) < num_workers:
        raise UserError(
            f"--workers {num_workers}: the cluster {address} has {resources.get(kind, 0):.0f} processors: give fewer "
            "workers, or add machines"
        )
    if needs_gpus:
        _check_gpus(num_workers, int(resources.get("GPU", 0)))
    # On this machine, so that it is not lost with another one.
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    board = ray.remote(num_cpus=0, label_selector=here)(Board).remote()
    arguments = {"training": training, "board": board, "folder": os.getcwd(), "versions": cluster.versions()}
    failures, bugs = [], []

    def train_until_finished():
        try:
            while len(failures) <= _MAX_FAILURES and (count := _wait_for_room(kind, num_workers, board)):
                failure = _failure_of_workers(arguments, count, kind, storage)
                if failure is None or ray.get(board.end.remote()):
                    return
                failures.append(failure)
                if len(failures) <= _MAX_FAILURES:
                    ray.get(board.say.remote(f"{failure}: starting all workers again from the last checkpoint"))
        except Exception as error:
            bugs.append(error)

    # In a thread, because in the main thread Ray would answer Ctrl-C by killing the workers.
    thread = threading.Thread(target=train_until_finished, daemon=True)
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
    if bugs:
        raise bugs[0]
    end, text = ray.get(board.end.remote()) or (None, None)
    if end == "interrupted":
        raise KeyboardInterrupt
    if end == "error":
        raise UserError(text)
    if end == "bug":
        raise RuntimeError(f"a worker failed:\n{text}")
    if len(failures) > _MAX_FAILURES:
        raise UserError(
            f"the workers failed {len(failures)} times, the last time: {failures[-1]}. The same command continues from "
            "the last checkpoint"
        )


def _check_gpus(wanted: int, found: int) -> None:
    if found < wanted:
        raise UserError(f"--gpus {wanted}: Ray finds {found}: does CUDA_VISIBLE_DEVICES hide the others?")


def _wait_for_room(kind: str, num_workers: int, board) -> int:
    """Waits until the cluster has room for a worker.

    Args:
        kind: what a worker needs one of: "CPU" or "GPU".

    Returns:
        How many workers to start: at most `num_workers`; 0 if a stop is requested.
    """
    import ray

    released = time.monotonic() + _RELEASE_SECONDS
    is_said = False
    while not ray.get(board.is_stopped.remote()):
        # If other programs use the cluster, it has less room than processors.
        free, total = (
            min(num_workers, int(resources.get(kind, 0)))
            for resources in (ray.available_resources(), ray.cluster_resources())
        )
        is_late = time.monotonic() > released
        if free and (free >= total or is_late):
            if free < num_workers:
                room = f"the cluster has room for {free} of {num_workers} workers"
                ray.get(board.say.remote(f"{room}: training with {free}"))
            return free
        if is_late and not is_said:
            is_said = True
            ray.get(board.say.remote("the cluster has no room for a worker: waiting"))
        time.sleep(_POLL)
    ray.get(board.set_end.remote("interrupted"))
    return 0


def _failure_of_workers(arguments: dict, num_workers: int, kind: str, storage: Path) -> str | None:
    """Starts workers and waits until they have ended.

    Args:
        arguments: of `_work`.

    Returns:
        Why they failed; None if they did not.
    """
    import ray.exceptions
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    trainer = TensorflowTrainer(
        _work,
        train_loop_config=arguments,
        # Workers on different machines, if there are enough: each then has the processors of a machine.
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=kind == "GPU", placement_strategy="SPREAD"),
        # Ray would start the same number of workers again, whether or not there is room for them.
        run_config=RunConfig(
            name="workers",
            storage_path=str(storage),
            failure_config=FailureConfig(max_failures=0, controller_failure_limit=0, max_preemption_failures=0),
        ),
    )
    try:
        trainer.fit()
    except ray.train.WorkerGroupError as error:
        return f"lost {_lost(error.worker_failures)}"
    except (ray.train.TrainingFailedError, ray.exceptions.RayError) as error:
        return f"the workers ended ({_last_line(error)})"
    return None


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
    try:
        with contextlib.suppress(OSError):
            os.chdir(arguments["folder"])  # relative paths are those of the command
        if reason := cluster.difference(arguments["versions"]):
            raise UserError(reason)
        _use_processors()
        with console.forwarded(lambda message: ray.get(board.say.remote(message))), _stopped_by(board):
            worker.train(*arguments["training"], part)
    except UserError as error:
        if error.__cause__ is not None and worker.is_loss(error.__cause__):
            raise error.__cause__ from None  # the workers are started again
        ray.get(board.set_end.remote("error", str(error)))
        raise  # so that Ray ends the others, which may wait for this one
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
    if not lines:
        return type(error).__name__
    if "is temporarily unavailable" in lines[-1]:
        return "its machine does not answer"
    return lines[-1].partition(". Worker exit type")[0].partition(". Some common")[0]
