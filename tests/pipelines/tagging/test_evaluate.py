import pytest

from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError
from pipelines.tagging import evaluate
from pipelines.tagging.tagged import Tagged
from pipelines.task import TASKS

CARD = {"sample": False, "task": "tagging", "config": {"column": None}, "data": {"fingerprint": "other"}}


def test_the_test_set_comes_first(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"x-{name}.tsv").write_text(f"{name}\tX\n\n")
    part, split, trained_on = evaluate._read(CARD, "m/1", str(tmp_path), None)
    assert (part.tokens, split, trained_on) == ([["test"]], "test", False)


def test_training_sentences_are_recognized(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tX\n\n")
    fingerprint = evaluate.sources.fingerprint(str(path), TASKS["tagging"])
    card = CARD | {"data": {"fingerprint": fingerprint}}
    assert evaluate._read(card, "m/1", str(path), None)[1:] == (None, True)


def test_a_model_of_real_sentences_needs_sentences():
    with pytest.raises(UserError, match="give sentences to measure it on with --data"):
        evaluate._read(CARD, "m/1", None, None)
    part, _, _ = evaluate._read(CARD | {"sample": True}, "m/1", None, None)
    assert len(part) > 100


def test_mistakes_are_written_with_the_highest_probability_first(tmp_path):
    part = TaggedSentences([["a", "b"], ["c"]], [["X", "Y"], ["X"]], ["a b", "c"], [0, 0], {})
    tagged = Tagged([["Y", "Y"], ["Z"]], [[0.6, 0.9], [0.8]])
    evaluate._write_mistakes(tmp_path / "m.csv", part, tagged)
    assert (tmp_path / "m.csv").read_text().split() == [
        "token,predicted,expected,probability,sentence", "c,Z,X,0.800000,c", "a,Y,X,0.600000,a", "b",
    ]  # fmt: skip
