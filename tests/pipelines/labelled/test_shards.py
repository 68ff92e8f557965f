"""What `prepare` writes for all tasks on labelled texts: rows, counts, notes and the texts to score on."""

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data import prepared
from pipelines.labelled import shards
from pipelines.labelled.sharded import survey
from pipelines.shards import shard_writer
from pipelines.support.errors import UserError


def write(tmp_path, encode, rows=60, **values):
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(rows)))
    config = ClassificationConfig(data=str(tmp_path / "a.csv"), **values)
    folder = tmp_path / "made"
    folder.mkdir()
    return shards.write(config, survey(config), folder, encode, bytes_per_character=1), folder


def encode(passed):
    for texts, labels in passed.training():
        for text, label in zip(texts, labels.tolist(), strict=True):
            yield shard_writer.Row(shard_writer.features(text=[text.encode()], label=[label]), len(text))


def test_the_contents_count_what_was_written(tmp_path):
    (tmp_path / "v.csv").write_text("text,label\nother,a\nTEXT 3,b\nodd,c\n")
    contents, folder = write(tmp_path, encode, valid=str(tmp_path / "v.csv"), max_bytes=500)
    assert contents.rows == {"train": 59, "valid": 2} and contents.details["class_rows"] == [30, 29]
    assert contents.details["classes"] == ["a", "b"] and contents.settings["max_bytes"] == 500
    assert contents.notes == {
        "left out of training, the same text is in validation": 1,
        "left out of validation, unknown label: c": 1,
    }
    prepared.write_manifest(folder, "classification", {}, contents)
    found = prepared.find(str(folder), "classification")
    assert found.read_rows("valid") == [{"text": "other", "label": 0}, {"text": "TEXT 3", "label": 1}]
    assert sum(shard.rows for shard in found.shards) == 59 and len(found.shards) == 16


def test_a_class_without_training_texts_is_refused(tmp_path):
    rows = "".join(f"text {i},a\n" for i in range(0, 60, 2))
    (tmp_path / "v.csv").write_text("text,label\n" + rows)
    with pytest.raises(UserError, match="the split left no text of the class 'a' in training"):
        write(tmp_path, encode, valid=str(tmp_path / "v.csv"))
