import itertools

import numpy as np
import pytest

from pipelines.tagging.hidden_markov import Decoder, candidates, fit, log_transitions, suffix_probabilities

WORDS = ["an", "Ann", "can", "fish", "Fish", "fishes", "in", "the", "tin", "Tins"]


@pytest.fixture(scope="module")
def model():
    """A model of random sentences with three tags, in which most words are ambiguous."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 7, size=60)
    tokens = [generator.choice(WORDS, size).tolist() for size in lengths]
    return fit(tokens, [generator.choice(["A", "B", "C"], size, p=[0.5, 0.3, 0.2]).tolist() for size in lengths])


def log_probability(model, words, states):
    """log P(words, states), term by term."""
    boundary = len(model.unigrams) - 1
    path = [boundary, boundary, *states, boundary]
    total = sum(log_transitions(model, [a], [b], [c]).item() for a, b, c in zip(path, path[1:], path[2:]))
    for word, state in zip(words, states, strict=True):
        found = candidates(model, word)
        total += found.log_probabilities[found.states.index(state)]
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_decoder_finds_the_best_of_all_tag_sequences(model, seed):
    generator = np.random.default_rng(seed)
    words = generator.choice([*WORDS, "fin", "Fan", "xyz", ""], generator.integers(1, 6)).tolist()
    paths = list(itertools.product(*(candidates(model, word).states for word in words)))
    best = max(paths, key=lambda states: log_probability(model, words, states))
    assert len(paths) > 1
    assert Decoder(model).tag(words) == [model.tags[state // 2] for state in best]


def test_the_states_that_follow_two_states_have_probabilities_that_sum_to_one(model):
    states = range(len(model.unigrams))
    total = np.exp(log_transitions(model, states, states, states)).sum(axis=-1)
    boundary, num_states = states[-1], len(states)
    pairs = {(key // num_states**2, key // num_states % num_states) for key in model.trigrams.tolist()}
    assert {(boundary, boundary)} < pairs
    assert [total[a, b] for a, b in pairs] == pytest.approx(np.ones(len(pairs)))
    assert (total > 0).all()


def test_a_known_word_has_the_tags_of_its_training_occurrences():
    model = fit([["fish", "fish", "fish", "in"]], [["NOUN", "VERB", "NOUN", "ADP"]])
    states, log_probabilities = candidates(model, "fish")
    assert [model.tags[state // 2] for state in states] == ["NOUN", "VERB"]
    assert np.exp(log_probabilities) == pytest.approx([1, 1])  # all nouns and all verbs are "fish"


def test_the_longest_known_suffix_counts_most():
    tokens = ["walking", "talking", "ring", "king", "thing", "walked", "talked"]
    model = fit([tokens], [["VERB", "VERB", "NOUN", "NOUN", "NOUN", "VERB", "VERB"]])
    verb = model.tags.index("VERB")
    assert suffix_probabilities(model, "stalking")[verb] > 0.9
    assert suffix_probabilities(model, "sling")[verb] < 0.6
    assert suffix_probabilities(model, "baked")[verb] > 0.9
    assert suffix_probabilities(model, "baked").sum() == pytest.approx(1)


def test_capital_letters_have_suffixes_of_their_own():
    model = fit([["Rome", "time", "Paris", "is", "home"]], [["PROPN", "NOUN", "PROPN", "VERB", "NOUN"]])
    decoder = Decoder(model)
    assert decoder.tag(["dome"]) == ["NOUN"]
    assert decoder.tag(["Dome"]) == ["PROPN"]


def test_frequent_words_are_no_examples_of_unknown_ones():
    tokens = [["the"] * 11 + ["lathe"]]
    model = fit(tokens, [["DET"] * 11 + ["NOUN"]])
    assert suffix_probabilities(model, "bathe")[model.tags.index("NOUN")] > 0.9


def test_one_word_and_one_tag_are_enough():
    assert Decoder(fit([["a"]], [["X"]])).tag(["a", "B", ""]) == ["X", "X", "X"]


def test_of_hundreds_of_tags_an_unknown_word_has_the_most_probable_ones():
    tokens = [f"w{i}" for i in range(300)]
    model = fit([tokens], [[f"T{i}" for i in range(300)]])
    assert len(candidates(model, "w7x").states) == 20
    assert len(Decoder(model).tag(["w7x", "new", "words", "w3"])) == 4
