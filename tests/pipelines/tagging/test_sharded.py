"""The second pass over tagged sentences, and the splits of prepared data."""

import pytest

from pipelines.data import prepared, tagged_sentences
from pipelines.data.prepared import Contents, Shard
from pipelines.support.errors import UserError
from pipelines.tagging import data, sharded, survey
from pipelines.tagging.config import TaggingConfig
from tests.pipelines.tagging.tagged_files import write_columns, write_sample


def second_pass(config):
    """Returns (what the second pass found, its sentences)."""
    training = sharded.TrainingSentences(config, survey.survey(config))
    return training, tagged_sentences.joined(training.chunks())


@pytest.mark.parametrize("per_document", [0, 6])
def test_the_training_sentences_are_those_in_memory(tmp_path, monkeypatch, per_document):
    monkeypatch.setattr(tagged_sentences, "_CHUNK_TOKENS", 50)
    config = TaggingConfig(data=write_sample(tmp_path / "a.conllu", 120, per_document=per_document))
    training, found = second_pass(config)
    expected = data.load(config).train
    assert (found.tokens, found.tags, found.documents) == (expected.tokens, expected.tags, expected.documents)
    assert training.count == len(expected)


def test_tags_are_in_the_scheme_of_all_files(tmp_path):
    sentences = [[(f"w{i}", "B-X"), ("v", "E-X"), ("z", "S-Y"), (".", "O")] for i in range(20)]
    config = TaggingConfig(data=write_columns(tmp_path / "a.tsv", sentences))
    assert set(map(tuple, second_pass(config)[1].tags)) == {("B-X", "I-X", "B-Y", "O")}


def test_repeated_sentences_and_unknown_tags_of_validation_are_counted(tmp_path):
    source = write_sample(tmp_path / "a.conllu", 100)
    valid = write_sample(tmp_path / "v.conllu", 30, first=90)
    (tmp_path / "v.conllu").write_text((tmp_path / "v.conllu").read_text().replace("PROPN", "NEW"))
    config = TaggingConfig(data=source, valid=valid)
    training, found = second_pass(config)
    assert len(found) == training.count == 100
    assert training.notes() == data.load(config).notes != {}


def test_words_that_training_does_not_have_are_marked(tmp_path):
    sentences = [[("known", "X"), ("also", "Y")]] * 20
    valid = write_columns(tmp_path / "v.tsv", [[("new", "X"), ("known", "Y"), ("Also", "X")]])
    config = TaggingConfig(data=write_columns(tmp_path / "a.tsv", sentences), valid=valid)
    surveyed = survey.survey(config)
    training, _ = second_pass(config)
    (row,) = training.rows(surveyed.valid)
    assert row == {
        "tokens": ["new", "known", "Also"],
        "tags": ["X", "Y", "X"],
        "text": "new known Also",
        "document": 0,
        "unknown": [0, 2],
    }


def test_the_splits_of_a_training_leave_the_training_sentences_in_the_shards(tmp_path):
    rows = [{"tokens": ["a", "b"], "tags": ["B-X", "O"], "text": "a b", "document": 3, "unknown": [1]}]
    prepared.write_rows(tmp_path, "valid", rows)
    details = {"tags": ["B-X", "O"], "sentences": 20}
    contents = Contents({}, [Shard("x", 30, 300)], {"train": 30, "valid": 1}, {"n": 1}, details)
    prepared.write_manifest(tmp_path, "tagging", {}, contents)
    splits = sharded.load(prepared.find(str(tmp_path), "tagging"), 32)
    assert len(splits.train) == 20 and splits.train.known_words == {"a"} and splits.test is None
    assert (splits.valid.tokens, splits.valid.tags, splits.valid.documents) == ([["a", "b"]], [["B-X", "O"]], [3])
    assert splits.tags == ("B-X", "O") and splits.spans and splits.notes == {"n": 1}
    (tmp_path / "valid.jsonl").unlink()
    with pytest.raises(UserError, match="valid.jsonl is missing"):
        sharded.load(splits.sharded, 32)
