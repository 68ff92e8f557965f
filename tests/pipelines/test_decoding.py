"""Decoding against what can be counted by hand: a model whose next token depends on the last one, or on the last two."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from pipelines import decoding
from pipelines.text import PAD

VOCABULARY = 5
TABLE = np.random.default_rng(0).normal(scale=1.5, size=(VOCABULARY, VOCABULARY, VOCABULARY)).astype(np.float32)
TABLE[..., PAD] = -20.0


def step(ids, state):
    """Logits that depend on the last two tokens; the state holds the one before."""
    table = tf.constant(TABLE)
    return tf.gather_nd(table, tf.stack([state["last"], ids], axis=1)), {"last": ids}


def begin(*firsts):
    """The logits and the state behind the tokens (1, first) of each row."""
    state = {"last": tf.constant([1] * len(firsts))}
    return step(tf.constant(firsts), state)


def log_probability(first, tokens):
    total, before, last = 0.0, 1, first
    for token in tokens:
        logits = TABLE[before, last].astype(np.float64)
        total += logits[token] - np.log(np.exp(logits).sum())
        before, last = last, token
    return total


def sample(firsts, lengths, temperature=1.0, top_k=0, top_p=1.0, seed=0, **options):
    rows = len(firsts)

    @tf.function
    def run():
        logits, state = begin(*firsts)
        each = [tf.fill([rows], value) for value in (temperature, top_k, top_p)]
        seeds = tf.range(rows) + seed
        return decoding.sample(step, logits, state, tf.constant(lengths), *each, seeds, **options)

    return [value.numpy() for value in run()]


def test_greedy_takes_the_likeliest_token_each_time():
    tokens, counts, log_probabilities = sample([2, 3], [6, 6], temperature=0.0)
    for row, first in enumerate((2, 3)):
        before, last = 1, first
        for token in tokens[row]:
            assert token == TABLE[before, last].argmax()
            before, last = last, token
        np.testing.assert_allclose(log_probabilities[row], log_probability(first, tokens[row]), atol=1e-4)
    assert counts.tolist() == [6, 6]


def test_each_row_has_its_own_length_and_padding_behind_it():
    tokens, counts, _ = sample([2, 3, 4], [3, 0, 7])
    assert counts.tolist() == [3, 0, 7] and tokens.shape == (3, 7)
    assert (tokens[0, 3:] == PAD).all() and (tokens[0, :3] != PAD).all() and (tokens[1] == PAD).all()


def test_no_tokens_at_all():
    tokens, counts, log_probabilities = sample([2, 3], [0, 0])
    assert tokens.shape == (2, 0) and counts.tolist() == [0, 0] and log_probabilities.tolist() == [0, 0]


def frequencies(**options):
    tokens, *_ = sample([2] * 4000, [1] * 4000, **options)
    return np.bincount(tokens[:, 0], minlength=VOCABULARY) / 4000


def softmax(logits):
    values = np.exp(logits - logits.max())
    return values / values.sum()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_softmax_says(temperature):
    # Three standard errors of a frequency from 4000 draws are at most 0.024.
    np.testing.assert_allclose(frequencies(temperature=temperature), softmax(TABLE[1, 2] / temperature), atol=0.024)


def test_top_k_draws_from_the_k_likeliest():
    probabilities = softmax(TABLE[1, 2])
    probabilities[probabilities < np.sort(probabilities)[-2]] = 0
    np.testing.assert_allclose(frequencies(top_k=2), probabilities / probabilities.sum(), atol=0.024)


def test_top_p_draws_from_the_fewest_that_reach_p():
    probabilities = softmax(TABLE[1, 2])
    order = np.argsort(-probabilities)
    p = probabilities[order[:2]].sum() - 0.01  # so that two are needed and two suffice
    kept = np.where(np.isin(np.arange(VOCABULARY), order[:2]), probabilities, 0)
    np.testing.assert_allclose(frequencies(top_p=float(p)), kept / kept.sum(), atol=0.024)


def test_a_tiny_top_p_is_greedy():
    np.testing.assert_array_equal(sample([2, 3], [5, 5], top_p=1e-6)[0], sample([2, 3], [5, 5], temperature=0.0)[0])


def test_tokens_that_are_never_drawn():
    likeliest = int(TABLE[1, 2].argmax())
    assert frequencies(never=(likeliest,))[likeliest] == 0
    assert sample([2], [1], temperature=0.0, never=(likeliest,))[0][0, 0] != likeliest


def test_a_row_does_not_depend_on_its_neighbours_and_the_seed_decides():
    together = sample([2, 3, 4], [5, 5, 9])[0]
    alone = sample([3], [5], seed=1)[0]  # row 1 has seed 1
    np.testing.assert_array_equal(together[1, :5], alone[0])
    assert (sample([2] * 50, [9] * 50)[0] != sample([2] * 50, [9] * 50, seed=100)[0]).any()


def test_a_row_ends_behind_its_stop():
    free = sample([2, 3], [9, 9], temperature=0.0)[0]
    stop = np.array([[PAD, *free[0, 2:4]], [PAD, PAD, PAD]])
    tokens, counts, _ = sample([2, 3], [9, 9], temperature=0.0, stop=tf.constant(stop, tf.int32))
    at = next(i for i in range(1, 9) if free[0, i - 1 : i + 1].tolist() == stop[0, 1:].tolist())
    assert counts.tolist() == [at + 1, 9]
    np.testing.assert_array_equal(tokens[0, : at + 1], free[0, : at + 1])
    np.testing.assert_array_equal(tokens[1], free[1])


def beam(firsts, lengths, width, length_penalty=0.0, end=None, **options):
    rows = len(firsts)
    widths = [width] * rows if np.isscalar(width) else width

    @tf.function
    def run():
        logits, state = begin(*firsts)
        penalty = tf.fill([rows], length_penalty)
        return decoding.beam(step, logits, state, tf.constant(lengths), tf.constant(widths), penalty, end, **options)

    return [value.numpy() for value in run()]


def all_hypotheses(first, length, length_penalty=0.0, end=None):
    """Every finished hypothesis with its score, the best first."""
    found = []
    for n in range(1, length + 1):
        for tokens in itertools.product(range(1, VOCABULARY), repeat=n):
            finished = tokens[-1] == end or n == length
            if finished and end not in tokens[:-1]:
                found.append((log_probability(first, tokens) / ((5 + n) / 6) ** length_penalty, tokens))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("end", [None, 4])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_wide_beam_finds_what_an_exhaustive_search_finds(end, length_penalty):
    # 4^3 unfinished hypotheses at most: none is lost in a beam of 64.
    tokens, counts, log_probabilities, scores = beam(
        [2, 3], [4, 3], 64, length_penalty, end, never=(PAD,), most_width=64
    )
    for row, (first, length) in enumerate(((2, 4), (3, 3))):
        expected = all_hypotheses(first, length, length_penalty, end)
        for k in range(5):
            assert tuple(tokens[row, k, : counts[row, k]]) == expected[k][1]
            np.testing.assert_allclose(scores[row, k], expected[k][0], atol=1e-4)
            np.testing.assert_allclose(log_probabilities[row, k], log_probability(first, expected[k][1]), atol=1e-4)
            assert (tokens[row, k, counts[row, k] :] == PAD).all()


def test_a_beam_of_one_is_greedy():
    tokens, _, log_probabilities, _ = beam([2, 3], [6, 4], 1)
    greedy, counts, expected = sample([2, 3], [6, 4], temperature=0.0)
    np.testing.assert_array_equal(tokens[:, 0], greedy)
    np.testing.assert_allclose(log_probabilities[:, 0], expected, atol=1e-4)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 3.0])
def test_a_beam_of_one_ends_where_greedy_ends(length_penalty):
    firsts, ends = [1, 2, 3, 4, 1, 2, 3, 4], set()
    for end in range(1, VOCABULARY):
        tokens, counts, log_probabilities, _ = beam(firsts, [8] * 8, 1, length_penalty, end=end)
        greedy, expected_counts, expected = sample(firsts, [8] * 8, temperature=0.0, stop=tf.fill([8, 1], end))
        np.testing.assert_array_equal(tokens[:, 0, : greedy.shape[1]], greedy)
        assert counts[:, 0].tolist() == expected_counts.tolist()
        np.testing.assert_allclose(log_probabilities[:, 0], expected, atol=1e-4)
        ends |= set(expected_counts.tolist())
    assert min(ends) < 8 and len(ends) > 2  # some end early, and not all at the same length


def test_finished_hypotheses_are_not_extended():
    tokens, counts, _, scores = beam([2, 3], [7, 7], 4, end=4)
    for row in tokens.reshape(-1, 7):
        ends = np.flatnonzero(row == 4)
        assert len(ends) <= 1 and (not len(ends) or (row[ends[0] + 1 :] == PAD).all())
    assert (np.diff(scores, axis=1) <= 0).all()


def test_a_narrow_row_beside_a_wide_one_is_as_it_is_alone():
    together = beam([2, 3], [5, 5], [2, 4], end=4)
    alone = beam([2], [5], [2], end=4)
    np.testing.assert_array_equal(together[0][0, :2], alone[0][0])
    np.testing.assert_allclose(together[3][0, :2], alone[3][0], atol=1e-5)
    assert (together[1][0, 2:] == 0).all() and (together[3][0, 2:] < -1e8).all()


def test_a_row_of_no_tokens_has_one_sure_hypothesis():
    tokens, counts, log_probabilities, _ = beam([2, 3], [0, 3], 2)
    assert counts[0].tolist() == [0, 0] and log_probabilities[0, 0] == 0
    assert counts[1].tolist() == [3, 3]
