"""The life of a run, with a very small task."""

import contextlib
import csv
import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from pipelines import task
from pipelines.export import saved_model
from pipelines.runs import run
from pipelines.runs.run import Destination
from pipelines.support.errors import UserError
from tests.pipelines.runs.conftest import Config, train


def test_the_task_is_called_in_the_order_of_the_contract(small, tmp_path):
    train(tmp_path)
    others = ("UNIT", "summarize", "grow_tokenizer")  # the last one is for a training that continues from a run
    contract = [name for name in vars(task.Task) if not name.startswith("_") and name not in others]
    assert list(dict.fromkeys(small.calls)) == contract
    for name in set(contract) - {"batches"}:
        assert small.calls.count(name) == 1


@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"verify": False}, 0), ({"export": False}, 0)], ids=str)
def test_the_process_that_checks_the_export_starts_before_measuring(small, tmp_path, monkeypatch, options, count):
    @contextlib.contextmanager
    def process():
        small.calls.append("process")
        yield "the process"
        small.calls.append("end")

    checked = []
    monkeypatch.setattr(saved_model, "verifier_process", process)
    monkeypatch.setattr(saved_model, "_verify", lambda verifier, *rest: checked.append(verifier))
    monkeypatch.setattr(small, "write_report", lambda *arguments: None)
    run.train("small", Config().resolve(), Destination(tmp_path / "runs", tmp_path / "saved", **options))
    assert checked == ["the process"] * count
    assert [name for name in small.calls if name in ("process", "measure", "end")] == (
        ["process", "measure", "end"] if count else ["measure"]
    )


def test_a_run_leaves_its_record_its_checkpoints_its_metrics_its_report_and_its_result(small, tmp_path):
    result = train(tmp_path)
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    assert folder.name.startswith("sample-linear-")
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "config.json",
        "lock",
        "tokenizer/tokenizer.txt",
        "checkpoints/last.npz",
        "checkpoints/best.npz",
        "metrics.csv",
        "report.md",
        "export.json",
        "result.json",
    }
    values = json.loads((folder / "result.json").read_text())
    assert values.pop("sha256") and values == result.to_json()
    assert set(result.export_files) >= {"saved_model.pb", "model_card.json", "variables/variables.index"}
    config = json.loads((folder / "config.json").read_text())
    assert config["task"] == "small" and config["config"]["epochs"] == 2
    with open(folder / "metrics.csv", newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2"]


def test_the_result_has_the_facts_of_the_run(small, tmp_path):
    result = train(tmp_path)
    assert (result.task, result.sample, result.precision, result.parameters) == ("small", True, "float32", 2)
    assert (result.vocabulary_size, result.rows) == (10, {"train": 40, "valid": 10})
    assert len(result.epochs) == 2 and result.best_epoch == 2
    assert result.scores["validation"]["loss"] == min(row["val_loss"] for row in result.epochs)
    assert result.model == "small-sample/1" and result.export == str(tmp_path / "saved" / "small-sample" / "1")


def test_the_export_has_the_card_and_the_weights_of_the_best_epoch(small, tmp_path):
    result = train(tmp_path)
    card = json.loads((tmp_path / "saved" / "small-sample" / "1" / "model_card.json").read_text())
    assert (card["task"], card["scores"]) == ("small", result.scores)
    signature = tf.saved_model.load(result.export).signatures["serving_default"]
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    with np.load(folder / "checkpoints" / "best.npz") as best:
        expected = 2 * best["v00000"][0, 0] + best["v00001"][0]
    assert float(signature(text=tf.constant(["ab"]))["score"][0]) == pytest.approx(expected, rel=1e-5)


def test_two_runs_with_the_same_weights_make_two_versions(small, tmp_path):
    assert train(tmp_path, run="a").model == "small-sample/1"
    assert train(tmp_path, run="b").model == "small-sample/2"


def test_folders_that_cannot_be_written_to_are_noticed_before_training(small, tmp_path):
    (tmp_path / "saved").write_text("a file")
    with pytest.raises(
        UserError, match="^--saved-models .*saved.*: nothing can be written to .*saved .*: give another"
    ):
        train(tmp_path)
    (tmp_path / "saved").unlink()
    assert small.calls == []
    train(tmp_path)
    (tmp_path / "saved").rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "runs").write_text("a file")
    with pytest.raises(UserError, match="^--runs .*runs.*: nothing can be written to"):
        train(tmp_path / "other")


@pytest.mark.long
def test_names_of_run_and_export(small, tmp_path):
    data = tmp_path / "text.txt"
    data.write_text("1 22 333")
    assert train(tmp_path, Config(data=str(data)), run="mine", name="lengths").model == "lengths/1"
    assert (tmp_path / "runs" / "small" / "mine").is_dir()
    assert train(tmp_path, name="lengths").model == "lengths-sample/1"
    assert train(tmp_path, Config(seed=2), name="lengths-sample").model == "lengths-sample/2"


@pytest.mark.parametrize("destination", [{"run": "a/b"}, {"name": "../up"}])
def test_names_that_cannot_be_folders_are_refused_before_anything_is_written(small, tmp_path, destination):
    with pytest.raises(UserError, match="a name consists of"):
        train(tmp_path, **destination)
    assert not (tmp_path / "runs").exists() and small.calls == []


def test_a_setting_that_cannot_be_used_is_refused_before_anything_is_written(small, tmp_path):
    with pytest.raises(UserError, match="--patience 0"):
        train(tmp_path, Config(patience=0))
    assert not (tmp_path / "runs").exists()


def test_data_that_is_refused_leaves_no_folder(small, tmp_path):
    def refuse(config):
        raise UserError("the data has no text")

    small.load = refuse
    with pytest.raises(UserError, match="no text"):
        train(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_run_that_is_refused_before_its_training_leaves_no_folder(small, tmp_path):
    def refuse(*arguments):
        raise UserError("too little text")

    (tmp_path / "runs" / "small" / "mine").mkdir(parents=True)
    small.encode = refuse
    for name in (None, "mine"):
        with pytest.raises(UserError, match="too little text"):
            train(tmp_path, run=name)
    assert [path.name for path in (tmp_path / "runs" / "small").iterdir()] == ["mine"]


def test_the_completed_config_is_in_the_result_and_the_given_one_in_the_record(small, tmp_path):
    small.complete_config = lambda config, splits, tokenizer: dataclasses.replace(config, ema=True)
    result = train(tmp_path)
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    assert result.config["ema"] is True
    assert json.loads((folder / "config.json").read_text())["config"]["ema"] is False
    small.calls.clear()
    assert train(tmp_path) == result
