import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest

from pipelines.support import temporary
from tests.command_line import ROOT


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def age(path, hours):
    seconds = time.time() - hours * 3600
    os.utime(path, (seconds, seconds))


def test_a_temporary_folder_has_a_lock_beside_it_and_both_are_removed(tmp_path):
    with temporary.temporary_folder(tmp_path) as folder:
        assert names(tmp_path) == [folder.name, f"{folder.name}.lock"]
        assert folder.is_dir() and folder.name.startswith(".tmp-")
        (folder / "file").write_text("x")
    assert names(tmp_path) == []


def test_a_temporary_folder_that_fails_is_removed(tmp_path):
    with pytest.raises(KeyError):
        with temporary.temporary_folder(tmp_path) as folder:
            (folder / "file").write_text("x")
            raise KeyError
    assert names(tmp_path) == []


def test_processes_with_the_same_id_take_different_names(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with temporary.temporary_folder(tmp_path) as one, temporary.temporary_folder(tmp_path) as other:
        assert one != other and one.is_dir() and other.is_dir()


def test_what_a_living_owner_has_is_kept_and_removed_after_it_has_died(tmp_path):
    path, file = temporary.create_file(tmp_path, "wb")
    with file, temporary.temporary_folder(tmp_path) as folder:
        temporary.remove_leftovers(tmp_path)
        assert path.exists() and folder.is_dir()
    lock = tmp_path / f"{path.name}00.lock"  # a name that is not ours
    lock.write_text("")
    temporary.remove_leftovers(tmp_path)
    assert names(tmp_path) == [lock.name]


HOLD = """
import sys, time
from pathlib import Path
from pipelines.support import temporary
path, file = temporary.create_file(Path(sys.argv[1]), "wb")
with temporary.temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "file").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_leaves_is_removed_by_the_next_one(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "ready\n"
        temporary.remove_leftovers(tmp_path)
        held = names(tmp_path)
        assert len(held) == 3
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert names(tmp_path) == held
    with temporary.temporary_folder(tmp_path) as folder:
        assert names(tmp_path) == [folder.name, f"{folder.name}.lock"]


@pytest.mark.parametrize(("hours", "is_kept"), [(23, True), (25, False)])
def test_what_another_host_leaves_is_removed_after_a_day(tmp_path, monkeypatch, hours, is_kept):
    monkeypatch.setattr(temporary.socket, "gethostname", lambda: "elsewhere")
    path, file = temporary.create_file(tmp_path)
    lock, lock_file = temporary.create_file(tmp_path, suffix=".lock")
    folder = lock.with_suffix("")
    folder.mkdir()
    file.close()
    lock_file.close()
    for each in (path, lock, folder):
        age(each, hours)
    monkeypatch.undo()
    temporary.remove_leftovers(tmp_path)
    assert (names(tmp_path) == sorted([path.name, lock.name, folder.name])) == is_kept
    assert bool(names(tmp_path)) == is_kept


def test_a_folder_whose_lock_is_gone_is_a_leftover(tmp_path):
    lock, file = temporary.create_file(tmp_path, suffix=".lock")
    file.close()
    lock.with_suffix("").mkdir()
    lock.unlink()
    temporary.remove_leftovers(tmp_path)
    assert names(tmp_path) == []


def test_files_of_other_programs_are_kept(tmp_path):
    for name in (".tmp-1234", ".tmp-0123abcd", ".tmp-0123abcd-4567cdef-x", "tmp", ".part"):
        (tmp_path / name).write_text("")
    temporary.remove_leftovers(tmp_path)
    assert len(names(tmp_path)) == 5


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    created = []

    def remove_the_first(file, operation):
        if not created:
            os.unlink(file.name)
        created.append(file.name)
        real(file, operation)

    real = fcntl.flock
    monkeypatch.setattr(temporary.fcntl, "flock", remove_the_first)
    path, file = temporary.create_file(tmp_path, "wb")
    with file:
        file.write(b"x")
    assert path.read_bytes() == b"x" and len(set(created)) == 2
