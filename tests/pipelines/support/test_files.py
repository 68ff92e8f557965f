import errno
import functools
import os

import pytest

from pipelines.support import files
from pipelines.support.errors import UserError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_with_its_whole_content(tmp_path):
    path = tmp_path / "a.txt"
    with files.written_beside(path) as file:
        file.write("caf\u00e9\n")
        (part,) = names(tmp_path)
        assert part.startswith(".tmp-")
    assert path.read_bytes() == "caf\u00e9\n".encode()
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error):
        with files.written_beside(path) as file:
            file.write("half")
            raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_bytes_and_line_ends_are_written_unchanged(tmp_path):
    with files.written_beside(tmp_path / "a.bin", "wb") as file:
        file.write(b"\xff\r\n")
    assert (tmp_path / "a.bin").read_bytes() == b"\xff\r\n"
    with files.written_beside(tmp_path / "a.csv", newline="") as file:
        file.write("a\r\n")
    assert (tmp_path / "a.csv").read_bytes() == b"a\r\n"


def test_json_is_written_readable_and_read_back(tmp_path):
    value = {"text": "caf\u00e9", "numbers": [1, 2.5, None]}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json") == value
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "caf\u00e9" in text and text.endswith("}\n") and text.count("\n") > 5


def test_a_folder_appears_complete(tmp_path):
    with files.folder_written_beside(tmp_path / "folder") as part:
        (part / "a").write_text("a")
        assert all(name.startswith(".tmp-") for name in names(tmp_path))
    assert names(tmp_path) == ["folder"] and names(tmp_path / "folder") == ["a"]


def test_a_folder_that_fails_is_removed(tmp_path):
    with pytest.raises(KeyError):
        with files.folder_written_beside(tmp_path / "folder") as part:
            assert names(part) == []
            raise KeyError
    assert names(tmp_path) == []


def test_an_existing_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    with pytest.raises(OSError):
        with files.folder_written_beside(tmp_path / "folder"):
            pass
    assert names(tmp_path) == ["folder"] and names(tmp_path / "folder") == ["a"]


def synced(monkeypatch):
    """Records what becomes durable and what is renamed, in order."""
    events = []
    real_fsync, real_replace, real_rename = os.fsync, os.replace, os.rename

    def fsync(descriptor):
        events.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))
        real_fsync(descriptor)

    def rename(real, source, target):
        events.append(("rename", os.path.basename(target)))
        real(source, target)

    monkeypatch.setattr(files.os, "fsync", fsync)
    monkeypatch.setattr(files.os, "replace", functools.partial(rename, real_replace))
    monkeypatch.setattr(files.os, "rename", functools.partial(rename, real_rename))
    return events


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="reads the names of open files from /proc")


@needs_proc
def test_a_file_is_durable_before_its_name_and_then_its_name(tmp_path, monkeypatch):
    events = synced(monkeypatch)
    files.write_text(tmp_path / "a.txt", "a")
    (part, *rest) = events
    assert part[0] == "fsync" and part[1].startswith(".tmp-")
    assert rest == [("rename", "a.txt"), ("fsync", tmp_path.name)]


@needs_proc
def test_a_folder_is_durable_with_its_files_before_its_name_and_then_its_name(tmp_path, monkeypatch):
    events = synced(monkeypatch)
    with files.folder_written_beside(tmp_path / "new" / "folder") as part:
        (part / "sub").mkdir()
        (part / "sub" / "b").write_text("b")
        (part / "a").write_text("a")
        part_name = part.name
    assert events == [
        ("fsync", tmp_path.name),  # has the new parent
        ("fsync", "b"),
        ("fsync", "sub"),
        ("fsync", "a"),
        ("fsync", part_name),
        ("rename", "folder"),
        ("fsync", "new"),
    ]


def test_a_file_system_without_fsync_of_folders_is_accepted_but_no_other_error(tmp_path, monkeypatch):
    def fail(number):
        def fsync(descriptor):
            raise OSError(number, "no")

        monkeypatch.setattr(files.os, "fsync", fsync)

    fail(errno.EINVAL)
    files.sync(tmp_path)
    fail(errno.EIO)
    with pytest.raises(OSError, match="no"):
        files.sync(tmp_path)


def test_a_folder_that_can_be_written_to_is_accepted_and_not_made(tmp_path):
    files.check_folder(tmp_path / "a" / "b", "--saved-models")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--saved-models .*file/a: nothing can be written to .*file .*another folder$"):
        files.check_folder(tmp_path / "file" / "a", "--saved-models")

    def read_only(**options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", read_only)
    with pytest.raises(UserError, match="--runs .*a: nothing can be written .*Read-only file system.: give another"):
        files.check_folder(tmp_path / "a", "--runs")


def test_a_path_is_shown_relative_to_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert files.shown(tmp_path / "here" / "runs" / "a") == "runs/a"
    assert files.shown(tmp_path / "elsewhere") == str(tmp_path / "elsewhere")


def test_the_checksum_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.sha256_of(tmp_path / "a") == files.fingerprint(tmp_path / "a") == expected


def test_the_fingerprint_of_a_folder_changes_with_its_files(tmp_path):
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    file = tmp_path / "folder" / "sub" / "a"
    seen = [files.fingerprint(tmp_path / "folder")]
    file.write_text("1")
    seen.append(files.fingerprint(tmp_path / "folder"))
    assert files.fingerprint(tmp_path / "folder") == seen[-1]
    file.write_text("12")
    seen.append(files.fingerprint(tmp_path / "folder"))
    file.rename(file.with_name("b"))
    seen.append(files.fingerprint(tmp_path / "folder"))
    assert len(set(seen)) == len(seen)


def test_an_output_file_that_can_be_written_is_accepted(tmp_path):
    files.check_output(None)
    for name in ("out.txt", "test.de", "out", "out.en-de"):
        files.check_output(tmp_path / name)
    files.check_output(tmp_path / "out.csv", suffixes=(".csv", ".tsv"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "suffixes", "message"),
    [
        ("old.csv", (), "old.csv exists already: remove it, or give another name with --mistakes"),
        ("out.txt", (".csv",), "--mistakes .*out.txt: the name must end in .csv$"),
        ("out.txt", (".csv", ".tsv", ".jsonl"), "the name must end in .csv, .tsv or .jsonl$"),
        ("nowhere/out.csv", (), "--mistakes .*out.csv: there is no folder .*nowhere"),
    ],
)
def test_an_output_file_that_cannot_be_written_is_refused(tmp_path, name, suffixes, message):
    (tmp_path / "old.csv").write_text("")
    with pytest.raises(UserError, match=message):
        files.check_output(tmp_path / name, "--mistakes", suffixes)


@pytest.mark.parametrize("name", ["out.csv", "out.PNG", "out.jsonl"])
def test_plain_lines_get_no_name_of_another_format(name, tmp_path):
    with pytest.raises(UserError, match="plain lines are written, no .*: give a name such as out.txt"):
        files.check_output(tmp_path / name)
