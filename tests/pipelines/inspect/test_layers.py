"""Probes by layer: networks that are known to hold one thing or another."""

import numpy as np
import pytest

from pipelines.inspect import layers
from pipelines.inspect.trace import Trace
from pipelines.inspect.treebank import Word, sentences_of
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import assert_page, assert_refused, picture

_TAGS = {"a": "DET", "fly": "NOUN", "bee": "NOUN", "can": "AUX", "see": "VERB"}
_NAMES = list(_TAGS)


def word(index, form, head, relation):
    return Word(index, form, form, _TAGS[form], {}, head, relation, form, True)


def sentence(generator):
    """A subject and a verb in one of two orders: what a noun is, its place in the sentence tells, not the word."""
    noun, other = generator.choice(["fly", "bee"], 2)
    if generator.random() < 0.5:
        return [word(1, noun, 2, "nsubj"), word(2, "see", 0, "root"), word(3, other, 2, "obj")]
    rows = [
        (1, "can", 3, "aux"),
        (2, noun, 3, "nsubj"),
        (3, "see", 0, "root"),
        (4, other, 3, "obj:x"),
        (5, "a", 4, "det"),
    ]
    return [word(*row) for row in rows]


@pytest.fixture
def sentences():
    generator = np.random.default_rng(3)
    return [sentence(generator) for _ in range(150)]


class Model:
    """Layer 1 is the word, layer 2 the word, its place and whether the sentence begins with can."""

    title, signatures = "fake/1", ("intervene",)

    def intervene(self, text, rows):
        assert rows == [()]
        words = text.split()
        one_hot = np.eye(len(_NAMES))[[_NAMES.index(each) for each in words]]
        place = np.eye(5)[np.arange(len(words)) + 5 - len(words)]
        states = {"layer_1": {"hidden": one_hot}, "layer_2": {"hidden": np.concatenate([one_hot, place], 1)}}
        return [Trace("fake/1", {"layer": words}, states, {}, {}, False)]


def test_the_answers_of_a_sentence():
    tree = [word(1, "a", 2, "det"), word(2, "fly", 3, "nsubj:pass"), word(3, "see", 0, "root")]
    assert layers.answers(tree) == [
        ("a", "DET", "det", "NOUN"),
        ("fly", "NOUN", "nsubj", "VERB"),
        ("see", "VERB", "root", "root"),
    ]


def test_a_layer_that_is_the_word_does_not_know_its_role(sentences):
    (figure,), lines = layers.look(Model(), sentences)
    found = figure.data["layers"].set_index(["question", "layer"])
    assert (found.loc["the word", "accuracy"] == 1).all() and (found.loc["its part of speech", "alone"] == 1).all()
    role = found.loc["its relation to its head"]
    assert role.loc["layer 2", "accuracy"] == 1
    # Subject and object are the same two nouns, half and half.
    assert role.loc["layer 1", "accuracy"] == pytest.approx(role.loc["layer 1", "alone"], abs=0.05)
    assert role.loc["layer 1", "alone"] < 0.85
    assert lines[0].startswith("fake/1: ") and lines[0].endswith("words of 150 sentences (of 150)")
    assert lines[3].startswith("fake/1, its relation to its head: layer 1 0.") and lines[3].endswith("most in layer 2")
    assert "the word alone" not in lines[1]
    assert picture(figure).width > 400


def test_the_word_alone_is_its_most_frequent_answer_in_training():
    groups = np.arange(100)
    from pipelines.inspect.memory import training_rows

    training = training_rows(groups)
    words = np.array(["a", "b"] * 50)
    labels = np.where(words == "a", "X", "Y")
    assert layers.by_word(words, labels, groups) == 1
    labels[~training] = "Z"
    assert layers.by_word(words, labels, groups) == 0
    words[~training], labels = "new", np.where(training, "X", "X")
    assert layers.by_word(words, labels, groups) == 1, "a new word gets the most frequent answer"


def test_sentences_that_the_tokens_do_not_spell(sentences):
    class Other(Model):
        def intervene(self, text, rows):
            (trace,) = super().intervene(text, rows)
            unknown = ["<unknown>" if "can" in text else each for each in trace.tokens["layer"]]
            return [Trace(trace.model, {"layer": unknown}, trace.recurrent, {}, {}, False)]

    read = layers.look(Other(), sentences)[1][0]
    without = [each for each in sentences if each[0].form != "can"]
    assert read == f"fake/1: {3 * len(without)} words of {len(without)} sentences (of 150)"
    with pytest.raises(UserError, match="spell no sentence of the treebank"):
        layers.look(Other(), [each for each in sentences if each[0].form == "can"])


@pytest.fixture
def treebank(tmp_path):
    rows = "1\tto\tto\tPART\t_\t_\t2\tmark\t_\t_\n2\tbe\tbe\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path = tmp_path / "small.conllu"
    path.write_text(rows * 60)
    return path


@pytest.mark.long
def test_exported_models(exports, treebank, tmp_path, capsys):
    assert len(next(sentences_of(str(treebank)))) == 2
    arguments = ("layers", "--treebank", treebank, "--models", "small", "attentive", "--saved-models", exports)
    printed = assert_page(capsys, tmp_path / "page.html", *arguments)
    assert "small/1: 120 words of 60 sentences (of 60)" in printed and "attentive/1, the word: layer 1 1.000" in printed


@pytest.mark.long
def test_mistakes_are_one_line(exports, treebank, capsys):
    saved = ("--saved-models", exports)
    assert_refused(capsys, "--treebank is missing: name a file with parsed sentences", "layers", *saved)
    assert_refused(capsys, "--treebank absent: no such file", "layers", "--treebank", "absent", *saved)
    assert_refused(capsys, "--sentences 0", "layers", "--treebank", treebank, "--sentences", 0, *saved)
