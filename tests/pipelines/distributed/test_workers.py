"""`train --workers` on a cluster that it starts on this machine: a killed worker, Ctrl-C, another number of workers."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import util
from types import SimpleNamespace

import numpy as np
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


def start(*arguments):
    return subprocess.Popen(command(*arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers_of(process) -> list[int]:
    """Returns the processes of Ray's workers among the descendants of a process."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in table.stdout.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def is_descendant(pid):
        while pid in parents:
            if pid == process.pid:
                return True
            pid = parents[pid]
        return False

    return [int(pid) for pid, _, text in rows if "RayTrainWorker" in text and is_descendant(int(pid))]


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


def best_weights(folder):
    with np.load(folder / "runs/language-model/r/checkpoints/best.npz") as saved:
        return [saved[name] for name in sorted(saved.files) if name != "position"]


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
def test_a_run_that_is_stopped_continued_and_loses_a_worker(tmp_path):
    data = tmp_path / "data.txt"
    small_data.write_text(data, lines=1000)
    checkpoint = tmp_path / "runs/language-model/r/checkpoints/last.npz"

    stopped = start(tmp_path, data, "--workers", "2")
    wait_for(checkpoint, stopped)
    os.kill(stopped.pid, signal.SIGINT)
    _, text = stopped.communicate(timeout=600)
    assert stopped.returncode == 130, text
    assert "The same command continues from the last checkpoint" in text

    written = checkpoint.stat().st_mtime_ns
    continued = start(tmp_path, data, "--workers", "3")
    while checkpoint.stat().st_mtime_ns == written:
        assert continued.poll() is None, continued.communicate()
        time.sleep(0.1)
    os.kill(workers_of(continued)[0], signal.SIGKILL)
    out, text = continued.communicate(timeout=600)
    assert continued.returncode == 0, text
    assert re.search(r"lost worker \d \(.*died\): starting all workers again from the last checkpoint", text), text
    assert len(re.findall(r"resuming at epoch \d, step \d+", text)) == 2, text
    assert "perplexity" in out
    assert not list((tmp_path / "runs").glob(".ray*"))

    alone = train_here(tmp_path, *command(tmp_path / "alone", data)[2:])
    assert alone.returncode == 0, alone.stderr
    for value, expected in zip(best_weights(tmp_path), best_weights(tmp_path / "alone")):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-2)
