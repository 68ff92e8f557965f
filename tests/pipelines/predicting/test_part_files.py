"""The folder of a batch prediction: what a killed process leaves is continued, what does not fit is refused."""

import json

import pytest

from pipelines.predicting.part_files import opened
from pipelines.support.errors import UserError

PLAN = {
    "model": {"name": "m/1", "sha256": "0"},
    "options": {"suffix": ".csv"},
    "files": [{"path": "/a.csv", "size": 1, "modified": 2}, {"path": "/b.csv", "size": 1, "modified": 2}],
}


def record(rows=2, **more):
    return {"counts": {"rows": rows, "labels": {"x": rows}, **more}, "poisoned": {}}


def fill(parts):
    parts.add(1, 0, b"c", record(empty=1))
    parts.add(0, 1, b"b", record() | {"poisoned": {"1": "bad"}})
    parts.add(0, 0, b"a", record())
    parts.end(1, 1)
    parts.end(0, 2)


def test_the_manifest_of_a_finished_job_has_the_parts_in_the_order_of_the_input(tmp_path):
    with opened(tmp_path / "new" / "out", PLAN, ".csv") as parts:
        fill(parts)
        manifest = parts.finish()
    assert [part["part"] for part in manifest["parts"]] == [
        "part-00000-00000.csv",
        "part-00000-00001.csv",
        "part-00001-00000.csv",
    ]
    assert manifest["counts"] == {"rows": 6, "labels": {"x": 6}, "empty": 1, "poisoned": 1}
    assert manifest["poisoned"] == [{"part": "part-00000-00001.csv", "row": 1, "reason": "bad"}]
    folder = tmp_path / "new" / "out"
    assert json.loads((folder / "manifest.json").read_text()) == manifest
    assert [(folder / part["part"]).read_bytes() for part in manifest["parts"]] == [b"a", b"b", b"c"]
    with opened(folder, PLAN, ".csv") as parts:
        assert parts.finished == manifest


def test_an_interrupted_job_continues_whatever_its_last_line(tmp_path):
    with opened(tmp_path, PLAN, ".csv") as parts:
        fill(parts)
    expected = (tmp_path / "progress.jsonl").read_bytes()
    (tmp_path / "part-00001-00000.csv").unlink()  # as after a power cut of a file system that lost it
    (tmp_path / "progress.jsonl").write_bytes(expected + b'{"file": 0, "numb')
    with opened(tmp_path, PLAN, ".csv") as parts:
        assert parts.done == {0: {0, 1}} and parts.ends == {1: 1, 0: 2} and parts.rows() == 4
        assert (tmp_path / "progress.jsonl").read_bytes() == expected
        with pytest.raises(RuntimeError, match=r"/b.csv are missing"):
            parts.finish()
        parts.add(0, 0, b"other", record(rows=9))  # is there already
        parts.add(1, 0, b"c", record())
        assert parts.finish()["counts"]["rows"] == 6
    assert (tmp_path / "part-00000-00000.csv").read_bytes() == b"a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"name": "m/2", "sha256": "0"}}, "other model"),
        ({"options": {"suffix": ".csv", "header": False}}, "other options"),
        ({"files": PLAN["files"][:1]}, "other files"),
    ],
)
def test_another_prediction_is_refused(tmp_path, change, message):
    with opened(tmp_path, PLAN, ".csv") as parts:
        parts.add(0, 0, b"a", record())
    with pytest.raises(UserError, match=message), opened(tmp_path, PLAN | change, ".csv"):
        pass


def test_a_folder_without_a_part_takes_the_corrected_job(tmp_path):
    with opened(tmp_path, PLAN, ".csv"):
        pass
    changed = PLAN | {"files": PLAN["files"][:1]}
    with opened(tmp_path, changed, ".csv") as parts:
        parts.add(0, 0, b"a", record())
        parts.end(0, 1)
        assert parts.finish()["files"] == changed["files"]
    with pytest.raises(UserError, match="other files"), opened(tmp_path, PLAN, ".csv"):
        pass


def test_what_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="is not empty"), opened(tmp_path, PLAN, ".csv"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(UserError, match="it is a folder"), opened(tmp_path / "file", PLAN, ".csv"):
        pass
    for content in (b"\xff", b"{}", b"{"):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(UserError, match="is damaged, or of another program"), opened(tmp_path, PLAN, ".csv"):
            pass


def test_two_processes_do_not_write_the_same_folder(tmp_path):
    with opened(tmp_path, PLAN, ".csv"):
        with pytest.raises(UserError, match="is being written by another process"), opened(tmp_path, PLAN, ".csv"):
            pass


def test_an_input_without_rows_is_an_error(tmp_path):
    with opened(tmp_path, PLAN, ".csv") as parts:
        for file in (0, 1):
            parts.end(file, 0)
        with pytest.raises(UserError, match="no rows"):
            parts.finish()
