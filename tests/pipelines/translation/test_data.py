import pytest

from pipelines.shards import first_pass
from pipelines.support.errors import UserError
from pipelines.translation import data
from pipelines.translation.config import TranslationConfig


def make_config(**flags):
    return TranslationConfig(**({"vocabulary_size": 150, "batch_tokens": 300} | flags)).resolve()


def test_no_validation_sentence_is_in_training():
    splits = data.load(make_config())
    assert not set(splits.train.source) & set(splits.valid.source)
    assert len(splits.train) + len(splits.valid) == 6000 and 200 < len(splits.valid) < 400


def test_training_pairs_whose_source_is_in_validation_are_left_out(tmp_path):
    (tmp_path / "train.tsv").write_text("A dog.\tUn perro.\nThe  DOG.\tEl perro.\nA cow.\tUna vaca.\n\tx\n")
    (tmp_path / "valid.tsv").write_text("The dog.\tEl perro.\n")
    splits = data.load(make_config(data=str(tmp_path / "train.tsv"), valid=str(tmp_path / "valid.tsv"), pair="en-es"))
    assert splits.train.source.tolist() == ["A dog.", "A cow."] and splits.valid.source.tolist() == ["The dog."]
    assert splits.notes == {
        "left out, one side is empty": 1,
        "left out of training, the same source sentence is in validation": 1,
    }


def test_ones_own_validation_pairs_may_be_those_of_a_folder(tmp_path):
    (tmp_path / "train.tsv").write_text("en\tes\nA dog.\tUn perro.\nA cow.\tUna vaca.\n")
    for name in ("train", "val"):
        (tmp_path / f"{name}.en").write_text(f"{name}\n")
        (tmp_path / f"{name}.es").write_text(f"{name}\n")
    splits = data.load(make_config(data=str(tmp_path / "train.tsv"), valid=str(tmp_path), pair="en-es"))
    assert splits.train.target.tolist() == ["Un perro.", "Una vaca."] and splits.valid.source.tolist() == ["val"]


def test_a_survey_has_the_training_pairs_and_the_own_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 2)
    (tmp_path / "train.tsv").write_text("A dog.\tUn perro.\nThe  DOG.\tEl perro.\nA cow.\tUna vaca.\n\tx\n")
    (tmp_path / "valid.tsv").write_text("The dog.\tEl perro.\n" * 3)
    config = make_config(data=str(tmp_path / "train.tsv"), valid=str(tmp_path / "valid.tsv"), pair="en-es")
    found = data.survey(config)
    assert found.train.sample == [("A dog.", "Un perro."), ("A cow.", "Una vaca.")] and found.pair == "en-es"
    assert found.own["valid"].source.tolist() == ["The dog."] * 2 and set(found.own) == {"valid"}
    assert found.notes == {"left out, one side is empty": 1, "left out of validation, more than 2 pairs to score on": 1}


def test_data_without_training_pairs_is_an_error(tmp_path):
    (tmp_path / "test.en").write_text("A dog.\n")
    (tmp_path / "test.de").write_text("Ein Hund.\n")
    with pytest.raises(UserError, match="has no train.en and train.de"):
        data.load(make_config(data=str(tmp_path), pair="en-de"))
