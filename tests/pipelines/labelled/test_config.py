import dataclasses
from typing import ClassVar

import pytest

from pipelines.labelled.config import LabelledConfig
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
        {"valid": "y.csv", "text_column": "x", "label_column": "y"},  # the columns of --valid
    ],
)
def test_a_flag_with_an_effect_passes(values):
    Config(**values).resolve().check()


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
