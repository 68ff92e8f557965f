import lzma
import re

import pytest

from pipelines.tagging import metrics
from pipelines.tagging.baselines import hidden_markov_model, linear_model, most_frequent_tag
from tests.conftest import CORPORA

TOKENS = [["the", "dog", "runs"], ["the", "run", "runs"], ["a", "cat", "run"], ["cats", "run"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]


def test_a_word_has_the_tag_that_is_most_frequent_for_it():
    assert most_frequent_tag(TOKENS, TAGS, [["the", "run", "runs"]]) == [["DET", "VERB", "VERB"]]


def test_an_unknown_word_has_the_most_frequent_tag_of_words_that_occur_once():
    tokens, tags = [["in", "in", "in", "dog"], ["cat", "so"]], [["ADP", "ADP", "ADP", "NOUN"], ["NOUN", "ADV"]]
    assert most_frequent_tag(tokens, tags, [["in", "bird"]]) == [["ADP", "NOUN"]]


def test_without_words_that_occur_once_an_unknown_word_has_the_most_frequent_tag():
    tokens, tags = [["in", "in", "in", "dog", "dog"]], [["ADP", "ADP", "ADP", "NOUN", "NOUN"]]
    assert most_frequent_tag(tokens, tags, [["bird"], []]) == [["ADP"], []]


def test_the_hidden_markov_model_sees_the_words_before():
    tagged = hidden_markov_model(10 * TOKENS, 10 * TAGS, [["the", "run", "runs"], ["cats", "run"], []])
    assert tagged == [["DET", "NOUN", "VERB"], ["NOUN", "VERB"], []]


def read_treebank(path) -> tuple[list[list[str]], list[list[str]]]:
    """The words and their UPOS tags of a file of Universal Dependencies."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        sentences = [
            [line.split("\t") for line in sentence.split("\n") if re.match(r"[0-9]+\t", line)]
            for sentence in file.read().split("\n\n")
        ]
    sentences = [words for words in sentences if words]
    return [[word[1] for word in words] for words in sentences], [[word[3] for word in words] for words in sentences]


@pytest.mark.long
def test_the_accuracy_on_a_treebank_is_the_known_one():
    folder = CORPORA / "ud_ewt"
    if not folder.exists():
        pytest.skip("the treebank is not on this machine")
    train = read_treebank(folder / "en_ewt-ud-train.conllu.xz")
    tokens, tags = read_treebank(folder / "en_ewt-ud-dev.conllu.xz")
    assert metrics.accuracy(most_frequent_tag(*train, tokens), tags) == pytest.approx(0.861, abs=0.001)
    assert metrics.accuracy(hidden_markov_model(*train, tokens), tags) > 0.92


def test_the_linear_model_sees_the_words_before():
    tagged = linear_model(10 * TOKENS, 10 * TAGS, [["the", "run", "runs"], ["cats", "run"], []])
    assert tagged == [["DET", "NOUN", "VERB"], ["NOUN", "VERB"], []]
