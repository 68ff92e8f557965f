"""The first pass over tagged sentences finds what a training in memory finds, in bounded memory."""

import collections

import pytest

from pipelines.data import tagged_sentences
from pipelines.support.errors import UserError
from pipelines.tagging import data, survey
from pipelines.tagging.config import TaggingConfig
from tests.pipelines.tagging.tagged_files import write_columns, write_sample


def assert_as_in_memory(config):
    """Compares what both passes find, but for the training sentences themselves; returns the survey."""
    surveyed, splits = survey.survey(config), data.load(config)
    for found, expected in ((surveyed.valid, splits.valid), (surveyed.test, splits.test)):
        assert (found is None) == (expected is None)
        if found:
            assert (found.tokens, found.tags, found.texts) == (expected.tokens, expected.tags, expected.texts)
    assert surveyed.tags == splits.tags
    assert surveyed.forms == collections.Counter(token for tokens in splits.train.tokens for token in tokens)
    assert surveyed.sample.texts == splits.train.texts
    known = {
        note: count for note, count in splits.notes.items() if "of validation" not in note and "of test" not in note
    }
    assert surveyed.notes == known  # the others are known after the second pass
    return surveyed


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(tagged_sentences, "_CHUNK_TOKENS", 50)


@pytest.mark.parametrize("per_document", [0, 6, 40])  # one document, many, and fewer than ten
def test_the_splits_are_those_of_a_training_in_memory(tmp_path, per_document):
    files = [
        write_sample(tmp_path / f"{name}.conllu", 60, first, per_document) for name, first in (("a", 0), ("b", 60))
    ]
    surveyed = assert_as_in_memory(TaggingConfig(data=tuple(files)))
    assert bool(surveyed.held_out.documents) == (per_document == 6)
    assert bool(surveyed.held_out.texts) == (per_document != 6)


def test_a_folder_with_its_own_validation_and_test_sentences(tmp_path):
    for name, first in (("train", 0), ("dev", 50), ("test", 80)):
        write_sample(tmp_path / f"x-{name}.conllu", 30, first)
    surveyed = assert_as_in_memory(TaggingConfig(data=str(tmp_path)))
    assert surveyed.held_out == survey.HeldOut() and len(surveyed.test) == 30


def test_ones_own_validation_sentences(tmp_path):
    files = {name: write_sample(tmp_path / f"{name}.conllu", 30, first) for name, first in (("a", 0), ("v", 20))}
    assert_as_in_memory(TaggingConfig(data=files["a"], valid=files["v"]))


@pytest.mark.parametrize("tags", [("I-X", "I-X", "O"), ("B-X", "E-X", "S-Y"), ("B-X", "I-X", "I-Y"), ("B-X", "N", "O")])
def test_the_scheme_of_the_tags_is_that_of_all_files(tmp_path, tags):
    sentences = [list(zip((f"w{i}", "b", "c"), tags)) for i in range(40)]
    files = [write_columns(tmp_path / "a.tsv", sentences[:20]), write_columns(tmp_path / "b.tsv", sentences[20:])]
    assert_as_in_memory(TaggingConfig(data=tuple(files)))


@pytest.mark.parametrize("per_document", [0, 4])
def test_few_sentences_are_held_out_of_many(tmp_path, monkeypatch, per_document):
    config = TaggingConfig(data=write_sample(tmp_path / "a.conllu", 400, per_document=per_document), valid_fraction=0.5)
    everything = survey.survey(config)
    monkeypatch.setattr(survey, "MAX_HELD_OUT", 12)
    few = survey.survey(config)
    assert 12 <= len(few.valid) < 12 + max(per_document, 12)
    assert set(few.valid.texts) < set(everything.valid.texts)  # the first ones in the same order
    assert few.held_out.documents <= everything.held_out.documents
    assert sum(few.forms.values()) == few.tokens - sum(map(len, few.valid.tokens))


