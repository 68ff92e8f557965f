import csv

import numpy as np
import pytest
from rich.cells import cell_len

from pipelines.data import sources, table_options
from pipelines.labelled import metrics
from pipelines.labelled.evaluate import evaluate, format_scores
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from tests.pipelines.labelled.conftest import write_export


def write(path, *rows):
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return str(path)


def test_scores_and_mistakes(exported, tmp_path):
    data = write(tmp_path / "a.csv", ("good", "pos"), ("bad", "neg"), ("a fog", "neg"), ("fine", "pos"), ("", "neg"))
    scores = evaluate(exported, data, mistakes=tmp_path / "wrong.csv")
    assert (scores["rows"], scores["accuracy"], scores["confusion_matrix"]) == (4, 0.5, [[1, 1], [1, 1]])
    assert (scores["model"], scores["data"], scores["left_out"]) == ("sentiment/1", "a", {"empty text": 1})
    with open(tmp_path / "wrong.csv", newline="") as file:
        wrong = list(csv.DictReader(file))
    assert [(row["text"], row["label"], row["predicted"], row["score"]) for row in wrong] == [
        ("a fog", "negative", "positive", "0.900000"),
        ("fine", "positive", "negative", "0.700000"),
    ]
    table = format_scores(scores)
    assert "0.5000" in table and "calibration error" in table and "left out, empty text: 1" in table
    assert not scores["trained_on"] and "was trained on these texts" not in table


def test_the_texts_of_the_training_are_reported_as_such(tmp_path):
    data = write(tmp_path / "a.csv", ("good", "pos"), ("bad", "neg"))
    trained = {"name": "a", "fingerprint": sources.fingerprint(data, TASKS["classification"])}
    scores = evaluate(write_export(tmp_path / "saved", data=trained), data)
    assert scores["trained_on"] and "The model was trained on these texts" in format_scores(scores)


def test_the_test_set_is_used_where_there_is_one(exported, tmp_path):
    for name, text in {
        "train/pos/1.txt": "good",
        "test/pos/1.txt": "great",
        "test/neg/1.txt": "bad",
        "test/neg/2.txt": "sad",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "train/neg").mkdir()
    (tmp_path / "train/neg/1.txt").write_text("bad")
    assert evaluate(exported, str(tmp_path))["rows"] == 3


def test_another_spelling_of_the_labels_is_understood_only_with_polarity(exported, tmp_path):
    data = write(tmp_path / "a.csv", ("good", "1"), ("bad", "0"))
    assert evaluate(exported, data)["rows"] == 2
    with pytest.raises(UserError, match=r"its labels \(0, 1\) are none of classification/1's \(negative, positive\)"):
        evaluate(write_export(tmp_path, "classification", polarity=False), data)


def test_without_data_the_model_must_be_of_the_sample(exported, tmp_path):
    with pytest.raises(UserError, match="was trained on real texts.*--data"):
        evaluate(exported, None)
    assert evaluate(write_export(tmp_path, "sentiment-sample", sample=True), None)["rows"] == 1000


def test_the_file_of_mistakes_must_not_exist(exported, tmp_path):
    data = write(tmp_path / "a.csv", ("good", "pos"), ("bad", "neg"))
    with pytest.raises(UserError, match="exists already.*--mistakes"):
        evaluate(exported, data, mistakes=tmp_path / "a.csv")


def test_several_labels_are_measured_and_mistakes_name_what_is_missing_and_added(topics, tmp_path):
    data = write(tmp_path / "a.csv", ("sport", "sport|food"), ("food", "food"), ("food two", ""), ("x", "odd"))
    scores = evaluate(topics, data, mistakes=tmp_path / "wrong.csv")
    assert (scores["rows"], scores["accuracy"], scores["micro_f1"]) == (4, 0.5, 4 / 6)
    assert scores["left_out"] == {"unknown label": 1} and len(scores["unknown_labels"]) == 1
    with open(tmp_path / "wrong.csv", newline="") as file:
        wrong = [list(row.values()) for row in csv.DictReader(file)]
    assert wrong == [["sport", "food|sport", "sport", "food", ""], ["food two", "", "food", "", "food"]]
    table = format_scores(scores)
    assert "micro-F1" in table and "all labels of a text correct" in table and "left out, unknown label: 1" in table
    assert f"the model does not have the labels {next(iter(scores['unknown_labels']))}" in table


