"""`train --from`, `train --config` and `--tensorboard` on tiny data."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.classification import continuing
from pipelines.classification.config import ClassificationConfig
from pipelines.data import sample_reviews
from pipelines.support import predictions
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import END, START, UNKNOWN
from tests.command_line import assert_one_line, train_here, where

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


@pytest.mark.slow
@pytest.mark.long
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


@pytest.mark.slow
@pytest.mark.long
def test_other_labels_and_another_network_are_refused(place, first):
    num_runs = len(list((place / "runs" / "classification").iterdir()))
    other = write_texts(place / "other.jsonl", 3, {"positive": "good", "negative": "bad"}.get)
    process = train_here(place, "train", "--from", "first", "--data", other, *where(place))
    message = "none of its labels (bad, good) is one of the model to continue from (negative, positive)"
    assert_one_line(process, message)
    second = write_texts(place / "third.jsonl", 6)
    process = train_here(place, "train", "--from", "first", "--data", second, "--hidden-size", 6, *where(place))
    assert_one_line(process, "--hidden-size 6: the model to continue from has 4: leave out the flag")
    assert len(list((place / "runs" / "classification").iterdir())) == num_runs


@pytest.mark.slow
@pytest.mark.long
def test_the_labels_of_a_network_grow_and_shrink(place, first):
    second = write_texts(place / "grown.jsonl", 7, {"positive": "positive", "negative": "mixed"}.get)
    arguments = ("--from", "first/1", "--data", second, "--learning-rate", "1e-9", "--name", "grown", "--json")
    process = train_here(place, "train", *arguments, *where(place))
    assert process.returncode == 0, process.stderr
    assert (
        "new labels: mixed\nnote: the model keeps its labels that these texts do not have: negative\n" in process.stderr
    )
    result = json.loads(process.stdout)
    assert result["classes"] == ["negative", "positive", "mixed"] and result["class_rows"]["negative"] == 0
    for before, after in zip(weights(folder_of(first)), weights(folder_of(result)), strict=True):
        np.testing.assert_allclose(after[tuple(map(slice, before.shape))], before, atol=1e-5)
    assert result["findings"]["continued"]["problem"] == ""
    report = (folder_of(result) / "report.md").read_text()
    assert "negative 0" in report


@pytest.mark.slow
@pytest.mark.long
def test_a_linear_model_of_several_labels_continues_with_others(place):
    def write(name, seed, rename):
        texts, labels, _, _ = sample_reviews.generate(300, seed)
        names = [rename[label] for label in labels]
        names = [f"{label}|long" if len(text) > 60 else label for text, label in zip(texts, names, strict=True)]
        rows = [{"text": text, "label": label} for text, label in zip(texts, names, strict=True)]
        (place / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return place / name

    first = run(
        place,
        *("classification", "--data", write("several.jsonl", 1, {"positive": "good", "negative": "bad"})),
        *("--labels-separator", "|", "--preset", "quick", "--name", "several", "--no-baseline"),
    )
    second = write("others.jsonl", 2, {"positive": "good", "negative": "new"})
    result = run(place, "--from", "several", "--data", second, "--force")
    assert first["classes"] == ["bad", "good", "long"] and result["model"] == "several/2"
    assert result["classes"] == ["bad", "good", "long", "new"] and result["class_rows"]["bad"] == 0
    by_class = {each["class"]: each["f1"] for each in result["scores"]["validation"]["by_class"]}
    assert by_class["good"] > 0.7 and by_class["new"] > 0.7
    compared = result["findings"]["continued"]
    assert (
        compared["problem"] == "" and compared["old"]["after"]["accuracy"] > compared["old"]["before"]["accuracy"] - 0.2
    )
    assert compared["new"]["after"]["loss"] < compared["new"]["before"]["loss"]


@pytest.mark.slow
@pytest.mark.long
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


@pytest.mark.slow
@pytest.mark.long
def test_a_run_keeps_its_validation_predictions(first):
    rows = predictions.read(folder_of(first))
    accuracy = (rows["label"] == rows["predicted"]).mean()
    assert accuracy == pytest.approx(first["scores"]["validation"]["accuracy"])


def test_texts_of_unknown_tokens_are_refused_and_few_known_ones_are_said(capsys, monkeypatch):
    monkeypatch.setattr(continuing, "result_of", lambda config: {"vocabulary_size": 8})
    ids = np.array([START, *[UNKNOWN] * 300, END], np.int32)
    with pytest.raises(UserError, match="new.csv: the model to continue from knows 0 of the 300 tokens of these texts"):
        continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    ids[1:101] = 8  # a token that the tokenizer of the run does not have
    with pytest.raises(UserError, match="knows 0 of the 300 tokens"):
        continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    ids[1:101] = 7
    continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    assert "knows 33% of the tokens" in capsys.readouterr().err
    ids[1:201] = 7
    continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    assert capsys.readouterr().err == ""
