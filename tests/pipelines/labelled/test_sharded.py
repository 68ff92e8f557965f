"""Labelled texts of prepared data: the two passes over files, and the splits of a training."""

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data import prepared, sample_reviews
from pipelines.data.prepared import Contents, Shard
from pipelines.labelled import sharded, splits
from pipelines.labelled.describe import describe
from pipelines.shards import first_pass
from pipelines.support.errors import UserError


def write_reviews(path, count=200, first=0):
    texts, labels, _, _ = sample_reviews.generate(count + first)
    rows = list(zip(texts, labels, strict=True))[first:]
    path.write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in rows))
    return rows


def passes(config):
    """Returns (rows, texts and labels of training) after both passes."""
    surveyed = sharded.survey(config)
    rows = sharded.Rows(config, surveyed.train)
    pairs = [pair for texts, labels in rows.training() for pair in zip(texts, labels.tolist(), strict=True)]
    return surveyed, rows, pairs


def test_both_passes_give_the_splits_of_a_training_in_memory(tmp_path):
    write_reviews(tmp_path / "a.csv")
    config = ClassificationConfig(data=str(tmp_path / "a.csv"))
    expected = splits.read_and_split(config, polarity=False)
    surveyed, rows, training = passes(config)
    assert surveyed.train.classes == expected.classes and surveyed.own == {}
    assert training == list(zip(expected.train.texts, expected.train.labels, strict=True))
    valid = list(zip(expected.valid.texts, expected.valid.labels, strict=True))
    assert [(row["text"], row["label"]) for row in rows.held_out] == valid
    assert rows.class_rows.tolist() == expected.train.rows_of_classes(2)
    rows.check(len(valid))


def test_ones_own_validation_texts(tmp_path):
    write_reviews(tmp_path / "a.csv")
    (tmp_path / "v.csv").write_text("text,label\nother,positive\nodd,meh\n,positive\n")
    config = ClassificationConfig(data=str(tmp_path / "a.csv"), valid=str(tmp_path / "v.csv"))
    surveyed, rows, training = passes(config)
    assert len(training) == 200 and rows.held_out == []
    assert rows.own(surveyed.own["valid"], "valid") == [{"text": "other", "label": 1}]
    assert rows.notes == {"left out of validation, unknown label: meh": 1}
    assert surveyed.notes == {"left out of --valid, empty text": 1}


def test_a_folder_with_a_test_set(tmp_path):
    for split, count in (("train", 30), ("test", 4)):
        for label in ("neg", "pos"):
            (tmp_path / split / label).mkdir(parents=True)
            for i in range(count):
                (tmp_path / split / label / f"{i}.txt").write_text(f"{split} {label} {i}")
    (tmp_path / "train" / "pos" / "bad.txt").write_bytes(b"\xff\xff")
    surveyed, rows, training = passes(ClassificationConfig(data=str(tmp_path), polarity=True))
    assert surveyed.train.classes == ("negative", "positive") and surveyed.train.rows == 60
    assert len(training) + len(rows.held_out) == 60
    assert {(row["text"].split()[1], row["label"]) for row in rows.held_out} <= {("neg", 0), ("pos", 1)}
    assert len(rows.own(surveyed.own["test"], "test")) == 8
    assert surveyed.notes == {"left out, not UTF-8": 1}


def test_the_chunks_of_several_files_are_read_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.data.tables._CHUNK_ROWS", 30)
    rows = write_reviews(tmp_path / "a.csv", 100)
    rows += write_reviews(tmp_path / "b.csv", 50, first=100)
    config = ClassificationConfig(data=(str(tmp_path / "a.csv"), str(tmp_path / "b.csv")))
    surveyed, passed, training = passes(config)
    assert surveyed.train.rows == 150 and surveyed.train.characters == sum(len(text) for text, _ in rows)
    found = [text for text, _ in training] + [row["text"] for row in passed.held_out]
    assert set(found) <= {text for text, _ in rows}


def test_too_few_rows_and_lost_classes_are_refused(tmp_path):
    write_reviews(tmp_path / "a.csv", 19)
    with pytest.raises(UserError, match="only 19 rows have a text and a label; at least 20 are needed"):
        sharded.survey(ClassificationConfig(data=str(tmp_path / "a.csv")))
    write_reviews(tmp_path / "a.csv", 40)
    config = ClassificationConfig(data=str(tmp_path / "a.csv"), valid=str(tmp_path / "a.csv"))
    _, rows, training = passes(config)
    assert training == []
    with pytest.raises(UserError, match="the split left no text of the class 'negative' in training"):
        rows.check(40)


def test_the_lowest_texts_of_a_large_test_set(tmp_path, monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 5)
    write_reviews(tmp_path / "a.csv")
    (tmp_path / "v.csv").write_text("text,label\n" + "".join(f"text {i},positive\n" for i in range(30)))
    config = ClassificationConfig(data=str(tmp_path / "a.csv"), valid=str(tmp_path / "v.csv"))
    surveyed = sharded.survey(config)
    assert len(surveyed.own["valid"]) == 5
    assert surveyed.notes == {"left out of --valid, more than 5 texts to score on": 25}


def test_the_splits_of_a_training_leave_the_training_texts_in_the_shards(tmp_path):
    prepared.write_rows(tmp_path, "valid", [{"text": "a", "label": 1}, {"text": "b", "label": 0}])
    contents = Contents(
        {}, [Shard("x", 30, 300)], {"train": 30, "valid": 2}, {"n": 1}, {"classes": ["x", "y"], "class_rows": [10, 20]}
    )
    prepared.write_manifest(tmp_path, "classification", {}, contents)
    found = prepared.find(str(tmp_path), "classification")
    loaded = sharded.load(found, 32)
    assert len(loaded.train) == 30 and loaded.sharded == found and loaded.test is None
    assert loaded.valid.texts.tolist() == ["a", "b"] and loaded.valid.labels.tolist() == [1, 0]
    assert splits.class_rows(loaded) == {"x": 10, "y": 20} and loaded.notes == {"n": 1}
    assert describe(loaded) == "30 texts to train on, 2 to validate on"
    assert not loaded.multi_label
