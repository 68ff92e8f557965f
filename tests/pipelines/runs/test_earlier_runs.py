"""Runs with records of schema 3, made by version 0.9.0 and by later ones, are listed, compared, continued and repeated.

The archive has the records of runs of all tasks, and of classification/v090 also its weights and its export.
"""

import json
import tarfile

import numpy as np
import pytest

from tests.command_line import ROOT, train_here

GOLDEN = ROOT / "tests" / "golden" / "runs-schema-3.tar.xz"
NAMES = ("classification/v090", "language-model/v090", "nmt/v090", "encoder/v090", "transfer/v090")
LATER_NAMES = ("classification/folds", "classification/lstm", "tagging/later")
HERE = ("--runs", "runs", "--saved-models", "saved_models", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with runs, saved_models and reviews.csv."""
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(folder, filter="data")
    return folder


def call(folder, *arguments):
    """The JSON of a command."""
    process = train_here(folder, *arguments)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_runs_are_listed_with_their_scores(folder):
    runs = {run["name"]: run for run in call(folder, "list", *HERE)["runs"]}
    assert set(runs) >= {*NAMES, *LATER_NAMES}
    assert all(runs[name]["state"] == "finished" for name in (*NAMES, *LATER_NAMES))
    for name in (*NAMES, *LATER_NAMES):
        scores = json.loads((folder / "runs" / name / "result.json").read_text())["scores"]["validation"]
        assert runs[name]["score"] in scores.values()


@pytest.mark.parametrize("other", ["classification/lstm", "classification/folds"])
def test_runs_are_compared(folder, other):
    compared = call(folder, "compare", "classification/v090", other, "--runs", "runs", "--json")
    assert [run["scores"]["validation"]["accuracy"] for run in compared["runs"]][0] == pytest.approx(4 / 6)


@pytest.mark.long
@pytest.mark.slow
def test_an_export_is_evaluated(folder):
    flags = ("--data", "reviews.csv", "--name", "reviews", "--saved-models", "saved_models", "--json")
    assert call(folder, "evaluate", "classification", *flags)["accuracy"] == pytest.approx(41 / 60)


@pytest.mark.long
def test_a_run_is_repeated(folder):
    again = call(folder, "train", "--config", "runs/classification/v090", "--run", "again", *HERE)
    before = json.loads((folder / "runs/classification/v090/result.json").read_text())
    assert again["schema"] == 4 and again["parameters"] == before["parameters"] and again["rows"] == before["rows"]


@pytest.mark.long
def test_a_training_starts_from_an_export(folder):
    further = call(folder, "train", "--from", "reviews/1", "--data", "reviews.csv", "--run", "further", *HERE)
    assert further["schema"] == 4 and np.isfinite(further["scores"]["validation"]["log_loss"])
