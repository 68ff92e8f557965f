"""`train --gpus`: a worker for each GPU of this machine. Here the GPUs are names: the workers compute on the CPU."""

import json
import os
import subprocess
import sys
from importlib import util

import pytest

import main
from pipelines.distributed import workers
from pipelines.support.errors import UserError
from tests.command_line import ROOT
from tests.pipelines.distributed import small_data

TRAIN = ["train", "classification", "--model", "bag", "--epochs", "2", "--dropout", "0", "--no-baseline"]


@pytest.mark.parametrize(
    ("names", "flags", "message"),
    [
        ([], ["--gpus", "2"], "--gpus 2: nvidia-smi lists 0 GPUs on this machine: leave out --gpus"),
        (["A", "B"], ["--gpus", "3"], "--gpus 3: nvidia-smi lists 2 GPUs on this machine: give a number from 1 to 2"),
        (["A", "B"], ["--gpus", "0"], "--gpus 0: nvidia-smi lists 2 GPUs on this machine: give a number from 1 to 2"),
        (["A"], ["--gpus", "1", "--workers", "2"], "--gpus is for the GPUs of this machine: leave out --workers"),
    ],
)
def test_what_is_refused(monkeypatch, capsys, names, flags, message):
    monkeypatch.setattr(workers.machine, "gpus", lambda: names)
    assert main.main(["train", "char-lm", *flags]) == 2
    assert message in capsys.readouterr().err


def test_gpus_that_ray_does_not_find():
    workers._check_gpus(2, 2)
    with pytest.raises(UserError, match=r"--gpus 2: Ray finds 1: does CUDA_VISIBLE_DEVICES hide the others\?"):
        workers._check_gpus(2, 1)


@pytest.mark.long
@pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt")
def test_two_gpus_train_as_one_process(tmp_path, capsys):
    train = [*TRAIN, "--data", str(small_data.write_labelled_texts(tmp_path / "data.csv")), "--json"]
    train += ["--saved-models", str(tmp_path / "saved"), "--runs"]
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'A, 1 MiB, 1'\necho 'B, 1 MiB, 1'\n")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "RAY_OVERRIDE_RESOURCES": '{"GPU": 2}'}
    command = [sys.executable, "main.py", *train, str(tmp_path / "two"), "--gpus", "2"]
    two = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=600)
    assert two.returncode == 0, two.stderr
    capsys.readouterr()
    assert main.main([*train, str(tmp_path / "alone")]) == 0
    losses = [json.loads(out)["scores"]["validation"]["log_loss"] for out in (two.stdout, capsys.readouterr().out)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
