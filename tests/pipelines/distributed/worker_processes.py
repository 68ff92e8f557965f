"""Workers as processes on this machine, each with its TF_CONFIG."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pipelines.distributed import worker_program

ROOT = Path(__file__).resolve().parents[3]


def free_ports(count: int) -> list[int]:
    """Returns free ports that no client gets meanwhile: the system gives clients ports above 32,767."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind(("127.0.0.1", port))
            ports += [port] if port not in ports else []
    return ports


def environments(num_workers: int) -> list[dict[str, str]]:
    """Returns the environment of each worker; of one worker without TF_CONFIG."""
    base = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    base |= {"PYTHONPATH": str(ROOT), "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
    if num_workers == 1:
        return [base]
    addresses = [f"127.0.0.1:{port}" for port in free_ports(num_workers)]
    return [
        base | {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})}
        for i in range(num_workers)
    ]


def start(folder: Path, trainings: dict[str, tuple[str, dict]], num_workers: int, **options) -> list[subprocess.Popen]:
    """Starts workers that train one after the other: name -> (task, settings), each in `folder`/name.

    See worker_program.py for the options.
    """
    return [start_one(folder, trainings, environment, **options) for environment in environments(num_workers)]


def start_one(folder: Path, trainings: dict[str, tuple[str, dict]], environment: dict, **options) -> subprocess.Popen:
    """Starts one worker."""
    command = [sys.executable, worker_program.__file__, json.dumps(_arguments(folder, trainings, **options))]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def _arguments(folder: Path, trainings: dict[str, tuple[str, dict]], **options) -> dict:
    """Returns the arguments of worker_program.py."""
    return {
        "trainings": [
            {
                "task": task,
                "settings": settings,
                "runs": str(folder / name / "runs"),
                "saved_models": str(folder / name / "saved_models"),
                "run": "r",
                "losses": str(folder / name / "losses.json"),
            }
            for name, (task, settings) in trainings.items()
        ],
        **options,
    }


def train_here(folder: Path, trainings: dict[str, tuple[str, dict]]) -> None:
    """Does in this process, without TF_CONFIG, what a single worker does with `only_train`."""
    from pipelines.training import fit

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TF_CONFIG", raising=False)
        for name in ("_Saver", "restore_best"):  # the program replaces them
            patch.setattr(fit, name, getattr(fit, name))
        assert worker_program.main(_arguments(folder, trainings, only_train=True)) == 0


def end(processes: list[subprocess.Popen]) -> list[tuple[int, str]]:
    """Waits for the workers; returns exit status and stderr of each.

    Those that still run two minutes after the first has ended are killed: a test shall show why that one ended.
    """
    ended: list[subprocess.Popen] = []
    deadline = time.monotonic() + 600
    while len(ended) < len(processes) and time.monotonic() < deadline:
        for process in processes:
            if process not in ended:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=1)  # it also reads: a worker waits while the pipe of its stderr is full
                    ended.append(process)
                    deadline = min(deadline, time.monotonic() + 120)
    for process in processes:
        process.kill()
    return [(process.wait(), text) for process in processes for text in [process.communicate()[1]]]


def losses(folder: Path) -> list[float]:
    """Returns the loss of every step of a training in a folder."""
    return json.loads((folder / "losses.json").read_text())
