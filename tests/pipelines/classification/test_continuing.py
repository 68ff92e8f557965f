"""`train --from`, `train --config` and `--tensorboard` on tiny data."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.data import sample_reviews
from pipelines.labelled import predictions
from tests.command_line import assert_one_line, train_here, where

pytestmark = [pytest.mark.slow, pytest.mark.long]

TINY = "--model cnn --preset quick --epochs 1 --embedding-size 4 --hidden-size 4 --vocabulary-size 200"


def write_texts(path, seed, rename=lambda label: label):
    texts, labels, _, _ = sample_reviews.generate(80, seed)
    lines = [f"{json.dumps({'text': text, 'label': rename(label)})}\n" for text, label in zip(texts, labels)]
    path.write_text("".join(lines))
    return path


def weights(folder, file="best"):
    with np.load(folder / "checkpoints" / f"{file}.npz") as saved:
        return [saved[name] for name in sorted(saved.files) if name != "position"]


def run(place, *arguments):
    process = train_here(place, "train", *arguments, "--json", *where(place))
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def folder_of(result):
    return Path(result["report"]).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def first(place):
    return run(place, "classification", "--data", write_texts(place / "first.jsonl", 1), *TINY.split())


def test_training_continues_from_the_weights_of_an_export(place, first):
    second = write_texts(place / "second.jsonl", 5)
    result = run(place, "--from", "first/1", "--data", second, "--learning-rate", "1e-9")
    assert result["model"] == "first/2" and result["config"]["hidden_size"] == 4
    assert result["config"]["data"] == str(second)
    for before, after in zip(weights(folder_of(first)), weights(folder_of(result)), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-5)
    assert not (place / "saved" / "second").exists()
    card = json.loads((place / "saved" / "first" / "2" / "model_card.json").read_text())
    assert str(place) not in json.dumps(card)


def test_other_labels_and_another_network_are_refused(place, first):
    num_runs = len(list((place / "runs" / "classification").iterdir()))
    other = write_texts(place / "other.jsonl", 3, {"positive": "good", "negative": "bad"}.get)
    process = train_here(place, "train", "--from", "first", "--data", other, *where(place))
    assert_one_line(process, "its labels (bad, good) are not those of the model to continue from (negative, positive)")
    second = write_texts(place / "third.jsonl", 6)
    process = train_here(place, "train", "--from", "first", "--data", second, "--hidden-size", 6, *where(place))
    assert_one_line(process, "--hidden-size 6: the model to continue from has 4: leave out the flag")
    assert len(list((place / "runs" / "classification").iterdir())) == num_runs


def test_a_repeated_run_has_the_same_weights_also_with_tensorboard(place, first):
    config = folder_of(first) / "config.json"
    again = run(place, "--config", config, "--run", "again", "--tensorboard")
    for before, after in zip(weights(folder_of(first), "last"), weights(folder_of(again), "last"), strict=True):
        np.testing.assert_array_equal(before, after)
    assert list((folder_of(again) / "tensorboard" / "validation").glob("events.*"))
    finished = run(place, "--config", config, "--tensorboard")
    assert finished["run"] == first["run"]  # the same name: --tensorboard is no setting of the run
    assert list((folder_of(first) / "tensorboard" / "training").glob("events.*"))
    assert again["scores"]["validation"] == first["scores"]["validation"]


def test_a_run_keeps_its_validation_predictions(first):
    rows = predictions.read(folder_of(first))
    accuracy = (rows["label"] == rows["predicted"]).mean()
    assert accuracy == pytest.approx(first["scores"]["validation"]["accuracy"])
