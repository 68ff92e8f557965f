from types import SimpleNamespace

import pytest

from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.data.token_options import DEFAULTS
from pipelines.export.exported import Exported
from pipelines.support.errors import UserError
from pipelines.tagging import evaluate, report
from pipelines.tagging.tagged import Tagged
from pipelines.task import TASKS

CARD = {"sample": False, "task": "tagging", "config": {"column": None}, "data": {"fingerprint": "other"}}


def test_the_test_set_comes_first(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"x-{name}.tsv").write_text(f"{name}\tX\n\n")
    part, split, trained_on = evaluate._read(CARD, "m/1", str(tmp_path), DEFAULTS)
    assert (part.tokens, split, trained_on) == ([["test"]], "test", False)


def test_training_sentences_are_recognized(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tX\n\n")
    fingerprint = evaluate.sources.fingerprint(str(path), TASKS["tagging"])
    card = CARD | {"data": {"fingerprint": fingerprint}}
    assert evaluate._read(card, "m/1", str(path), DEFAULTS)[1:] == (None, True)


def test_a_model_of_real_sentences_needs_sentences():
    with pytest.raises(UserError, match="give sentences to measure it on with --data"):
        evaluate._read(CARD, "m/1", None, DEFAULTS)
    part, _, _ = evaluate._read(CARD | {"sample": True}, "m/1", None, DEFAULTS)
    assert len(part) > 100


def test_tags_that_the_model_does_not_have_are_named_with_their_tokens(monkeypatch, tmp_path):
    (tmp_path / "a.tsv").write_text("Anna\tB-PERSON\nBerg\tI-PERSON\nleft\tO\n\nOslo\tB-PLACE\nEve\tB-PERSON\n")
    exported = Exported("m", 1, tmp_path)
    monkeypatch.setattr(Exported, "card", lambda self: CARD | {"classes": ["B-PER", "I-PER", "O"]})
    monkeypatch.setattr(Exported, "load", lambda self: SimpleNamespace(signatures={"tokens": None}))
    monkeypatch.setattr(
        "pipelines.tagging.tagged.tag_sentences",
        lambda signature, tokens: Tagged(
            [["O"] * len(each) for each in tokens], [[0.5] * len(each) for each in tokens]
        ),
    )
    scores = evaluate.evaluate(exported, str(tmp_path / "a.tsv"))
    assert scores["unknown_tags"] == {"B-PERSON": 2, "B-PLACE": 1, "I-PERSON": 1}
    line = "tokens with tags that the model does not have (B-PERSON, B-PLACE, I-PERSON): 4"
    assert line in [each.strip() for each in report.format_scores(scores).splitlines()]
    (tmp_path / "b.tsv").write_text("Anna\tB-PER\nleft\tO\n")
    scores = evaluate.evaluate(exported, str(tmp_path / "b.tsv"))
    assert (scores["unknown_tags"], scores["notes"]) == ({}, {})


def test_mistakes_are_written_with_the_highest_probability_first(tmp_path):
    part = TaggedSentences([["a", "b"], ["c"]], [["X", "Y"], ["X"]], ["a b", "c"], [0, 0], {})
    tagged = Tagged([["Y", "Y"], ["Z"]], [[0.6, 0.9], [0.8]])
    evaluate._write_mistakes(tmp_path / "m.csv", part, tagged)
    assert (tmp_path / "m.csv").read_text().split() == [
        "token,predicted,expected,probability,sentence", "c,Z,X,0.800000,c", "a,Y,X,0.600000,a", "b",
    ]  # fmt: skip
