"""A hidden Markov model of second order for tagging (Brants 2000, "TnT - A Statistical Part-of-Speech Tagger").

A state is a tag and whether its word starts with a capital letter. The model is

    P(words, states) = prod over i of P(s_i | s_i-2, s_i-1) P(w_i | t_i)

with two start states before the sentence and an end state after it. The probabilities of states are interpolated:
P(c | a, b) = l1 P(c) + l2 P(c | b) + l3 P(c | a, b). Words that are not in the training set are tagged by their suffix.
"""

import collections
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Sentences = Sequence[Sequence[str]]  # tokens, or tags

_MAX_SUFFIX = 10  # characters
_MAX_COUNT_RARE = 10  # the suffixes are those of the words that occur at most this often, which are like unknown ones
_MAX_TAGS_OF_UNKNOWN = 20  # the most probable ones: with hundreds of tags, all of them would take minutes


class Candidates(NamedTuple):
    """The states that a word may have, ascending, and log P(word | tag) of each, float [states].

    The probabilities of an unknown word have a constant factor, which changes no decision.
    """

    states: tuple[int, ...]
    log_probabilities: np.ndarray


class Model(NamedTuple):
    """A fitted model. Its states are 2 * tag + (1 for a capital letter), and one for the sentence's start and end.

    Attributes:
        tags: names of the tags.
        weights: l1, l2 and l3.
        unigrams: P(c), float [states].
        bigrams: P(c | b), float [states, states].
        trigrams: (a * states + b) * states + c of the sequences a, b, c in training, ascending, int64 [sequences].
        trigram_probabilities: P(c | a, b) of these, float [sequences].
        tag_counts: float [tags].
        words: word -> (tag -> count).
        suffixes: (whether the word starts with a capital letter, suffix) -> (tag -> count).
    """

    tags: list[str]
    weights: np.ndarray
    unigrams: np.ndarray
    bigrams: np.ndarray
    trigrams: np.ndarray
    trigram_probabilities: np.ndarray
    tag_counts: np.ndarray
    words: dict[str, collections.Counter]
    suffixes: dict[tuple[bool, str], collections.Counter]


def fit(tokens: Sentences, tags: Sentences) -> Model:
    """Fits the model to the training sentences. There must be at least one."""
    names = sorted({tag for sentence in tags for tag in sentence})
    index = {name: i for i, name in enumerate(names)}
    boundary, num_states = 2 * len(names), 2 * len(names) + 1
    words, trigrams = collections.defaultdict(collections.Counter), []
    for sentence, names_of_sentence in zip(tokens, tags, strict=True):
        ids = [index[name] for name in names_of_sentence]
        for word, tag in zip(sentence, ids, strict=True):
            words[word][tag] += 1
        states = [2 * tag + _is_capital(word) for word, tag in zip(sentence, ids, strict=True)]
        states = np.array([boundary, boundary, *states, boundary])
        trigrams.append((states[:-2] * num_states + states[1:-1]) * num_states + states[2:])
    trigrams, counts = np.unique(np.concatenate(trigrams), return_counts=True)
    a, b, c = trigrams // num_states**2, trigrams // num_states % num_states, trigrams % num_states
    of_c = np.bincount(c, counts, num_states)
    of_ab, of_bc = (
        np.bincount(first * num_states + second, counts, num_states**2).reshape(num_states, num_states)
        for first, second in ((a, b), (b, c))
    )
    of_b = of_bc.sum(axis=1)
    # Deleted interpolation: each trigram votes for the length of history that predicts it best when it is left out.
    # One vote more for each keeps every probability above zero.
    predicted_by = [
        _ratio(of_c[c] - 1, counts.sum() - 1),
        _ratio(of_bc[b, c] - 1, of_b[b] - 1),
        _ratio(counts - 1, of_ab[a, b] - 1),
    ]
    votes = np.bincount(np.argmax(predicted_by, axis=0), counts, 3) + 1
    return Model(
        tags=names,
        weights=votes / votes.sum(),
        unigrams=(of_c + 1) / (of_c + 1).sum(),  # a tag may have occurred without capital letters alone
        bigrams=_ratio(of_bc, of_b[:, None]),
        trigrams=trigrams,
        trigram_probabilities=counts / of_ab[a, b],
        tag_counts=of_c[:-1].reshape(-1, 2).sum(axis=1),
        words=dict(words),
        suffixes=_count_suffixes(words),
    )


def _is_capital(word: str) -> bool:
    return word[:1].isupper()


