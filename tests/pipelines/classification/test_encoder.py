"""Classification with --encoder: a checkpoint goes in, is read by the linear model, and is part of the export."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf

from tests.command_line import assert_one_line, main, train_here, where
from tests.pipelines.pretrained.checkpoints import write_bert

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def handle(place):
    (place / "checkpoint").mkdir()
    return write_bert(place / "checkpoint")


def write_rows(path, rows):
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return path


@pytest.fixture(scope="module")
def data(place):
    rng = np.random.default_rng(1)
    words = ["the", "cat", "dog", "sat", "on", "mat", "a", "and", "run", "walk"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(200)]
    return write_rows(place / "animals.csv", [(text, "cat" if "cat" in text else "none") for text in texts])


def train(place, data, *flags, run=main):
    return run(place, "train", "classification", "--data", data, "--preset", "quick", "--json", *flags, *where(place))


@pytest.fixture(scope="module")
def result(place, data, handle):
    done = train(place, data, "--encoder", handle, "--name", "animals", "--run", "animals")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_export_reads_texts_and_has_a_copy_of_the_encoder(result, place):
    assert result["scores"]["validation"]["accuracy"] > 0.8
    folder = place / "saved" / "animals" / "1"
    loaded = tf.saved_model.load(str(folder))
    answer = loaded.signatures["serving_default"](text=tf.constant(["the cat sat", "the dog sat", ""]))
    assert answer["label"].numpy()[:2].tolist() == [b"cat", b"none"]
    explained = loaded.signatures["explain"](text=tf.constant(["the cat sat on the mat"]))
    assert explained["pieces"].numpy()[0][np.argmax(np.abs(explained["weights"].numpy()[0]))] == b"cat"
    assert json.loads((folder / "model_card.json").read_text())["config"]["encoder"] == "checkpoint"


def test_the_report_says_what_the_encoder_gave(result, place):
    report = (place / "runs" / "classification" / "animals" / "report.md").read_text()
    assert re.search(r"left out of a fit: n-grams alone \d\.\d+, the encoder alone \d\.\d+, both \d\.\d+", report)
    losses = result["left_out_losses"]
    assert losses["both"] <= min(losses["n-grams"], losses["encoder"]) + 1e-6


def test_texts_are_encoded_once(result, place):
    files = list((place / "runs" / "classification" / "animals").glob("vectors-*.npy"))
    assert sorted(len(np.load(path)) for path in files) == [21, 179]


def test_the_same_command_ends_with_the_same_run(result, place, data, handle):
    done = train(place, data, "--encoder", handle, "--name", "animals", "--run", "animals")
    assert done.returncode == 0 and json.loads(done.stdout)["scores"] == result["scores"]


@pytest.mark.exhaustive
def test_pairs(place, handle):
    rows = [("the cat,the cat", "same"), ("the dog,a dog", "same"), ("the cat,a dog", "other"), ("a mat,run", "other")]
    path = place / "labelled_pairs.csv"
    path.write_text("one,two,label\n" + "".join(f"{pair},{label}\n" for pair, label in rows * 15))
    done = train(place, path, "--encoder", handle, "--pair-columns", "one,two", run=train_here)
    assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
def test_several_labels(place, handle):
    path = place / "several.csv"
    path.write_text("text,label\n" + "the cat,a|b\na dog,b\nrun,a\nwalk,\n" * 15)
    done = train(place, path, "--encoder", handle, "--labels-separator", "|", run=train_here)
    assert done.returncode == 0, done.stderr


def test_pairs_with_several_labels(place, handle):
    rows = "the cat,the cat,same|cat\nthe dog,a dog,same\nthe cat,a dog,cat\na mat,run,\n"
    (place / "pairs.csv").write_text("one,two,label\n" + rows * 15)
    flags = ["--encoder", handle, "--pair-columns", "one,two", "--labels-separator", "|", "--name", "pairs"]
    done = train(place, place / "pairs.csv", *flags, run=train_here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["classes"] == ["cat", "same"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--encoder", "nowhere"), "--encoder nowhere: there is no such folder"),
        (("--encoder", "hf://nowhere"), "write hf://ORG/NAME"),
        (("--encoder", ".", "--model", "gru"), "--encoder has no effect"),
    ],
)
def test_what_is_no_encoder_is_refused_in_one_line(flags, message, place, data):
    assert_one_line(train(place, data, *flags), message)
