import collections

import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load
from pipelines.support.errors import UserError

COUNTS = {"news": 30, "sport": 24, "chess": 3, "cricket": 1, "go": 2}


def table(tmp_path, name="texts.csv", counts=COUNTS, cell="{}"):
    rows = [f"text {label} {i},{cell.format(label)}" for label, count in counts.items() for i in range(count)]
    (tmp_path / name).write_text("\n".join(["text,label", *rows, ""]))
    return str(tmp_path / name)


def counted(splits):
    found = collections.Counter()
    for part in (splits.train, splits.valid):
        for names in part.labels if part.labels.ndim == 2 else np.eye(len(splits.classes), dtype=int)[part.labels]:
            found.update(splits.classes[i] for i in np.flatnonzero(names))
    return dict(found)


def test_rare_labels_are_left_out_and_counted(tmp_path):
    splits = load(ClassificationConfig(data=table(tmp_path), min_label_count=3).resolve())
    assert counted(splits) == {"news": 30, "sport": 24, "chess": 3}
    assert splits.notes["left out, the label has fewer than 3 texts"] == 3


def test_rare_labels_become_one(tmp_path):
    splits = load(ClassificationConfig(data=table(tmp_path), min_label_count=10, rare_labels="other").resolve())
    assert counted(splits) == {"news": 30, "sport": 24, "other": 6}
    assert not any("fewer than" in note for note in splits.notes)


def test_of_several_labels_only_the_rare_one_is_left_out(tmp_path):
    data = table(tmp_path, cell="{0}|all")
    config = ClassificationConfig(data=data, labels_separator="|", min_label_count=10)
    assert counted(load(config.resolve())) == {"news": 30, "sport": 24, "all": 60}
    config = ClassificationConfig(data=data, labels_separator="|", min_label_count=10, rare_labels="all")
    assert counted(load(config.resolve())) == {"news": 30, "sport": 24, "all": 60}


def test_validation_texts_follow_the_training(tmp_path):
    valid = table(tmp_path, "valid.csv", {"news": 4, "chess": 5})
    config = ClassificationConfig(data=table(tmp_path), valid=valid, min_label_count=10, rare_labels="other")
    splits = load(config.resolve())
    assert np.bincount(splits.valid.labels, minlength=3).tolist() == [4, 5, 0]
    assert splits.classes == ("news", "other", "sport")


def test_no_label_is_frequent(tmp_path):
    config = ClassificationConfig(data=table(tmp_path), min_label_count=31)
    with pytest.raises(UserError, match="--min-label-count 31: the most frequent label has 30 texts"):
        load(config.resolve())
    with pytest.raises(UserError, match="--rare-labels.*--min-label-count"):
        ClassificationConfig(data=table(tmp_path), rare_labels="other").resolve().check()
