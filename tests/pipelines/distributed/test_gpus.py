"""`train --gpus`: a worker for each GPU of this machine. tests/pipelines/distributed/test_workers.py has a training."""

import pytest

import main
from pipelines.distributed import workers
from pipelines.support.errors import UserError


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
