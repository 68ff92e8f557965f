"""Commands on a Ray cluster of several machines, here processes. The tests share it, and machines are lost."""

import io
import re
import tarfile
import threading
import time
from importlib import util

import numpy as np
import pytest
import tensorflow as tf

from pipelines.distributed.cluster import started_in_time
from pipelines.export.card import CARD
from pipelines.support.files import write_json
from tests.command_line import ROOT, assert_one_line
from tests.pipelines.distributed import small_data
from tests.pipelines.predicting.conftest import many, plain, saved
from tests.pipelines.tagging.conftest import make_small
from tests.pipelines.tagging.small import WORD_TAGS

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Ray, for its own code
    pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt"),
]
__all__ = ["make_small", "many", "plain", "saved"]


@pytest.fixture(scope="module")
def cluster():
    """A head that has no processors, and one machine with one processor."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = started_in_time(lambda: Cluster(initialize_head=True, head_node_args=head))
    started_in_time(lambda: cluster.add_node(num_cpus=1))
    yield cluster
    cluster.shutdown()


@pytest.fixture
def lose_another_machine(cluster):
    """Adds a machine with one processor, which dies when there are so many files of a pattern in a folder."""
    threads = []

    def prepare(folder, pattern, count=1):
        machine = started_in_time(lambda: cluster.add_node(num_cpus=1))

        def wait_and_kill():
            while len(list(folder.glob(pattern))) < count:
                time.sleep(0.02)
            cluster.remove_node(machine, allow_graceful=False)

        threads.append(threading.Thread(target=wait_and_kill, daemon=True))
        threads[0].start()

    yield prepare
    assert not threads[0].is_alive()


def joined(folder, header_lines=0):
    """The content of all parts, with one header."""
    parts = [path.read_bytes() for path in sorted(folder.glob("part-*"))]
    return b"".join(b"".join(part.splitlines(True)[header_lines * (i > 0) :]) for i, part in enumerate(parts))


def test_a_prediction_whose_machine_dies_has_the_same_parts(
    cluster, lose_another_machine, saved, many, plain, tmp_path, run_main
):
    lose_another_machine(tmp_path / "out", "part-*", 2)
    command = ["predict", "sentiment", "--saved-models", saved, "--input", many, "--output", "out"]
    process = run_main(tmp_path, *command, "--ray", cluster.address)
    assert process.returncode == 0, process.stderr
    assert joined(tmp_path / "out", 1).decode() == plain


def test_a_training_whose_machine_dies_goes_on_with_fewer_workers(cluster, lose_another_machine, tmp_path, run_main):
    data = small_data.write_text(tmp_path / "data.txt", lines=1500)
    lose_another_machine(tmp_path, "runs/language-model/r/checkpoints/last.npz")
    settings = {"model": "lstm", "preset": "quick", "window": 16, "hidden-size": 16, "vocabulary-size": 60}
    settings |= {"epochs": 2, "checkpoint-every": 10, "data": data, "run": "r", "runs": "runs", "saved-models": "saved"}
    flags = [each for name, value in settings.items() for each in (f"--{name}", value)]
    process = run_main(tmp_path, "train", "language-model", *flags, "--workers", 2, "--ray", cluster.address)
    assert process.returncode == 0, process.stderr
    lines = [line for line in process.stderr.splitlines() if line.startswith(("lost", "the cluster", "resuming"))]
    assert re.fullmatch(r"lost worker \d \(.{1,80}\): starting all workers again from the last checkpoint", lines[0])
    assert "raylet" not in process.stdout + process.stderr  # the logs of the machine that died
    assert lines[1] == "the cluster has room for 1 of 2 workers: training with 1"
    assert lines[2].startswith("resuming at epoch 1, step ")
    assert len(lines) == 3 and "perplexity" in process.stdout
    assert not list((tmp_path / "runs").glob(".ray*"))


def test_more_workers_than_the_cluster_has_processors_are_refused(cluster, tmp_path, run_main):
    process = run_main(tmp_path, "train", "char-lm", "--workers", 2, "--ray", cluster.address, "--runs", "runs")
    assert_one_line(process, f"--workers 2: the cluster {cluster.address} has 1 processors: give fewer workers")


@pytest.mark.exhaustive  # of taggers and encoders; the first test of this file compares the parts of a classifier
def test_the_parts_are_the_file_of_the_plain_command(cluster, make_small, tmp_path, run_main):
    with tarfile.open(ROOT / "tests" / "golden" / "0.9.0" / "encoder.tar.xz") as archive:
        archive.extractall(tmp_path / "saved", filter="data")
    tagger = make_small("lstm").tagger
    tf.saved_model.save(tagger, str(tmp_path / "saved" / "tagging" / "1"), signatures=tagger.signatures())
    card = {"sample": False, "classes": list(WORD_TAGS), "config": {"column": "xpos"}}
    write_json(tmp_path / "saved" / "tagging" / "1" / CARD, card)
    (tmp_path / "in.txt").write_text("".join(f"the sea is near {i} .\n" for i in range(30)) + "\nlast\n")
    for task, suffix in (("tagging", ".csv"), ("encoder", ".npy")):
        command = ["predict", task, "--saved-models", "saved", "--input", "in.txt", "--output"]
        one = run_main(tmp_path, *command, f"{task}{suffix}")
        assert one.returncode == 0, one.stderr
        many = run_main(tmp_path, *command, f"{task}-parts", "--ray", cluster.address, "--part-format", suffix)
        assert many.returncode == 0, many.stderr
        part, expected = joined(tmp_path / f"{task}-parts"), (tmp_path / f"{task}{suffix}").read_bytes()
        if suffix == ".npy":
            np.testing.assert_array_equal(np.load(io.BytesIO(part)), np.load(io.BytesIO(expected)))
        else:
            assert part == expected
