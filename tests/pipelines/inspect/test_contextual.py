import numpy as np
import pandas as pd
import pytest

from pipelines.inspect import contextual, models
from pipelines.inspect.contextual import Occurrences
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import assert_refused, export_language_model, picture

pytestmark = pytest.mark.long  # they train or load models

STATIC = {"bank": [1.0, 0.0, 0.0], "money": [0.0, 1.0, 0.0], "river": [0.0, 0.0, 1.0]}
SENTENCES = [["Money", "bank"], ["river", "bank"]] * 10
TAGS = [["NOUN", "NOUN"], ["NOUN", "VERB"]] * 10


class FakeEncoder:
    """An encoder whose vector of a word is the sum of its embedding and twice that of the word before it."""

    title, signatures = "fake/1", ("words",)

    def ask(self, signature, tokens):
        size = {len(row) for row in tokens}
        assert signature == "words" and len(size) == 1, "rows of the same length"
        static = np.array([[STATIC.get(word.lower(), [0.0] * 3) for word in row] for row in tokens])
        before = np.concatenate([np.zeros_like(static[:, :1]), static[:, :-1]], axis=1)
        return {"embeddings": static, "vectors": static + 2 * before}


def test_the_vectors_are_those_of_the_words():
    sentences, tags = [*SENTENCES, ["bank"]], [*TAGS, ["NOUN"]]
    found = contextual.read(FakeEncoder(), sentences, tags)
    assert len(found.rows) == 41 and found.rows["word"].tolist()[:4] == ["money", "bank", "river", "bank"]
    np.testing.assert_array_equal(found.static[3], STATIC["bank"])
    np.testing.assert_array_equal(found.context[[1, 3, 40]], [[1, 2, 0], [1, 0, 2], [1, 0, 0]])
    assert found.rows["label"].tolist()[1] == "Money [bank]" and found.rows["tag"].tolist()[3] == "VERB"


def test_neighbours_in_context_differ():
    found = contextual.read(FakeEncoder(), SENTENCES, TAGS)
    near = contextual.neighbours(found, "bank", 1)
    assert near["of"].tolist() == ["static", "NOUN: Money [bank]", "VERB: river [bank]"]
    assert near["neighbour"].tolist()[1:3] == ["money", "river"]
    assert near["cosine"].tolist()[1:3] == pytest.approx([2 / 5**0.5] * 2) and near["cosine"][0] == 0
    assert len(near) == 3, "the other occurrences look the same"


def test_the_nearest_occurrence_against_chance():
    found = contextual.read(FakeEncoder(), SENTENCES, TAGS)
    right, chance, counts = contextual.same_tag(found, "bank")
    assert right == 1 and chance == pytest.approx((10 * 9 * 2) / (20 * 19)) and counts == {"NOUN": 10, "VERB": 10}
    once = Occurrences(pd.DataFrame({"word": ["a"], "tag": ["DET"]}), np.ones((1, 2)), np.ones((1, 2)))
    assert np.isnan(contextual.same_tag(once, "a")[0])


def test_words_with_several_parts_of_speech_come_first():
    found = contextual.read(FakeEncoder(), SENTENCES, TAGS)
    assert contextual.ambiguous_words(found.rows) == ["bank"]
    assert contextual.ambiguous_words(found.rows[found.rows["word"] == "money"]) == ["money"]


def test_the_figure_and_the_line():
    figures, notes = contextual.look(FakeEncoder(), SENTENCES, TAGS, ("Bank", "river"), 2)
    assert notes[0] == (
        "bank (NOUN 10, VERB 10): the nearest other occurrence has the same part of speech in 100%, a random one in 47%"
    )
    assert set(figures[0].data["points"]["word"]) == {"bank", "river"} and picture(figures[0]).width > 600


def test_a_word_that_is_absent():
    with pytest.raises(UserError, match="--words 'lake': it is not in the sentences"):
        contextual.look(FakeEncoder(), SENTENCES, TAGS, ("lake",), 2)


@pytest.mark.parametrize("tokenizer", [pytest.param("word", marks=pytest.mark.exhaustive), "subword"])
def test_a_language_model_reads_what_stands_before_a_word(tokenizer, tmp_path):
    root = export_language_model(tmp_path, "lstm", tokenizer, name="lm")
    model = models.find(root, ("lm",))[0]
    sentences = [["to", "that", "to"], ["zebra", "that"], ["to", "that", "to", "be:"]]
    found = contextual.read(model, sentences, [["X"] * len(words) for words in sentences])
    known = found.rows[found.rows["sentence"] != 1]
    assert known["word"].tolist() == ["to", "that", "to", "to", "that", "to", "be:"]
    ids = model.ask("encode", text=["to that to"])["ids"][0]
    if tokenizer == "word":
        assert found.rows["word"].tolist()[3:5] == ["that", "to"], "zebra is unknown"
        np.testing.assert_array_equal(found.static[:3], model.embedding_table()[ids])
    first, _, second, *_, again, _ = known.index
    np.testing.assert_array_equal(found.static[second], found.static[again])
    assert np.abs(found.context[first] - found.context[second]).max() > 1e-3
    np.testing.assert_allclose(found.context[second], found.context[again], atol=1e-6)
    logits = model.ask("read_out", features=found.context[[second]])["logits"]
    np.testing.assert_allclose(logits, model.ask("start", text=["to that to"])["logits"], atol=1e-4)


def test_models_that_give_no_vectors_of_words(exports, tmp_path, capsys):
    treebank = tmp_path / "one.conllu"
    treebank.write_text("1\tbank\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    flags = ("--models", "small", "--saved-models", exports)
    assert_refused(capsys, "small/1 gives no vectors of words", "embeddings", "--treebank", treebank, *flags)
    assert_refused(capsys, "--treebank absent: no such file", "embeddings", "--treebank", "absent", *flags)
    assert_refused(capsys, "--sentences 0", "embeddings", "--treebank", treebank, "--sentences", 0, *flags)