def _ratio(numerator: np.ndarray, denominator: np.ndarray | int) -> np.ndarray:
    """The quotient, and 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(np.shape(numerator)), where=np.greater(denominator, 0))


def _count_suffixes(words: dict[str, collections.Counter]) -> dict[tuple[bool, str], collections.Counter]:
    suffixes = collections.defaultdict(collections.Counter)
    for word, counts in words.items():
        if counts.total() <= _MAX_COUNT_RARE:
            for suffix in _suffixes(word):
                suffixes[suffix].update(counts)
    return dict(suffixes)


def _suffixes(word: str) -> list[tuple[bool, str]]:
    """The keys of a word's suffixes, from the empty one to the longest."""
    return [(_is_capital(word), word[len(word) - size :]) for size in range(min(_MAX_SUFFIX, len(word)) + 1)]


def candidates(model: Model, word: str) -> Candidates:
    """Returns the states of a word: the tags that it has in training, or those that are probable for its suffix."""
    if word in model.words:
        tags = np.array(sorted(model.words[word]))
        weights = np.array([model.words[word][tag] for tag in tags], float)
    else:
        weights = suffix_probabilities(model, word)
        tags = np.sort(np.argsort(-weights, kind="stable")[:_MAX_TAGS_OF_UNKNOWN])
        weights = weights[tags]
    states = 2 * tags + _is_capital(word)
    # P(word | tag) = P(tag | word) P(word) / P(tag)
    return Candidates(tuple(states.tolist()), np.log(weights) - np.log(model.tag_counts[tags]))


def suffix_probabilities(model: Model, word: str) -> np.ndarray:
    """Returns P(tag | suffix of a word), float [tags], smoothed from the empty suffix to the longest known one.

    P_i = (p_i + theta P_i-1) / (1 + theta), where p_i are the frequencies of the tags of training words with the same
    last i letters, P_-1 those of all words, and theta their standard deviation (Brants 2000, section 2.3).
    """
    smoothed = model.tag_counts / model.tag_counts.sum()
    theta = smoothed.std(ddof=1) if len(smoothed) > 1 else 1.0
    for suffix in _suffixes(word):
        if suffix not in model.suffixes:
            break
        counts = model.suffixes[suffix]
        frequencies = np.zeros(len(smoothed))
        frequencies[list(counts)] = np.array(list(counts.values())) / counts.total()
        smoothed = (frequencies + theta * smoothed) / (1 + theta)
    return smoothed


def log_transitions(model: Model, a: Sequence[int], b: Sequence[int], c: Sequence[int]) -> np.ndarray:
    """Returns log P(c | a, b) of states, float [a, b, c]."""
    a, b, c = np.array(a)[:, None, None], np.array(b)[:, None], np.array(c)
    num_states = len(model.unigrams)
    key = (a * num_states + b) * num_states + c
    position = np.minimum(np.searchsorted(model.trigrams, key), len(model.trigrams) - 1)
    of_trigram = np.where(model.trigrams[position] == key, model.trigram_probabilities[position], 0.0)
    l1, l2, l3 = model.weights
    return np.log(l1 * model.unigrams[c] + l2 * model.bigrams[b, c] + l3 * of_trigram)


class Decoder:
    """Finds the most probable tags of sentences; it remembers what it has computed for a word and for states."""

    def __init__(self, model: Model):
        """Makes a decoder for `model`."""
        self._model = model
        self._candidates = functools.lru_cache(2**16)(functools.partial(candidates, model))
        self._log_transitions = functools.lru_cache(2**12)(functools.partial(log_transitions, model))

    def tag(self, words: Sequence[str]) -> list[str]:
        """Returns the tags of a sentence's most probable states (Viterbi's algorithm over pairs of states)."""
        boundary = (len(self._model.unigrams) - 1,)
        found = [self._candidates(word) for word in words]
        states = [boundary, boundary, *(each.states for each in found), boundary]
        emissions = [*(each.log_probabilities for each in found), np.zeros(1)]
        scores, best_first = np.zeros((1, 1)), []  # of the best path to each pair of states; its state before them
        for i, emission in enumerate(emissions):
            paths = scores[:, :, None] + self._log_transitions(*states[i : i + 3])  # [a, b, c]
            best_first.append(paths.argmax(axis=0))
            scores = paths.max(axis=0) + emission  # [b, c]
        path, second, last = [], int(scores[:, 0].argmax()), 0
        for i in range(len(words), 0, -1):
            path.append(states[i + 1][second])
            second, last = int(best_first[i][second, last]), second
        return [self._model.tags[state // 2] for state in reversed(path)]
