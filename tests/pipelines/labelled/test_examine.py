import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import examine
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


def test_scripts_are_fractions_of_the_letters():
    assert examine.scripts(["abc 123", "\u0430", "\u4e2d\u6587"]) == {"Latin": 0.5, "CJK": 1 / 3, "Cyrillic": 1 / 6}
    assert examine.scripts(["123 !"]) == {}
