"""`predict --input --ray`: formats and object storage, poisoned rows, kills of driver, actors and machines."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

import pandas as pd
import pytest

from pipelines.data.table_options import DEFAULTS
from pipelines.distributed import cluster
from pipelines.export.exported import Exported
from pipelines.labelled.predict import file_steps
from pipelines.predicting import batch_prediction
from pipelines.support.errors import UserError
from tests.command_line import ROOT, assert_one_line, main
from tests.pipelines.predicting.conftest import MANY
from tests.pipelines.predicting.parts import label_file

needs_ray = pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt")
needs_moto = pytest.mark.skipif(util.find_spec("moto") is None, reason="moto is not installed")


def _exported(saved):
    return Exported("sentiment", 1, saved / "sentiment" / "1")


def arguments(saved, source, output, *flags, address="local"):
    sources = [source] if isinstance(source, str | Path) else source
    files = ["--input", *sources, "--output", output]
    return ["predict", "sentiment", "--saved-models", saved, *files, "--ray", address, *flags]


def joined(folder):
    """The text of all CSV parts, with one header."""
    parts = [path.read_text() for path in sorted(folder.glob("part-*"))]
    return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])


@needs_ray
@needs_moto
@pytest.mark.long
def test_files_of_all_formats_from_object_storage(saved, tmp_path):
    from tests.pipelines.predicting.storage import served

    rows = pd.DataFrame({"text": [f"{'g' * (i % 3)} {i}" for i in range(40)]})
    rows.to_parquet(tmp_path / "c.parquet", row_group_size=7)
    rows.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"text\nzipped g\n"))
    rows.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    (tmp_path / "e.txt").write_text("a line g\n\nand another\n")
    (tmp_path / "f.csv").write_bytes(b"text\nfine\nno \xff UTF-8\nsome poison\nlast\n")
    names = ("a.csv", "b.csv.gz", "c.parquet", "d.jsonl", "e.txt", "f.csv")
    with served() as s3:
        for name in names[:5]:
            s3.put(f"in/{name}", (tmp_path / name).read_bytes())
        given = arguments(saved, ["s3://texts/in/*", tmp_path / "f.csv"], tmp_path / "out", "--json")
        process = main(tmp_path, *given, **s3.environment)
        assert process.returncode == 0, process.stderr
        assert process.stderr == "model sentiment/1\n"
        again = main(tmp_path, *given, **s3.environment)
        s3.put("in/a.csv", b"text\nchanged\n")
        changed = main(tmp_path, *given, **s3.environment)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [file["path"].rpartition("/")[2] for file in manifest["files"]] == list(names)
    counts = json.loads(process.stdout)
    assert counts["rows"] == 40 * 3 + 1 + 3 + 4 and counts["poisoned"] == 2 and counts["parts"] == 6
    assert sum(counts["labels"].values()) == counts["rows"] - 2
    assert [(each["part"], each["row"]) for each in manifest["poisoned"]] == [
        ("part-00005-00000.csv", 1),
        ("part-00005-00000.csv", 2),
    ]
    reasons = [each["reason"] for each in manifest["poisoned"]]
    assert reasons[0] == "not valid Unicode" and reasons[1].startswith("InvalidArgumentError: ")
    files = tuple(str(tmp_path / name) for name in names[:5])
    label_file(_exported(saved), files, tmp_path / "plain.csv")
    lines = joined(tmp_path / "out").splitlines(True)
    assert "".join(lines[:-4]) == (tmp_path / "plain.csv").read_text()
    last = list(csv.DictReader((tmp_path / "out" / "part-00005-00000.csv").read_text().splitlines()))
    assert [row["predicted"] for row in last] == ["negative", "", "", "negative"]
    assert again.returncode == 0 and "is finished" in again.stderr and json.loads(again.stdout) == counts
    assert_one_line(changed, "has a batch prediction with other files")


@needs_ray
@pytest.mark.long
def test_killed_drivers_actors_and_readers_change_nothing(saved, many, plain, tmp_path):
    out = tmp_path / "out"
    command = [str(part) for part in (sys.executable, ROOT / "main.py", *arguments(saved, many, out))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _wait_for_parts(process, out, 1)
    process.terminate()
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, output) == (130, "") and "the same command continues" in errors
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _wait_for_parts(process, out, len(list(out.glob("part-*"))) + 1)
    process.kill()
    process.wait()
    # A process that is killed between a part and its line in the record of progress writes that part again.
    lines = (out / "progress.jsonl").read_text().rpartition("\n")[0].splitlines()
    recorded = [out / line["part"] for line in map(json.loads, lines) if "part" in line]
    written = {path: path.stat().st_mtime_ns for path in recorded}
    num_parts = len(list(out.glob("part-*")))
    assert 1 <= len(written) <= num_parts <= len(written) + 1 and num_parts < MANY // 10_000
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    _wait_for_parts(process, out, num_parts + 1)
    killed = [pid for pid, name in _descendants(process.pid) if name.startswith("ray::Map")]
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "parts are written: going on with what is missing" in errors
    assert joined(out) == plain
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".csv") == ["lock", "manifest.json"]


def _wait_for_parts(process, folder, number):
    while len(list(folder.glob("part-*"))) < number:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.02)


def _descendants(pid):
    """(pid, command line) of the processes that a process and its children have started."""
    parents, names = {}, {}
    for folder in Path("/proc").iterdir():
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_text()
        except (ValueError, OSError):
            continue
    found, new = [], {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found += [(child, names.get(child, "")) for child in new]
    return found


@needs_ray
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["a", "--ray", "local"], "--ray is for files"),
        (["--input", "in.txt", "--ray", "local"], "--ray is for files"),
        (["--input", "in.txt", "--actors", "2"], "--actors has no effect without --ray"),
        (["--input", "in.txt", "--part-format", "csv"], "--part-format has no effect without --ray"),
        (["--input", "in.txt", "--output", "out", "--ray", "local", "--part-format", "xml"], "csv or tsv or jsonl"),
        (["--input", "in.txt", "--output", "out", "--ray", "local", "--actors", "0"], "at least 1"),
        (["--input", "no.txt", "--output", "out", "--ray", "local"], "no such file: no.txt"),
        (["--input", "*.none", "--output", "out", "--ray", "local"], "no file matches"),
        (["--input", "in.txt", "--output", "out", "--ray", "ray://127.0.0.1:PORT"], "HOST:PORT of its head"),
        (
            ["--input", "in.txt", "--output", "s3://b/out", "--ray", "local"],
            "--output s3://b/out: give a folder on this",
        ),
        (["--input", "in.txt", "--output", "in.txt", "--ray", "local"], "it is a folder, and this is a file"),
        (["--input", "in.txt", "--output", ".", "--ray", "local"], "is not empty"),
        (["--input", "other.csv", "--output", "out", "--ray", "local"], "no column has a usual name"),
    ],
)
def test_what_cannot_be_done_is_refused_before_ray_starts(saved, tmp_path, run_main, monkeypatch, flags, message):
    import socket

    (tmp_path / "in.txt").write_text("a\n")
    (tmp_path / "other.csv").write_text("name,number\nx,1\n")
    monkeypatch.setattr(cluster, "connected", lambda *arguments: pytest.fail("it has connected"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        flags = [flag.replace("PORT", str(server.getsockname()[1])) for flag in flags]
        process = run_main(tmp_path, "predict", "sentiment", *flags, "--saved-models", saved)
    assert_one_line(process, message)
    assert not (tmp_path / "out").exists()


@needs_ray
def test_a_cluster_that_ends_the_job_is_one_line(saved, tmp_path, monkeypatch):
    import contextlib

    import ray.exceptions

    def end(*arguments):
        raise ray.exceptions.RaySystemError("the head is gone\nmore")

    (tmp_path / "in.txt").write_text("a\n")
    monkeypatch.setattr(cluster, "connected", lambda address, num_cpus: contextlib.nullcontext())
    monkeypatch.setattr(batch_prediction, "_units", end)
    steps = file_steps(_exported(saved), DEFAULTS, ".csv")
    with pytest.raises(UserError, match="the head is gone.*: the same command continues") as caught:
        batch_prediction.predict(_exported(saved), str(tmp_path / "in.txt"), tmp_path / "out", steps, "local", None)
    assert "\n" not in str(caught.value)
