"""The report of a search: the table of its trials, Optuna's pictures, and the lines for the terminal."""

import dataclasses

import pytest
from PIL import Image

from pipelines.tune import search_report
from pipelines.tune.search import Search, best
from pipelines.tune.study import FAILED, PRUNED, Outcome
from tests.pipelines.tune.searches import Pool, make_study, outcome_of_settings, space

RESULT = {"run": "0123", "export": "/exports/sentiment/3", "report": "/runs/sentiment/a/report.md"}


def outcome(config):
    if config.dropout > 0.5:
        return Outcome(FAILED, reason="the loss is not a number")
    found = outcome_of_settings(config)
    return dataclasses.replace(found, state=PRUNED, scores={}) if config.learning_rate > 0.05 else found


@pytest.fixture
def written(tmp_path):
    study = make_study(tmp_path)
    search = Search(study, space(), 15, None)
    search.run(Pool(outcome))
    tried = search.tried()
    report = search_report.write(study, space(), search, tried, "train sentiment --dropout 0.1", RESULT)
    return study.folder, tried, report


def test_the_report_names_the_best_trial_its_command_and_every_trial(written):
    folder, tried, report = written
    text = (folder / "report.md").read_text()
    winner = best(tried)
    accuracy = winner.outcome.scores["validation"]["accuracy"]
    assert f"Trial {winner.number} is the best of 15: accuracy {accuracy:.3f}" in text
    assert "```\ntrain sentiment --dropout 0.1\n```" in text and "/exports/sentiment/3" in text
    assert "is optimistic" in text and "embedded sample" in text
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert rows[0].split()[0] == str(winner.number) and len(rows) == 15
    assert "0 (preset)" in rows
    failed = [each.number for each in tried if each.outcome.state == FAILED]
    assert failed and all(f"- Trial {number} failed: the loss is not a number" in text for number in failed)
    assert "| learning_rate | 0.001 to 0.1, log scale |" in text
    assert report["best"] == winner.number and sum(report["states"].values()) == 15


def test_the_pictures_are_drawn_and_in_the_report(written):
    folder, _, _ = written
    text = (folder / "report.md").read_text()
    for name in ("history", "importances", "slices"):
        with Image.open(folder / f"{name}.png") as picture:
            assert picture.width > 300
        assert f"({name}.png)" in text


def test_a_search_of_one_trial_has_a_report(tmp_path):
    study = make_study(tmp_path)
    search = Search(study, space(), 1, None)
    search.run(Pool())
    report = search_report.write(study, space(), search, search.tried(), "train sentiment", RESULT)
    assert ".png" not in (study.folder / "report.md").read_text()
    assert "the preset" in search_report.summarize(report, "summary of train")


def test_the_terminal_shows_the_best_trials_and_the_preset(written):
    _, tried, report = written
    lines = search_report.summarize(report, "summary of train").splitlines()
    numbers = [int(line.split()[0]) for line in lines[1:] if line.split() and line.split()[0].isdigit()]
    assert numbers[0] == best(tried).number and 0 in numbers and len(numbers) <= 6
    assert "summary of train" in lines and any("train sentiment --dropout 0.1" in line for line in lines)
