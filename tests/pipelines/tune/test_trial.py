"""A trial: a training without an export that stops, continues, and is pruned."""

import dataclasses
import fcntl
import os
import subprocess
import sys

import pytest

from pipelines.support.errors import UserError
from pipelines.tune import search, trial
from pipelines.tune import study as studies
from pipelines.tune.study import FAILED, FINISHED, PRUNED, UNFINISHED
from pipelines.tune.trial import Spec
from tests.command_line import ROOT
from tests.pipelines.tune.searches import config_of, make_study

WORDS = {"positive": ["good", "fine", "lovely"], "negative": ["bad", "poor", "awful"]}


@pytest.fixture
def config(tmp_path):
    rows = [
        f"the film number {i} is {word},{label}" for label, words in WORDS.items() for word in words for i in range(20)
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    return config_of(
        data=str(tmp_path / "reviews.csv"), preset="quick", ngram_buckets=0, embedding_size=4, batch_size=16, epochs=4
    )


def prepared(tmp_path, config, name="a"):
    study = make_study(tmp_path, config, name=name)
    studies.prepare_trial(study, 0, config.resolve())
    return study


def spec_of(study, **changes):
    return Spec(str(study.folder), 0, **changes)


@pytest.mark.long
def test_a_trial_that_is_stopped_goes_on_and_ends_with_the_same_bits(tmp_path, config):
    whole = trial.run(spec_of(prepared(tmp_path, config, "whole")))
    assert whole.state == FINISHED and len(whole.epochs) == 4 and whole.scores["validation"]["rows"] > 0
    assert "baselines" not in whole.scores["validation"] and whole.parameters > 0
    study = prepared(tmp_path, config)
    for _ in range(2):
        assert trial.run(spec_of(study, stop_at=1.0)).state == UNFINISHED
        assert studies.outcome_of(study.trial(0)) is None
    rest = trial.run(spec_of(study))
    assert (rest.value, rest.epochs, rest.scores) == (whole.value, whole.epochs, whole.scores)
    assert studies.outcome_of(study.trial(0)) == rest
    assert trial.run(spec_of(study)) == rest  # it has ended: nothing is trained


@pytest.mark.long
def test_a_trial_reports_its_epochs_and_is_pruned_if_it_is_worse_than_most(tmp_path, config):
    study = prepared(tmp_path, config)
    of_optuna = search.load_study(study.journal)
    first = of_optuna.ask()
    for _ in range(4):
        good = of_optuna.ask()
        for epoch in range(1, 5):
            good.report(-1.0, epoch)
        of_optuna.tell(good, -1.0)
    outcome = trial.run(spec_of(study, trial_id=first._trial_id, prune=True))
    assert outcome.state == PRUNED and len(outcome.epochs) == 2 and outcome.scores == {}
    reported = of_optuna.trials[first.number].intermediate_values
    assert reported == {row["epoch"]: row["val_loss"] for row in outcome.epochs}
    study = prepared(tmp_path, config, "preset")
    shared = dataclasses.replace(spec_of(study), trial_id=search.load_study(study.journal).ask()._trial_id)
    assert trial.run(shared).state == FINISHED


@pytest.mark.long
@pytest.mark.slow
def test_a_training_that_diverges_is_a_failed_trial_and_no_trial_needs_the_files_of_the_data(tmp_path, config):
    config = dataclasses.replace(config, learning_rate=1e30)  # the loss is not a number
    study = prepared(tmp_path, config)
    (tmp_path / "reviews.csv").unlink()
    outcome = trial.run(spec_of(study))
    assert outcome.state == FAILED and "the loss is not a number in any epoch" in outcome.reason
    assert studies.outcome_of(study.trial(0)) == outcome


def test_a_folder_that_another_machine_does_not_see_is_refused(tmp_path):
    with pytest.raises(UserError, match="a file system that all machines share"):
        trial.run(Spec(str(tmp_path / "nowhere"), 0))


def test_a_process_that_is_stopping_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "_LOCK_SECONDS", 0)
    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="is being trained by another process"), trial._locked(tmp_path):
            pass
    with trial._locked(tmp_path), open(tmp_path / "lock") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_process_ends_when_its_stdin_is_closed():
    code = "import time; from pipelines.tune.trial import stop_with_parent; stop_with_parent(); time.sleep(300)"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=ROOT, env=os.environ)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) < 0
