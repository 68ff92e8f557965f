import pytest

from pipelines.language_model import data
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError


def test_the_end_of_the_text_is_for_validation(tmp_path):
    (tmp_path / "a.txt").write_text("abcdefghij")
    splits = data.load(LanguageModelConfig(data=str(tmp_path / "a.txt"), valid_fraction=0.2))
    assert ["".join(part.pieces()) for part in (splits.train, splits.valid)] == ["abcdefgh", "ij"]


def test_a_text_that_cannot_be_split_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(UserError, match="too short to split: give validation text with --valid"):
        data.load(LanguageModelConfig(data=str(tmp_path / "a.txt")))
