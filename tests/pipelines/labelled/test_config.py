import dataclasses
from typing import ClassVar

import pytest

from pipelines.labelled.config import LabelledConfig, ThresholdChoice, multi_label, parse_threshold
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(LabelledConfig):
    """The config of a task with one model, which adds no fields."""

    PRESETS: ClassVar = {("only", "quick"): {}, ("only", "full"): {}}
    DEFAULT_MODELS: ClassVar = {"quick": "only", "full": "only"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_bytes": 99}, "--max-bytes 99: it must be at least 100"),
        ({"valid_fraction": 1.0}, "--valid-fraction 1.0"),
        ({"data": "x.csv", "valid": "y.csv", "valid_fraction": 0.2}, "--valid-fraction has no effect.*--valid"),
        ({"text_column": "x"}, "--text-column has no effect.*give --data"),
        ({"label_column": "x"}, "--label-column has no effect.*give --data"),
        ({"no_header": True}, "--no-header has no effect.*give --data"),
        ({"labels_separator": "|"}, "--labels-separator has no effect.*give --data"),
        (
            {"data": "x.csv", "labels_separator": "|", "polarity": True},
            "--labels-separator has no.*train classification",
        ),
        ({"data": "x.csv", "positive": "pos", "polarity": True}, "--positive has no effect.*train classification"),
        ({"data": "x.csv", "labels_separator": "|", "class_weights": True}, "--class-weights has no effect"),
        ({"data": "x.csv", "label_columns": "a,b", "positive": "a"}, "--positive has no effect"),
        ({"data": "x.csv", "labels_separator": "|", "folds": 3}, "--folds has no effect.*one label per text"),
        ({"data": "x.csv", "threshold": "0.7", "folds": 3}, "--threshold has no effect.*an export"),
        ({"threshold": "f1"}, "--threshold f1: it must be best-f1, precision=X, or a probability"),
        ({"threshold": "1"}, "--threshold 1: it must be"),
        ({"threshold": "precision=95"}, "--threshold precision=95: it must be"),
        ({"threshold": "recall=0.9"}, "--threshold recall=0.9: it must be"),
    ],
)
def test_a_flag_with_a_wrong_value_or_without_effect_is_refused(values, message):
    with pytest.raises(UserError, match=message):
        Config(**values).resolve().check()


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"max_bytes": 100},
        {"valid_fraction": 0.2},
        {"data": "x.csv", "valid_fraction": 0.2},
        {"data": "x.csv", "text_column": "x", "label_column": "y"},
        {"data": "x.csv", "label_columns": "a,b", "threshold": "precision=0.9"},
        {"threshold": "best-f1"},
        {"valid": "y.csv", "text_column": "x", "label_column": "y"},  # the columns of --valid
    ],
)
def test_a_flag_with_an_effect_passes(values):
    Config(**values).resolve().check()


def test_a_threshold_is_a_probability_or_how_to_choose_one():
    assert parse_threshold("best-f1") == ThresholdChoice()
    assert parse_threshold("precision=0.9") == ThresholdChoice(precision=0.9)
    assert parse_threshold("0.7") == ThresholdChoice(value=0.7)


def test_a_config_without_the_fields_has_one_label_per_text():
    assert not multi_label({}) and not multi_label({"labels_separator": None})
    assert multi_label({"label_columns": "a,b"})


@pytest.mark.parametrize("polarity", [False, True])
def test_the_defaults_have_the_same_polarity(polarity):
    config = Config(data="x.csv", polarity=polarity, class_weights=True, max_bytes=500).resolve()
    assert config.defaults() == Config(preset="full", polarity=polarity).resolve()


def test_patterns_become_the_files_that_match(tmp_path):
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("text,label\n")
    files = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    config = Config(data=str(tmp_path / "*.csv"), valid=str(tmp_path / "b*")).resolve()
    assert (config.data, config.valid) == (files, files[1])


def test_the_validation_file_is_part_of_the_record():
    assert Config(data="x.csv", valid="y.csv").data_files() == {"valid": "y.csv"}
    assert Config(data="x.csv").data_files() == {}
