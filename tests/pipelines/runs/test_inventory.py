import datetime

import pytest

from pipelines.runs import inventory, run_folder
from pipelines.support.errors import UserError
from tests.pipelines.small_runs import write_export, write_run


def test_runs_are_listed_the_newest_first_and_other_folders_are_left_out(tmp_path):
    write_run(tmp_path, "old", started="2025-01-01T00:00:00+00:00")
    write_run(tmp_path, "new", task="nmt", started="2026-01-01T00:00:00+00:00")
    (tmp_path / "classification" / "notes").mkdir()
    assert [run.title for run in inventory.all_runs(tmp_path)] == ["nmt/new", "classification/old"]
    assert inventory.all_runs(tmp_path / "nowhere") == []


def test_the_state_of_a_run_is_that_of_its_records_and_its_lock(tmp_path):
    finished, unfinished = write_run(tmp_path, "a"), write_run(tmp_path, "b", finished=False)
    damaged = write_run(tmp_path, "c")
    (damaged / "result.json").write_text("{}")
    assert [inventory.read_run(path).state for path in (finished, unfinished, damaged)] == [
        "finished",
        "unfinished",
        "damaged",
    ]
    with run_folder.locked(unfinished):
        assert inventory.read_run(unfinished).state == "training"
    assert inventory.read_run(unfinished).state == "unfinished"


def test_a_run_is_found_by_folder_title_and_name(tmp_path):
    folder = write_run(tmp_path, "spam-bag-1")
    for named in (str(folder), "classification/spam-bag-1", "spam-bag-1"):
        assert inventory.find_run(tmp_path, named).path.samefile(folder)


def test_a_mistyped_run_has_one_suggestion(tmp_path):
    write_run(tmp_path, "spam-bag-1")
    with pytest.raises(UserError, match=r"no run 'spam-bag-2' in .*; did you mean spam-bag-1\?"):
        inventory.find_run(tmp_path, "spam-bag-2")


def test_a_name_of_two_tasks_is_refused(tmp_path):
    write_run(tmp_path, "a")
    write_run(tmp_path, "a", task="sentiment")
    with pytest.raises(UserError, match="several runs 'a': name one of (classification|sentiment)/a"):
        inventory.find_run(tmp_path, "a")


def test_exports_are_found_by_name_version_and_folder(tmp_path):
    for version in (1, 2, 10):
        write_export(tmp_path, "spam", version)
    write_export(tmp_path, "other")

    def found(named):
        return [exported.title for exported in inventory.find_exports(tmp_path, named)]

    assert found("spam") == ["spam/1", "spam/2", "spam/10"]
    assert found("spam/2") == found(str(tmp_path / "spam" / "2")) == ["spam/2"]
    assert found("spa") == found(".") == []


def test_the_run_of_an_export_is_found_by_its_number(tmp_path):
    write_run(tmp_path / "runs", "a", run="01")
    write_run(tmp_path / "runs", "b", run="02")
    write_export(tmp_path / "saved", "spam", 1, run="02")
    write_export(tmp_path / "saved", "spam", 2)
    first, second = inventory.all_exports(tmp_path / "saved")
    assert inventory.run_of_export(tmp_path / "runs", first).name == "b"
    assert inventory.run_of_export(tmp_path / "runs", second) is None


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_card_that_cannot_be_read_is_empty(tmp_path, content):
    folder = write_export(tmp_path, "spam")
    (folder / "model_card.json").write_text(content)
    assert inventory.card_of(inventory.all_exports(tmp_path)[0]) == {}


def test_the_main_score_is_that_of_the_validation_set():
    scores = {"test": {"accuracy": 1}, "validation": {"loss": 2, "bleu": 3.0}}
    assert inventory.main_score(scores, "nmt") == ("bleu", 3.0) and inventory.main_score(scores, "chess") is None
    assert inventory.main_score({"validation": {"accuracy": None, "loss": 0.0}}, "sentiment") == ("loss", 0.0)
    assert inventory.main_score({}, "tagging") is None


def test_the_size_does_not_follow_links(tmp_path):
    (tmp_path / "large").write_bytes(bytes(10_000))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(100))
    (folder / "link").symlink_to(tmp_path / "large")
    (folder / "folders").symlink_to(tmp_path)
    assert 100 < inventory.size_of(folder) < 1000


def test_ages_and_sizes_are_short():
    now = datetime.datetime.now(datetime.UTC)
    ages = [now - datetime.timedelta(**length) for length in ({"days": 3}, {"hours": 5}, {"minutes": 2})]
    assert [inventory.age(age.isoformat()) for age in ages] == ["3 d", "5 h", "2 min"]
    assert inventory.age(now.timestamp() - 7200) == "2 h" and inventory.age("") == "-"
    assert [inventory.size(n) for n in (12, 1500, 2_340_000, 5 * 10**9)] == ["12 B", "1.5 kB", "2.3 MB", "5.0 GB"]
