"""Workers that are lost or stopped: with real processes and real signals."""

import random
import re

import numpy as np
import pytest

from tests.pipelines.distributed import small_data, worker_processes

pytestmark = pytest.mark.long

_SETTINGS = {
    "model": "lstm",
    "batch_size": 5,
    "window": 16,
    "hidden_size": 16,
    "embedding_size": 16,
    "vocabulary_size": 60,
    "epochs": 2,
    "tie_weights": False,
    "dropout": 0.0,
    "precision": "float32",
    "checkpoint_every": 20,
}


def best_weights(folder):
    with np.load(folder / "runs/language-model/r/checkpoints/best.npz") as saved:
        return [saved[name] for name in sorted(saved.files) if name != "position"]


def test_a_lost_or_stopped_worker_and_another_number_of_workers(tmp_path):
    """One run that loses a worker, then gets SIGTERM at one worker, and is finished by one process."""
    settings = _SETTINGS | {"data": str(small_data.write_text(tmp_path / "data.txt"))}
    disturbed = {"disturbed": ("language-model", settings)}
    seed = random.randrange(1000)
    print("seed", seed)
    rng = random.Random(seed)
    victim = rng.randrange(3)
    options = {"victim": victim, "kill_at": rng.randint(25, 60)}
    results = worker_processes.end(worker_processes.start(tmp_path, disturbed, 3, **options))
    assert results[victim][0] == -9
    for i in {0, 1, 2} - {victim}:
        assert results[i][0] == 2, results[i]
        assert "a worker of this training was lost" in results[i][1]

    options = {"victim": rng.randrange(2), "stop_at": rng.randint(10, 30)}
    results = worker_processes.end(worker_processes.start(tmp_path, disturbed, 2, **options))
    assert [status for status, _ in results] == [130, 130], results
    resumed = re.search(r"resuming at epoch 1, step (\d+)", results[0][1])
    assert int(resumed[1]) % 20 == 0 and int(resumed[1]) >= 20

    finished = disturbed | {"undisturbed": ("language-model", settings)}
    worker_processes.train_here(tmp_path, finished)
    losses, expected = (worker_processes.losses(tmp_path / name) for name in finished)
    assert len(losses) == len(expected)
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-4)
    for value, alone in zip(best_weights(tmp_path / "disturbed"), best_weights(tmp_path / "undisturbed")):
        np.testing.assert_allclose(value, alone, rtol=0, atol=1e-3)
