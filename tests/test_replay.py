"""benchmarks/replay.py, which records what tiny runs compute, and compares two recordings."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

from tests.command_line import ROOT


@pytest.fixture(scope="module")
def replay():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("replay")


def differences(replay, before, after):
    return list(replay.compare(json.loads(json.dumps(before)), json.loads(json.dumps(after))))


def test_equal_arrays_have_no_difference_and_others_are_measured(replay):
    array = np.linspace(0, 1, 200, dtype="float32")
    before = {"weights": {"v0": replay.array_of(array)}}
    assert differences(replay, before, {"weights": {"v0": replay.array_of(array.copy())}}) == []
    for size in (1e-6, 1e-1):
        changed = {"weights": {"v0": replay.array_of(array + np.float32(size))}}
        (line,) = differences(replay, before, changed)
        assert line.startswith("/weights/v0: the recorded values differ by at most ")
        assert float(line.split()[-1]) == pytest.approx(size, rel=0.1)


def test_one_changed_value_that_is_not_recorded_is_a_difference(replay):
    array = np.zeros(1000, "float32")
    changed = array.copy()
    changed[1] = 1
    (line,) = differences(replay, replay.array_of(array), replay.array_of(changed))
    assert "sha256" in line or "recorded values" in line


def test_what_is_only_in_one_recording_is_named(replay):
    before, after = {"a": 1, "b": [1, 2]}, {"b": [1, 3], "c": "new"}
    assert differences(replay, before, after) == ["/a: only before", "/b/1: '2' -> '3'", "/c: only after"]


def test_times_and_folders_are_left_out(replay):
    assert replay.masked({"run": "77", "report": "/tmp/x/report.md", "epochs": [{"loss": 1, "seconds": 2}]}) == {
        "report": "report.md",
        "epochs": [{"loss": 1}],
    }
    lines = replay.masked_lines("accuracy 0.5\ntraining 12.3 seconds\n1,276 texts/s\n10 epochs in 20 s.")
    assert lines == ["accuracy 0.5", "training # seconds", "# texts/s", "# epochs in # s."]


@pytest.mark.exhaustive  # takes three minutes
def test_two_recordings_of_one_commit_are_equal(tmp_path):
    command = [sys.executable, ROOT / "benchmarks/replay.py", "--only", "prepared classification", "--output"]
    for files in (["before.json"], ["after.json", "--compare", "before.json"]):
        process = subprocess.run([*command, *files], capture_output=True, text=True, cwd=tmp_path)
        assert process.returncode == 0, process.stdout + process.stderr[-2000:]
    assert process.stdout == "no difference\n"
    before = json.loads((tmp_path / "before.json").read_text())
    assert before["prepared classification"]["weights"]["v00000"]["values"]
