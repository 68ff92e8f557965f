"""Searches and grids on this machine: what their records state, and whether one is running."""

import os

from pipelines.runs import run_folder
from pipelines.support.files import read_json
from pipelines.tune.inventory import all_searches, read_search
from pipelines.tune.study import FAILED, FINISHED, PRUNED, Outcome
from tests.pipelines.small_runs import write_search


def finished(value, accuracy):
    return Outcome(FINISHED, value=value, scores={"validation": {"accuracy": accuracy, "loss": value}})


OUTCOMES = [finished(0.5, 0.7), finished(0.4, 0.8), Outcome(PRUNED, value=0.1), Outcome(FAILED, reason="no memory")]


def test_the_best_trial_is_the_finished_one_with_the_lowest_value(tmp_path):
    search = read_search(write_search(tmp_path, "a", OUTCOMES))
    assert (search.title, search.trials, search.best) == ("tune/a", 4, ("accuracy", 0.8))
    assert search.record["kind"] == "search" and search.state == "finished"


def test_a_search_without_a_finished_trial_has_no_score(tmp_path):
    search = read_search(write_search(tmp_path, "a", OUTCOMES[2:], finished=False))
    assert (search.trials, search.best, search.state) == (2, None, "unfinished")
    (search.path / "trials" / "0002").mkdir()  # one that has not ended
    assert read_search(search.path).trials == 2


def test_a_search_or_one_of_its_trials_is_training(tmp_path):
    folder = write_search(tmp_path, "a", OUTCOMES)
    for locked in (folder, folder / "trials" / "0001"):
        with run_folder.locked(locked):
            assert read_search(folder).state == "training"
    assert read_search(folder).state == "finished"


def test_a_damaged_record_is_a_state(tmp_path):
    folder = write_search(tmp_path, "a", OUTCOMES)
    path = folder / "tune.json"
    assert read_json(path)["task"] == "sentiment"
    path.write_text(path.read_text().replace("sentiment", "sentimant"))
    search = read_search(folder)
    assert (search.state, search.record, search.best) == ("damaged", {}, None)


def test_searches_are_listed_the_newest_first_and_other_folders_are_left_out(tmp_path):
    assert all_searches(tmp_path) == []
    for name, time in (("old", 1), ("new", 3), ("middle", 2)):
        os.utime(write_search(tmp_path, name) / "tune.json", (time, time))
    (tmp_path / "tune" / "notes").mkdir()
    write_search(tmp_path, ".tmp-host-1")
    assert [search.name for search in all_searches(tmp_path)] == ["new", "middle", "old"]
