"""After a power cut at any moment, no broken version or file is visible. See tests/power_cut.py."""

import shutil
import signal
import sys

import pytest

from tests import power_cut, small_run
from tests.command_line import ROOT
from tests.forked import Forked

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace records the system calls")

UNSAFE = """
import os, sys
root = sys.argv[1]
os.makedirs(f"{root}/runs/a"), os.makedirs(f"{root}/saved/.tmp-1")
def write(path, text, sync):
    with open(f"{root}/{path}", "w") as file:
        file.write(text)
        if sync:
            file.flush(), os.fsync(file.fileno())
def sync(path):
    os.fsync(os.open(f"{root}/{path}", os.O_RDONLY))
write("saved/.tmp-1/graph", "a graph", sync=SYNC_GRAPH)
sync("saved/.tmp-1")
os.rename(f"{root}/saved/.tmp-1", f"{root}/saved/1")
if SYNC_NAME:
    sync("saved"), sync("")
write("runs/a/.tmp-2", '{"export": "%s/saved/1"}' % root, sync=True)
os.rename(f"{root}/runs/a/.tmp-2", f"{root}/runs/a/result.json")
"""


def replay(tmp_path, *command):
    root, trace = tmp_path / "disk", tmp_path / "trace"
    root.mkdir()
    process = power_cut.record([sys.executable, *command, root], trace, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return power_cut.replay(trace, root, ROOT)


@needs_strace
@pytest.mark.parametrize(
    ("synced", "problems"),
    [
        ({"SYNC_GRAPH": False, "SYNC_NAME": True}, ["saved/1/graph has 0 of 7 bytes"]),
        ({"SYNC_GRAPH": True, "SYNC_NAME": False}, ["runs/a/result.json is there without saved/1"]),
        ({"SYNC_GRAPH": True, "SYNC_NAME": True}, []),
    ],
    ids=["bytes not synced", "name not synced", "both synced"],
)
def test_the_replay_finds_what_is_not_synced(tmp_path, synced, problems):
    script = UNSAFE
    for name, value in synced.items():
        script = script.replace(name, str(value))
    cuts, wrong = replay(tmp_path, "-c", script)
    assert cuts > 5
    for problem in problems:
        assert any(problem in line for line in wrong), wrong
    assert bool(wrong) == bool(problems), wrong


@needs_strace
@pytest.mark.long
def test_a_power_cut_at_any_moment_of_a_run_leaves_no_broken_version_and_no_result_without_its_export(tmp_path):
    cuts, wrong = replay(tmp_path, ROOT / "tests" / "small_run.py")
    assert wrong == []
    assert cuts > 100
    assert (tmp_path / "disk" / "saved" / "small-sample" / "1" / "saved_model.pb").is_file()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("moment", ["_write_warm_up", "sync"], ids=["while it exports", "right after it has exported"])
def test_a_run_that_is_killed_ends_with_one_version_and_no_leftovers(tmp_path, moment):
    code, errors = Forked(small_run.run, tmp_path, moment).finish()
    assert code == -signal.SIGKILL, errors
    assert list(tmp_path.rglob(".tmp-*"))
    code, errors = Forked(small_run.run, tmp_path).finish()
    assert code == 0, errors
    assert ("is the export of this run already" in errors) == (moment == "sync")
    assert [path.name for path in (tmp_path / "saved" / "small-sample").iterdir()] == ["1"]
    assert not list(tmp_path.rglob(".tmp-*"))
