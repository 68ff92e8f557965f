import re

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import examine, findings
from pipelines.support.errors import UserError


def config_of(path, **values):
    return ClassificationConfig(data=str(path), **values).resolve()


def write(path, rows):
    path.write_text("id,text,label\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(rows)))
    return path


def test_columns_labels_lengths_and_what_training_would_use(tmp_path):
    rows = [(f"word {i} and more", "spam" if i % 4 == 0 else "ham") for i in range(40)]
    found = examine.examine(config_of(write(tmp_path / "a.csv", [*rows, ("", "ham")])), polarity=False)
    assert found["columns"]["text"] == "text" and found["columns"]["label"] == "label"
    assert found["columns"]["all"] == ["id", "text", "label"] and found["columns"]["group"] is None
    assert found["rows"] == {"train": 40} and found["left_out"] == {"empty text": 1}
    assert found["labels"] == {"ham": 30, "spam": 10}
    assert found["words"] == {"min": 4, "median": 4, "95 %": 4, "max": 4}
    training = found["training"]
    assert training["train"] + training["validation"] == 40 and set(training["classes"]) == {"ham", "spam"}
    assert "spam" in training["rare"] and "refusal" not in found


def test_what_training_would_refuse_is_the_reason(tmp_path):
    found = examine.examine(config_of(write(tmp_path / "a.csv", [("x", "ham"), ("y", "ham")])), polarity=False)
    assert "all 2 rows have the label 'ham'" in found["refusal"] and "training" not in found


def test_data_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        examine.examine(config_of(tmp_path / "nowhere.csv"), polarity=False)


def test_leaks_are_counted(tmp_path):
    train = write(tmp_path / "a.csv", [(f"text {i}", "ab"[i % 2]) for i in range(40)])
    valid = write(tmp_path / "b.csv", [("TEXT  1", "a"), ("new", "b")])
    assert examine.examine(config_of(train, valid=str(valid)), polarity=False)["leaks"] == {"--valid": 1}


def test_a_folder_has_no_columns_and_its_test_set_is_compared(tmp_path):
    for name, text in {
        "train/a/1": "x",
        "train/a/2": "y",
        "train/b/1": "z",
        "test/a/1": "x",
        "test/b/1": "new",
    }.items():
        path = tmp_path / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = examine.examine(config_of(tmp_path), polarity=False)
    assert found["columns"] is None and found["leaks"] == {"test": 1} and found["rows"] == {"train": 3, "test": 2}


def test_several_labels_per_text_are_counted_one_by_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,labels\n" + "".join(f"word {i},{'a|b' if i % 3 else 'b'}\n" for i in range(60)))
    found = examine.examine(config_of(path, labels_separator="|"), polarity=False)
    assert found["labels"] == {"b": 60, "a": 40} and found["training"]["always_most_frequent"] is None
    assert found["training"]["classes"].keys() == {"a", "b"}


def test_columns_that_a_model_of_several_reads_are_not_unused(tmp_path):
    rows = "".join(f"title {i},body {i},{i},x,{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "a.csv").write_text("title,body,price,other,label\n" + rows)
    data = str(tmp_path / "a.csv")
    lines = "\n".join(findings.examined(config_of(data, text_column="title,body", feature_column="price")).lines)
    assert "text in 'title, body, price', label in 'label'" in lines and re.search(r"not used +other$", lines, re.M)
