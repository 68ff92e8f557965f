"""`train --workers` and `--gpus` on a cluster that it starts on this machine: Ctrl-C, another number of workers."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import util
from types import SimpleNamespace

import pytest

import main
from pipelines.distributed import workers
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs.run import Destination
from pipelines.support.errors import UserError
from tests.command_line import ROOT, train_here
from tests.pipelines.distributed import small_data


def command(folder, data, *flags):
    settings = {
        "model": "lstm", "preset": "quick", "batch-size": 8, "window": 16, "hidden-size": 16, "vocabulary-size": 60,
        "epochs": 3, "dropout": 0, "precision": "float32", "checkpoint-every": 10,
    }  # fmt: skip
    arguments = ["--data", data, "--run", "r", "--runs", folder / "runs", "--saved-models", folder / "saved_models"]
    arguments += [each for name, value in settings.items() for each in (f"--{name}", value)]
    return [sys.executable, "main.py", "train", "language-model", *map(str, arguments), *flags]


def test_the_number_of_workers_is_positive(tmp_path):
    with pytest.raises(UserError, match="--workers 0"):
        workers.train("language-model", LanguageModelConfig().resolve(), Destination(tmp_path, tmp_path), 0)


def test_too_many_workers_for_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(workers.machine, "processor", lambda: {"cores": 3})
    with pytest.raises(UserError, match="--workers 7: this machine has 3 processors: give at most 6"):
        workers.train("language-model", LanguageModelConfig().resolve(), Destination(tmp_path, tmp_path), 7)


def test_zero_workers_on_the_command_line(capsys):
    assert main.main(["train", "char-lm", "--workers", "0"]) == 2
    assert "--workers 0: give a number of at least 1" in capsys.readouterr().err


def test_the_board_keeps_the_first_end():
    board = workers.Board()
    board.say("a")
    board.say("b")
    assert board.take() == ["a", "b"]
    assert board.take() == []
    assert board.end() is None
    board.set_end("bug", "first")
    board.set_end("error", "second")
    assert board.end() == ("bug", "first")


def test_errors_of_ray_are_short():
    died = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: x"
    assert workers._last_line(RuntimeError(died)) == "The actor is dead because its worker process has died"
    assert workers._last_line(RuntimeError("Traceback:\n  line\nValueError: 3 is not 4\n")) == "ValueError: 3 is not 4"
    gone = "The actor ab67 is unavailable: The actor is temporarily unavailable: RpcError: rpc_code: 14"
    assert workers._last_line(RuntimeError(gone)) == "its machine does not answer"
    assert workers._last_line(RuntimeError()) == "RuntimeError"


def test_the_lost_workers_are_those_that_did_not_fail_because_of_others():
    died, failed = RuntimeError("its process has died"), RuntimeError("x\n[[{{node CollectiveReduceV2}}]]")
    assert workers._lost({0: failed, 1: died, 2: failed}) == "worker 1 (its process has died)"
    assert workers._lost({0: failed}) == "worker 0 ([[{{node CollectiveReduceV2}}]])"


class FakeRay:
    """A cluster whose processors change from one look to the next one: (free, all)."""

    def __init__(self, *processors):
        self._processors, self.board, self.look = list(processors), workers.Board(), (0, 0)

    def available_resources(self):
        self.look = self._processors.pop(0)
        return {"CPU": self.look[0]} if self.look[0] else {}

    def cluster_resources(self):
        return {"CPU": self.look[1]}

    def get(self, value):
        return value

    def __getattr__(self, name):
        """A method of the board, as of an actor."""
        return SimpleNamespace(remote=getattr(self.board, name))


@pytest.mark.parametrize(
    ("release_seconds", "processors", "expected", "messages"),
    [
        (60, [(4, 4)], 3, []),
        (60, [(0, 3), (1, 3), (3, 3)], 3, []),  # what the ended workers had is not free at once
        (60, [(0, 2), (2, 2)], 2, ["the cluster has room for 2 of 3 workers: training with 2"]),
        (0, [(1, 8)], 1, ["the cluster has room for 1 of 3 workers: training with 1"]),  # others have the rest
        (0, [(0, 8), (0, 0), (3, 8)], 3, ["the cluster has no room for a worker: waiting"]),
    ],
)
def test_as_many_workers_as_there_is_room_for(monkeypatch, release_seconds, processors, expected, messages):
    fake = FakeRay(*processors)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(workers, "_POLL", 0)
    monkeypatch.setattr(workers, "_RELEASE_SECONDS", release_seconds)
    assert workers._wait_for_room("CPU", 3, fake) == expected
    assert fake.board.take() == messages and fake.board.end() is None


def test_a_stop_ends_the_wait_for_room(monkeypatch):
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    fake.board.stop()
    assert workers._wait_for_room("CPU", 3, fake) == 0
    assert fake.board.end() == ("interrupted", "")


@pytest.mark.long
@pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt")
def test_a_run_on_two_gpus_that_is_stopped_goes_on_in_one_process(tmp_path):
    """The GPUs are names: the workers compute on the CPU. test_machines.py has workers that are lost."""
    data = tmp_path / "data.txt"
    small_data.write_text(data, lines=3000)  # it must not end before the workers hear of the signal
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'A, 1 MiB, 1'\necho 'B, 1 MiB, 1'\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "RAY_OVERRIDE_RESOURCES": '{"GPU": 2}'}
    checkpoint = tmp_path / "runs/language-model/r/checkpoints/last.npz"

    stopped = subprocess.Popen(
        command(tmp_path, data, "--gpus", "2"),
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not checkpoint.exists():
        assert stopped.poll() is None, stopped.communicate()
        time.sleep(0.1)
    os.kill(stopped.pid, signal.SIGINT)
    _, text = stopped.communicate(timeout=600)
    assert stopped.returncode == 130, text
    assert "The same command continues from the last checkpoint" in text
    assert not list((tmp_path / "runs").glob(".ray*"))

    continued = train_here(tmp_path, *command(tmp_path, data)[2:])
    assert continued.returncode == 0, continued.stderr
    assert re.search(r"resuming at epoch \d, step \d+", continued.stderr)
    assert "perplexity" in continued.stdout
