"""The files of a batch prediction: paths, folders and patterns, here and on an S3 server."""

import gzip
import os
from importlib import util

import pytest

from pipelines.data.table_options import TableOptions
from pipelines.data.text_chunks import read_file
from pipelines.predicting import input_files
from pipelines.support.errors import UserError

needs_moto = pytest.mark.skipif(util.find_spec("moto") is None, reason="moto is not installed")
NAMES = ("a.csv", "b.csv.gz", "sub/c.jsonl", "sub/d.txt", "_SUCCESS", ".a.csv.crc", "_temporary/e.csv")


def write(folder, names=NAMES):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"text\nx\n")
    return folder


def names_of(files, folder):
    return [file.path.removeprefix(f"{folder}/") for file in files]


def test_the_files_of_a_folder_without_those_of_programs(tmp_path):
    folder = write(tmp_path)
    files = input_files.find(str(folder))
    assert names_of(files, folder) == ["a.csv", "b.csv.gz", "sub/c.jsonl", "sub/d.txt"]
    assert files[0].size == 7 and files[0].modified == (folder / "a.csv").stat().st_mtime_ns


def test_a_file_of_two_patterns_is_read_once(tmp_path):
    folder = write(tmp_path)
    files = input_files.find((f"{folder}/*.csv", f"{folder}/sub/d.txt", f"{folder}/a.csv"))
    assert names_of(files, folder) == ["a.csv", "sub/d.txt"]
    assert names_of(input_files.find(f"{folder}/**/*.jsonl"), folder) == ["sub/c.jsonl"]


def test_relative_paths_are_made_absolute_for_other_processes(tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path))
    assert input_files.find(("a.csv", str(tmp_path / "a.csv")))[0].path == "a.csv"
    (file,) = input_files.find(("a.csv", str(tmp_path / "a.csv")), elsewhere=True)
    assert file.path == str(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.csv", "no such file: none.csv"),
        ("*.tsv", "no file matches"),
        ("empty", "empty has no files"),
        ("-", "give their paths with --input, and not -"),
        ("other", "model.bin has an unknown suffix"),
        ("other/*", "model.bin has an unknown suffix"),
        ("zero.csv", "zero.csv is empty"),
        ("s3://", "s3://bucket/folder"),
        ("ftp://host/a.csv", "s3://bucket/folder"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "zero.csv").touch()
    write(tmp_path, ["other/model.bin"])
    with pytest.raises(UserError, match=message):
        input_files.find(given, elsewhere=True)
    assert input_files.find("-") == [("-", 0, 0)]


def test_a_file_that_is_named_alone_may_have_any_suffix(tmp_path):
    write(tmp_path, ["notes.log"])
    assert len(input_files.find(str(tmp_path / "notes.log"))) == 1


@pytest.fixture(scope="module")
def s3():
    """An S3 server on this machine, with the bucket `texts`; yields a client."""
    from tests.pipelines.predicting.storage import served

    with served() as client, pytest.MonkeyPatch.context() as patch:
        for name, value in client.environment.items():
            patch.setenv(name, value)
        yield client


@needs_moto
@pytest.mark.long
def test_the_files_of_object_storage(s3):
    for name in NAMES:
        s3.put(f"in/{name}", b"text\nx\n")
    addresses = [f"s3://texts/in/{name}" for name in ("a.csv", "b.csv.gz", "sub/c.jsonl", "sub/d.txt")]
    files = input_files.find("s3://texts/in")
    assert [file.path for file in files] == addresses and files[0].size == 7 and files[0].modified > 0
    assert [file.path for file in input_files.find("s3://texts/in/*.csv")] == addresses[:1]
    assert [file.path for file in input_files.find("s3://texts/in/**/*.jsonl")] == addresses[2:3]
    assert [file.path for file in input_files.find("s3://texts/in/a.csv")] == addresses[:1]
    for missing in ("s3://texts/none.csv", "s3://texts/in/*.tsv", "s3://nobucket/a.csv"):
        with pytest.raises(UserError, match="no file matches"):
            input_files.find(missing)


@needs_moto
@pytest.mark.long
def test_an_object_is_read_as_a_file_and_errors_name_its_address(s3):
    s3.put("one/a b%20c.csv.gz", gzip.compress(b"text\nhello\n"))
    s3.put("one/latin.csv", "text\n\u00e9\n".encode("latin1"))
    (file,) = input_files.find("s3://texts/one/*.gz")
    with input_files.here(file.path) as path:
        (chunk,) = read_file(path, TableOptions())
        assert chunk.rows["text"].tolist() == ["hello"]
    assert not os.path.exists(path)
    with pytest.raises(UserError, match="^s3://texts/one/latin.csv is not UTF-8"):
        with input_files.here("s3://texts/one/latin.csv") as path:
            list(read_file(path, TableOptions()))


@needs_moto
@pytest.mark.long
def test_a_storage_that_does_not_answer_is_one_line(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(UserError, match="AWS_ENDPOINT_URL") as caught:
        input_files.find("s3://texts/in/*.csv")
    assert "\n" not in str(caught.value)
