import io
import json

import pytest

from pipelines.runs import run_folder
from pipelines.tune.study import FINISHED, Outcome
from tests.command_line import assert_one_line
from tests.pipelines.small_runs import write_export, write_run, write_search

WHERE = ["--runs", "runs", "--saved-models", "saved"]


@pytest.fixture
def place(tmp_path):
    write_run(tmp_path / "runs", "spam-bag-1")
    write_run(tmp_path / "runs", "spam-bag-2")
    for version in (1, 2):
        write_export(tmp_path / "saved", "spam", version)
    return tmp_path


def folders(place):
    return sorted(path.parent.relative_to(place).as_posix() for path in place.rglob("*.json"))


ALL = {"runs/classification/spam-bag-1", "runs/classification/spam-bag-2", "saved/spam/1", "saved/spam/2"}


@pytest.mark.parametrize(
    ("target", "removed"),
    [
        ("spam-bag-1", {"runs/classification/spam-bag-1"}),
        ("runs/classification/spam-bag-2", {"runs/classification/spam-bag-2"}),
        ("spam/1", {"saved/spam/1"}),
        ("saved/spam/2", {"saved/spam/2"}),
        ("spam", {"saved/spam/1", "saved/spam/2"}),
    ],
)
def test_only_what_is_named_is_removed(place, run_main, target, removed):
    process = run_main(place, "remove", target, "--yes", *WHERE)
    assert process.returncode == 0, process.stderr
    assert set(folders(place)) >= ALL - removed and not removed & set(folders(place))
    assert not list(place.rglob(".tmp-*"))
    assert (place / "saved" / "spam").exists() == (target != "spam")


def test_what_is_unused_is_removed(tmp_path, run_main):
    """Older versions and their runs; a run whose export is gone; nothing whose export may be elsewhere."""
    for name, export in {
        "old": "saved/spam/1",
        "new": "saved/spam/2",
        "other": "saved/ham/1",
        "gone": "saved/ham/7",
        "elsewhere": "models/spam/1",
        "below-baseline": None,
    }.items():
        write_run(tmp_path / "runs", name, run=name, export=export)
    write_run(tmp_path / "runs", "unfinished", finished=False, run="unfinished")
    for name, version, maker in (("spam", 1, "old"), ("spam", 2, "new"), ("ham", 1, "other")):
        write_export(tmp_path / "saved", name, version, run=maker)
    write_export(tmp_path / "saved", "ham", 3, run="moved")  # without a run; the newest of its name
    process = run_main(tmp_path, "remove", "--unused", "--yes", "--json", *WHERE)
    assert process.returncode == 0, process.stderr
    removed = {"/".join(path.rsplit("/", 2)[1:]) for path in json.loads(process.stdout)["removed"]}
    assert removed == {"spam/1", "ham/1", "classification/old", "classification/other", "classification/gone"}
    left = {"runs/classification/" + name for name in ("new", "elsewhere", "below-baseline", "unfinished")}
    assert set(folders(tmp_path)) == left | {"saved/spam/2", "saved/ham/3"}
    again = run_main(tmp_path, "remove", "--unused", *WHERE)
    assert again.returncode == 0 and "nothing" in again.stdout


@pytest.mark.parametrize(("answer", "is_removed"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False)])
def test_it_shows_what_goes_and_asks(place, run_main, monkeypatch, answer, is_removed):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    process = run_main(place, "remove", "spam-bag-1", *WHERE)
    assert "runs/classification/spam-bag-1   3 files" in process.stderr and "[y/N]" in process.stderr
    assert (place / "runs/classification/spam-bag-1").exists() != is_removed


def test_nothing_is_removed_where_nobody_can_answer(place, run_main, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert_one_line(run_main(place, "remove", "spam", *WHERE), "give --yes")
    assert set(folders(place)) == ALL


def test_json_says_what_was_removed(place, run_main):
    document = json.loads(run_main(place, "remove", "spam/1", "--yes", "--json", *WHERE).stdout)
    assert [path.rsplit("/", 2)[1:] for path in document["removed"]] == [["spam", "1"]] and document["bytes"] > 0


def test_a_run_in_use_is_refused(place, run_main):
    with run_folder.locked(place / "runs" / "classification" / "spam-bag-1"):
        process = run_main(place, "remove", "spam-bag-1", "--yes", *WHERE)
    assert_one_line(process, "classification/spam-bag-1 is being trained by another process")
    assert set(folders(place)) == ALL


@pytest.mark.parametrize("target", ["found", "tune/found", "runs/tune/found"])
def test_a_search_is_removed_with_its_trials(place, run_main, target):
    for name in ("found", "other"):
        write_search(place / "runs", name, [Outcome(FINISHED, value=0.4)])
    process = run_main(place, "remove", target, "--yes", *WHERE)
    assert process.returncode == 0, process.stderr
    assert [path.name for path in (place / "runs" / "tune").iterdir()] == ["other"]
    assert set(folders(place)) >= ALL
    assert run_main(place, "remove", "other", "--yes", *WHERE).returncode == 0
    assert not (place / "runs" / "tune").exists()


@pytest.mark.parametrize("locked", [".", "trials/0000"])
def test_a_search_that_is_running_is_refused(place, run_main, locked):
    folder = write_search(place / "runs", "found", [Outcome(FINISHED, value=0.4)])
    with run_folder.locked(folder / locked):
        process = run_main(place, "remove", "found", "--yes", *WHERE)
    assert_one_line(process, "tune/found is being trained by another process: stop that first")
    assert (folder / "tune.json").exists()


def test_a_damaged_search_that_is_running_is_refused(place, run_main):
    folder = write_search(place / "runs", "found")
    (folder / "tune.json").write_text("{}")
    with run_folder.locked(folder):
        process = run_main(place, "remove", "found", "--yes", *WHERE)
    assert_one_line(process, "found is being trained by another process")
    assert (folder / "tune.json").exists()


def test_links_are_never_followed(place, run_main):
    elsewhere = place / "elsewhere"
    (place / "saved" / "spam").rename(elsewhere)
    (place / "saved" / "spam").symlink_to(elsewhere)
    for target in ("spam", "spam/1", "saved/spam"):
        assert_one_line(run_main(place, "remove", target, "--yes", *WHERE), "is a link: remove the link itself")
    assert (elsewhere / "1" / "model_card.json").exists()
    run = place / "runs" / "classification" / "spam-bag-1"
    (place / "precious").write_text("x")
    (run / "inside").symlink_to(place / "precious")
    (run / "folder").symlink_to(elsewhere)
    assert run_main(place, "remove", "spam-bag-1", "--yes", *WHERE).returncode == 0
    assert not run.exists() and (place / "precious").exists() and (elsewhere / "1" / "model_card.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("remove spam-bag-3 --yes", "did you mean spam-bag-"),
        ("remove runs --yes", "no run, search or export 'runs'"),
        ("remove . --yes", "no run, search or export '.'"),
        ("remove spam --json", "--json needs --yes"),
        ("remove", "give a run, a search or an export, or --unused"),
        ("remove spam --unused", "give a run, a search or an export, or --unused"),
        ("remove both --yes", "'both' names classification/both, both: give the folder of one of them"),
    ],
)
def test_a_mistake_is_one_line(place, run_main, arguments, message):
    write_run(place / "runs", "both")
    write_export(place / "saved", "both")
    before = folders(place)
    assert_one_line(run_main(place, *arguments.split(), *WHERE), message)
    assert folders(place) == before