def test_sentences_are_held_out_where_documents_are_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MAX_HELD_OUT", 12)
    surveyed = survey.survey(TaggingConfig(data=write_sample(tmp_path / "a.conllu", 400, per_document=30)))
    assert surveyed.held_out.texts and not surveyed.held_out.documents
    assert 12 <= len(surveyed.valid) <= 24


def test_the_same_sentence_many_times_takes_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MAX_HELD_OUT", 5)
    sentences = [[("same", "X"), ("again", "Y")]] * 300 + [[(f"w{i}", "X"), ("v", "Y")] for i in range(300)]
    surveyed = survey.survey(TaggingConfig(data=write_columns(tmp_path / "a.tsv", sentences)))
    assert 5 <= len(surveyed.valid) <= 10


def test_the_sentences_to_score_on_are_limited(tmp_path, monkeypatch):
    files = {name: write_sample(tmp_path / f"{name}.conllu", 60, first) for name, first in (("a", 0), ("v", 80))}
    config = TaggingConfig(data=files["a"], valid=files["v"])
    texts = survey.survey(config).valid.texts
    monkeypatch.setattr(survey, "MAX_HELD_OUT", 10)
    surveyed = survey.survey(config)
    assert (
        len(surveyed.valid) == 10 and [text for text in texts if text in surveyed.valid.texts] == surveyed.valid.texts
    )
    assert surveyed.notes == {"in validation, more than 10 sentences to score on": 50}


def test_the_rarest_forms_and_many_sentences_are_not_kept(tmp_path, monkeypatch):
    config = TaggingConfig(data=write_sample(tmp_path / "a.conllu", 200))
    everything = survey.survey(config)
    monkeypatch.setattr(survey, "_MAX_FORMS", 100)
    monkeypatch.setattr(survey, "_MAX_SAMPLE", 20)
    few = survey.survey(config)
    assert len(few.forms) <= 100 and len(few.sample) <= 20
    frequent = [form for form, _ in everything.forms.most_common(10)]
    assert [form for form, _ in few.forms.most_common(10)] == frequent
    assert all(few.forms[form] == everything.forms[form] for form in frequent)
    assert set(few.sample.texts) <= set(everything.sample.texts)


def test_data_that_cannot_be_trained_on_is_refused(tmp_path, monkeypatch):
    one = write_columns(tmp_path / "a.tsv", [[(f"w{i}", "X")] for i in range(20)])
    with pytest.raises(UserError, match="a.tsv: all tokens have the tag 'X'; at least two tags are needed"):
        survey.survey(TaggingConfig(data=one))
    same = write_columns(tmp_path / "b.tsv", [[("w", "X"), ("v", "Y")]] * 20)
    with pytest.raises(UserError, match="all rows are in one group"):
        survey.survey(TaggingConfig(data=same))
    monkeypatch.setattr(survey, "_MAX_TAGS", 15)
    many = write_columns(tmp_path / "c.tsv", [[("w", f"T{i}"), ("v", "Y")] for i in range(20)])
    with pytest.raises(UserError, match="more than 15 different tags: is the tag the first column.* with --column"):
        survey.survey(TaggingConfig(data=many))
    (tmp_path / "folder").mkdir()
    write_sample(tmp_path / "folder" / "x-test.conllu", 20)
    with pytest.raises(UserError, match="the data has no training sentences, only test"):
        survey.survey(TaggingConfig(data=str(tmp_path / "folder")))


def test_a_malformed_line_of_the_second_file_is_named(tmp_path):
    good = write_sample(tmp_path / "a.conllu", 30)
    (tmp_path / "b.conllu").write_text((tmp_path / "a.conllu").read_text() + "1\tword\n")
    lines = len((tmp_path / "b.conllu").read_text().splitlines())
    with pytest.raises(UserError, match=rf"b.conllu, line {lines}: 2 columns \('1\\tword'\), but CoNLL-U has ten"):
        survey.survey(TaggingConfig(data=(good, str(tmp_path / "b.conllu"))))
    (tmp_path / "c.conllu").write_text("")
    with pytest.raises(UserError, match="c.conllu is empty"):
        survey.survey(TaggingConfig(data=(good, str(tmp_path / "c.conllu"))))
