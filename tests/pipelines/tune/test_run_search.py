"""The life of a search: what is exported, its command, the same search again; and a real one that is killed."""

import contextlib
import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

import main as main_module
from pipelines.runs import inventory
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.tune import command, run_search, workers
from pipelines.tune import study as studies
from pipelines.tune.inventory import read_search
from pipelines.tune.study import UNFINISHED, Outcome
from tests.command_line import ROOT
from tests.pipelines.tune.searches import Pool, config_of, make_study, outcome_of_settings, space


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a search with a pool in place of processes, and without the export; returns (report, text, exported)."""

    def run(pool, num_trials=6, config=None, **flags):
        exported = []

        def export(command, study, number, config):
            exported.append((number, config))
            return {"run": "0123", "export": "/exports/1", "report": "/runs/report.md"}, "summary of train"

        monkeypatch.setattr(workers, "connected", lambda address, parallel: contextlib.nullcontext(pool))
        monkeypatch.setattr(run_search, "_export", export)
        config = config or config_of()
        made = command.command_of(TASKS["sentiment"])(
            task="sentiment", config=config, runs=tmp_path / "runs", run="a", **flags
        )
        return *run_search.run(made, space(config), num_trials), exported

    return run


def test_the_best_trial_is_exported_with_a_command_that_gives_its_settings(run, tmp_path):
    report, text, [(number, config)] = run(Pool())
    settings = report["trials"][report["best"]]["settings"]
    assert number == report["best"] and {field: getattr(config.resolve(), field) for field in settings} == settings
    parsed = main_module.parse(shlex.split(report["command"])[2:])
    assert parsed.config == config and parsed.runs == tmp_path / "runs"
    assert report["command"] in text and "summary of train" in text
    assert (tmp_path / "runs" / "tune" / "a" / "report.md").exists()


def test_the_command_has_no_flag_that_only_repeats_the_preset(run):
    good = lambda config: dataclasses.replace(outcome_of_settings(config), value=1.0)  # noqa: E731 (the first is best)
    report, _, [(_, config)] = run(Pool(good), name="mine")
    assert report["best"] == 0 and config == config_of()
    assert " --name mine" in report["command"] and "--learning-rate" not in report["command"]


def test_a_search_without_a_finished_trial_exports_nothing(run):
    with pytest.raises(UserError, match="more --minutes"):
        run(Pool(lambda config: Outcome(UNFINISHED)), 1)
    report, _, exported = run(Pool(), 3)
    assert len(report["trials"]) == 3 and exported


@pytest.mark.long
def test_a_finished_search_that_gets_more_trials_and_is_interrupted_is_unfinished(run, tmp_path):
    run(Pool(), 3)
    assert read_search(tmp_path / "runs" / "tune" / "a").state == "finished"
    run(Pool(), 3)  # nothing to train
    with pytest.raises(KeyboardInterrupt):
        run(Pool(die_after=1), 5)
    search = read_search(tmp_path / "runs" / "tune" / "a")
    assert (search.state, search.trials) == ("unfinished", 3)
    run(Pool(), 5)
    assert read_search(search.path).state == "finished"


def test_other_ranges_in_the_same_folder_are_refused(run, monkeypatch):
    run(Pool(), 2)
    with pytest.raises(UserError, match="was started with another epochs: give another --run"):
        run(Pool(), 2, config_of(epochs=9))


def test_two_searches_in_the_same_folder_are_refused(tmp_path):
    study = make_study(tmp_path)
    with run_search.opened(study, {}), pytest.raises(UserError, match="by another process"):
        with run_search.opened(study, {}):
            pass


def test_data_that_is_refused_leaves_no_folder(tmp_path):
    (tmp_path / "few.csv").write_text("text,label\ngood,positive\n")
    study = studies.find("sentiment", config_of(data=str(tmp_path / "few.csv")), {}, tmp_path / "runs", "a")
    with pytest.raises(UserError, match="few"):
        with run_search.opened(study, {}):
            pass
    assert not (tmp_path / "runs").exists()


WORDS = {"positive": ["good", "fine", "lovely"], "negative": ["bad", "poor", "awful"]}
FLAGS = "--model bag --preset quick --epochs 2 --fields learning_rate dropout --trials 2 --parallel 1 --run a --json"


def start(folder, *more):
    flags = [*FLAGS.split(), "--data", "reviews.csv", "--runs", "runs", "--saved-models", "saved", *more]
    command = [sys.executable, str(ROOT / "main.py"), "tune", "sentiment", *flags]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.long
def test_a_search_that_is_killed_and_interrupted_ends_with_the_same_trials_and_export(tmp_path):
    rows = [f"film {i} is {word},{label}" for label, words in WORDS.items() for word in words for i in range(100)]
    results = []
    for name in ("whole", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
        trials = folder / "runs" / "tune" / "a" / "trials"
        if name == "killed":
            # Killed in the first trial: its process notices, and ends. Then interrupted in the second one.
            process = start(folder)
            wait_for((trials / "0000" / "metrics.csv").exists, process)
            process.kill()
            process.communicate()
            process = start(folder)
            wait_for((trials / "0001" / "metrics.csv").exists, process)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=240)
            assert process.returncode == 130
            assert errors.splitlines()[-1].startswith("interrupted. The same command continues")
            assert not inventory.is_locked(trials / "0001")
        process = start(folder)
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        results.append(json.loads(output))
        assert (folder / results[-1]["export"] / "saved_model.pb").exists()
        assert re.search(r"the best of 2 trials is trial \d", errors)
    again = start(folder)
    output, errors = again.communicate(timeout=300)
    assert again.returncode == 0 and json.loads(output) == results[-1]
    assert "is finished" in errors  # nothing was trained or exported again
    assert os.listdir(folder / "saved" / "sentiment") == ["1"]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows[1:]]) + "\n")
    refused = start(folder)
    _, errors = refused.communicate(timeout=300)
    assert refused.returncode == 2 and "was started with other data" in errors.splitlines()[-1]
    for whole, killed in zip(results[0]["trials"], results[1]["trials"], strict=True):
        assert (whole["settings"], whole["value"], whole["scores"]) == (
            killed["settings"],
            killed["value"],
            killed["scores"],
        )
