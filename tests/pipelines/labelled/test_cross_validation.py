"""Cross-validation with the smallest classifier."""

import csv
import json

import pytest

from pipelines.data import sample_reviews
from pipelines.labelled import cross_validation
from tests.command_line import assert_one_line, train_here

FLAGS = [
    "--model",
    "bag",
    "--epochs",
    "1",
    "--batch-size",
    "32",
    "--ngram-buckets",
    "0",
    "--vocabulary-size",
    "100",
    "--embedding-size",
    "4",
]


@pytest.fixture
def data(tmp_path):
    texts, labels, *_ = sample_reviews.generate(120)
    with open(tmp_path / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))
        writer.writerow(["the only one", "rare"])
    return tmp_path / "a.csv"


def cross_validate(data, folder, *flags):
    folder.mkdir(exist_ok=True)
    arguments = ["--data", data, "--folds", 2, *FLAGS, "--runs", folder / "runs", *flags]
    return train_here(folder, "train", "classification", *arguments)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_measure_that_is_not_defined_in_a_fold_is_left_out_of_its_mean():
    values = {"f1": 0.5, "roc_auc": None, "log_loss": 1.0}
    found = cross_validation.summary([values | {"accuracy": 0.25}, values | {"accuracy": 0.75, "roc_auc": 0.5}])
    assert found["mean"] == {"accuracy": 0.5, "f1": 0.5, "roc_auc": 0.5, "log_loss": 1.0}
    deviation = found["standard_deviation"]
    assert deviation["accuracy"] == pytest.approx(0.35355, abs=1e-5) and deviation["roc_auc"] is None


@pytest.mark.long
def test_every_text_is_labelled_by_a_model_that_has_not_seen_it(data, tmp_path):
    process = cross_validate(data, tmp_path / "a", "--json", "--saved-models", tmp_path / "saved")
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert not (tmp_path / "saved").exists() and result["export"] == ""
    (folder,) = (tmp_path / "a" / "runs" / "classification").iterdir()
    rows = read(folder / "out_of_fold.csv")
    assert len(rows) == result["scores"]["validation"]["rows"] == 120  # without the only text of its class
    assert {row["fold"] for row in rows} == {"1", "2"} and not any(row["label"] == "rare" for row in rows)
    assert [fold["rows"] for fold in result["findings"]["folds"]["scores"]] == [60, 60]
    assert "never held out, the only text of its class" in result["notes"]
    errors = read(folder / "label_errors.csv")
    assert (
        all(row["label"] != row["predicted"] for row in errors)
        and len(errors) == result["findings"]["folds"]["label_errors"]
    )
    report = (folder / "report.md").read_text()
    assert "likely label errors" in report.lower() and "LinearSVC" in report.partition("## Baselines")[2]
    assert [len(fold["baselines"]) for fold in result["findings"]["folds"]["scores"]] == [3, 3]
    again = cross_validate(data, tmp_path / "a", "--json", "--saved-models", tmp_path / "saved")
    assert json.loads(again.stdout) == result and "is finished" in again.stderr


@pytest.mark.long
def test_an_interrupted_cross_validation_continues_with_the_fold_at_which_it_stopped(data, tmp_path, monkeypatch):
    assert cross_validate(data, tmp_path / "whole").returncode == 0
    real, calls = cross_validation.fit_and_measure, []

    def stop_at_the_second(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(cross_validation, "fit_and_measure", stop_at_the_second)
    assert cross_validate(data, tmp_path / "stopped").returncode == 130
    process = cross_validate(data, tmp_path / "stopped")
    assert process.returncode == 0 and "fold 1 of 2" not in process.stderr and len(calls) == 3
    files = [next(place.rglob("out_of_fold.csv")).read_bytes() for place in (tmp_path / "whole", tmp_path / "stopped")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--folds", "1"], "--folds 1: it must be 0 (none) or from 2 to 100"),
        (["--folds", "2", "--valid", "b.csv"], "--valid has no effect here: --folds holds out parts of --data in turn"),
        (["--folds", "2", "--name", "x"], "--name x has no effect: --folds exports no model"),
        (["--folds", "2", "--tensorboard"], "--tensorboard has no effect: --folds keeps no learning curves"),
        (["--folds", "99"], ""),
    ],
)
def test_what_does_not_fit_is_refused(data, tmp_path, run_main, flags, message):
    small = tmp_path / "small.csv"
    small.write_text("".join(data.read_text().splitlines(keepends=True)[:31]))
    message = message or "--folds 99: 30 different texts are too few"
    process = run_main(tmp_path, "train", "classification", "--data", small, "--runs", tmp_path / "runs", *flags)
    assert_one_line(process, message)
    assert not (tmp_path / "runs").exists()