def test_several_labels_may_be_spelled_otherwise_than_in_training(topics, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,sport,food\nsport,1,0\nfood,0,1\n")
    assert evaluate(topics, str(path), table_options.make(label_columns="sport,food"))["accuracy"] == 1
    data = write(tmp_path / "b.csv", ("sport", "sport;food"))
    assert evaluate(topics, data, table_options.make(labels_separator=";"))["micro_recall"] == 0.5
    with pytest.raises(UserError, match=r"its labels \(sport;food\) are none of topics/1's \(food, sport\)"):
        evaluate(topics, data)


def test_the_flags_of_several_labels_are_refused_for_a_model_with_one(exported, tmp_path):
    data = write(tmp_path / "a.csv", ("good", "pos|neg"))
    with pytest.raises(UserError, match="gives each text one label: leave out --labels-separator"):
        evaluate(exported, data, table_options.make(labels_separator="|"))


def test_a_class_without_texts_is_named(exported, tmp_path):
    scores = evaluate(exported, write(tmp_path / "a.csv", ("good", "pos"), ("great", "pos")))
    assert "no text has the label negative: left out of the means" in format_scores(scores)


def test_mistakes_keep_the_other_columns_of_the_user(exported, topics, tmp_path, capsys):
    (tmp_path / "a.csv").write_text(
        "id,text,label,url\n1,good,positive,x\n2,bad,odd,y\n3,a fog,negative,z\n4,fine,positive,\n"
    )
    evaluate(exported, str(tmp_path / "a.csv"), mistakes=tmp_path / "wrong.csv", by="url")
    assert (tmp_path / "wrong.csv").read_text() == (
        "text,label,predicted,score,id,url\na fog,negative,positive,0.900000,3,z\nfine,positive,negative,0.700000,4,\n"
    )
    (tmp_path / "b.csv").write_text("id,text,label,added\n1,sport,sport|food,x\n2,food,food,y\n")
    evaluate(topics, str(tmp_path / "b.csv"), mistakes=tmp_path / "sets.csv")
    with open(tmp_path / "sets.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["id"], row["added"], row["evaluated_missing"], row["evaluated_added"]) == ("1", "x", "food", "")
    assert "evaluated_text, evaluated_labels" in capsys.readouterr().err


def scores_of(names):
    """Scores of `evaluate` for classes with these names; the first one is taken for the second one once."""
    labels = np.concatenate([np.arange(len(names)), np.arange(len(names))])
    probabilities = np.eye(len(names))[labels] * 0.9 + 0.1 / len(names)
    probabilities[0, :2] = [0.05, 0.9]
    texts = np.array(["a text"] * len(labels), dtype=object)
    about = {"model": "m/1", "data": "d", "classes": list(names), "left_out": {}, "unknown_labels": {}}
    return metrics.compute_scores(labels, probabilities, tuple(names), texts) | about | {"trained_on": False}


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("number", [2, 5, 14, 15, 20, 150])
def test_no_line_is_wider_than_a_terminal(monkeypatch, columns, number):
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ["x" * 10_000, "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 30, *(f"topic {i}" for i in range(number - 2))]
    table = format_scores(scores_of(names))
    long = [line for line in table.splitlines()[1:] if cell_len(line) > max(columns, 78)]
    assert not long
    assert "true label" in table
    if number > 14:
        assert "predicted label" in table
    if number == 2:
        assert "predicted label" not in table


def test_of_many_classes_the_most_frequent_confusions_are_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = format_scores(scores_of([f"topic {i}" for i in range(20)])).splitlines()
    at = next(i for i, line in enumerate(lines) if "predicted label" in line)
    assert lines[at + 1].split() == ["topic", "0", "topic", "1", "1"]
    assert lines[at + 2] == ""
