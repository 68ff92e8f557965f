"""The folder of a study: its name and record, trials, shared data, its time, and a trial that becomes a run."""

import dataclasses
import pickle
import threading

import pytest

from pipelines import run_folder
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.tune import study as studies
from pipelines.tune.study import FINISHED, Outcome
from tests.pipelines.tune.searches import config_of, make_study


def test_the_name_depends_on_what_is_tried(tmp_path):
    one, same, other = (
        studies.find("sentiment", config_of(), tried, tmp_path, None).folder.name
        for tried in ({"ranges": {"a": [1]}}, {"ranges": {"a": [1]}}, {"ranges": {"a": [2]}})
    )
    assert one == same != other and one.startswith("sentiment-sample-")
    assert studies.find("sentiment", config_of(epochs=9), {"ranges": {"a": [1]}}, tmp_path, None).folder.name != one


def test_a_study_of_other_ranges_settings_or_data_is_refused(tmp_path):
    study = make_study(tmp_path)
    studies.save_or_check(study, {"ranges": {"a": (1, 2)}})
    studies.save_or_check(study, {"ranges": {"a": (1, 2)}})  # the same
    with pytest.raises(UserError, match="was started with other ranges: give another --run"):
        studies.save_or_check(study, {"ranges": {"a": (1, 3)}})
    with pytest.raises(UserError, match="was started with another epochs"):
        studies.save_or_check(make_study(tmp_path, config_of(epochs=9)), {"ranges": {"a": (1, 2)}})
    changed = dataclasses.replace(study.record, data=study.record.data | {"fingerprint": "other"})
    with pytest.raises(UserError, match="was started with other data"):
        studies.save_or_check(dataclasses.replace(study, record=changed), {"ranges": {"a": (1, 2)}})


def test_a_damaged_record_is_refused(tmp_path):
    study = make_study(tmp_path)
    studies.save_or_check(study, {})
    path = study.folder / "tune.json"
    path.write_text(path.read_text().replace("sentiment", "sentimant"))
    with pytest.raises(UserError, match=r"tune\.json is damaged or was edited"):
        studies.save_or_check(study, {})


def test_the_config_of_a_trial_is_kept(tmp_path):
    study = make_study(tmp_path)
    config = config_of(dropout=0.25).resolve()
    folder = studies.prepare_trial(study, 3, config)
    assert folder == study.folder / "trials" / "0003"
    assert studies.config_of(folder) == ("sentiment", dataclasses.replace(config, no_baseline=True))
    studies.prepare_trial(study, 3, config_of(dropout=0.5).resolve())
    assert studies.config_of(folder)[1].dropout == 0.25  # a trial keeps what it was started with


def test_an_outcome_is_read_as_it_was_written(tmp_path):
    outcome = Outcome(FINISHED, value=0.25, epochs=[{"epoch": 1}], scores={"validation": {"accuracy": 0.5}})
    assert studies.outcome_of(tmp_path) is None
    studies.write_outcome(tmp_path, outcome)
    assert studies.outcome_of(tmp_path) == outcome


def test_trials_share_the_data_unless_a_field_without_a_range_differs(tmp_path):
    base = config_of().resolve()
    shared = studies.shared_folder(tmp_path, base)
    assert studies.shared_folder(tmp_path, dataclasses.replace(base, dropout=0.1, learning_rate=0.3)) == shared
    assert studies.shared_folder(tmp_path, dataclasses.replace(base, vocabulary_size=99)) != shared


def test_the_data_is_read_once_and_without_its_test_set(tmp_path, monkeypatch):
    config, entry = config_of().resolve(), TASKS["sentiment"]
    calls = []

    def load(self, config):
        calls.append(config)
        splits = entry.data().load(config)
        return dataclasses.replace(splits, test=splits.valid)

    monkeypatch.setattr(type(entry), "load", load)
    for _ in range(2):
        studies.keep_splits(tmp_path / "shared", lambda: studies.load_splits("sentiment", config))
    first = studies.shared_splits(tmp_path / "shared")
    splits = entry.data().load(config)
    assert len(calls) == 1 and first.test is None and len(first.valid) > 0
    assert list(first.train.texts) == list(splits.train.texts) and list(first.valid.texts) == list(splits.valid.texts)


def test_the_data_that_an_installed_package_has_read_is_that_of_a_checkout(tmp_path):
    splits = studies.load_splits("sentiment", config_of().resolve())
    content = pickle.dumps(splits, protocol=0)  # with the names of modules as lines of text
    renamed = content.replace(b"cpipelines.", b"cunroll.pipelines.")
    assert renamed != content
    (tmp_path / "splits.pickle").write_bytes(renamed)
    again = studies.shared_splits(tmp_path)
    assert type(again) is type(splits) and list(again.train.texts) == list(splits.train.texts)


def test_the_lock_of_shared_data_is_waited_for(tmp_path):
    order = []

    def second():
        with studies.exclusive(tmp_path):
            order.append("second")

    with studies.exclusive(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        order.append("first")
    thread.join(30)
    assert order == ["first", "second"]


def test_the_time_counts_over_processes(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(studies.time, "time", lambda: now[0])
    clock = studies.Clock(tmp_path, 60)
    now[0] = 1050.0
    assert not clock.is_over
    clock.save()
    now[0] = 5000.0  # hours between two processes do not count
    clock = studies.Clock(tmp_path, 60)
    assert clock.stop_at == 5010.0 and not clock.is_over
    now[0] = 5011.0
    assert clock.is_over
    assert not studies.Clock(tmp_path, None).is_over


def test_a_trial_becomes_the_run_that_train_looks_for(tmp_path):
    study = make_study(tmp_path)
    config = config_of(dropout=0.25)
    trial = studies.prepare_trial(study, 2, config.resolve())
    studies.write_outcome(trial, Outcome(FINISHED))
    (trial / "checkpoints").mkdir()
    (trial / "checkpoints" / "last.npz").write_bytes(b"weights")
    shared = studies.shared_folder(study.folder, dataclasses.replace(config, no_baseline=True).resolve())
    (shared / "tokenizer").mkdir(parents=True)
    (shared / "tokenizer" / "words").touch()
    folder = studies.promote(study, 2, config.resolve(), tmp_path / "runs")
    record, found = run_folder.find(TASKS["sentiment"], config.resolve(), tmp_path / "runs", None)
    assert folder == found
    run_folder.save_or_check_record(folder, record, config.resolve())  # it is a run of this config
    assert {path.name for path in folder.iterdir()} == {"config.json", "checkpoints", "tokenizer"}
    (folder / "marker").touch()
    assert studies.promote(study, 2, config.resolve(), tmp_path / "runs") == folder and (folder / "marker").exists()
