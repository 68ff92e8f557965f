"""Beam search against exhaustive search over a small model."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding.beam_search import Hypotheses, beam_search, num_columns
from pipelines.decoding.loop import STAGE_STEPS
from pipelines.text.tokenizers import PAD
from tests.pipelines.decoding.table_model import (
    VOCABULARY,
    after,
    greedy,
    log_probability,
    step,
)


def beam(first_tokens, lengths, beam_width, length_penalty=0.0, end_id=None, **options):
    rows = len(first_tokens)
    widths = [beam_width] * rows if np.isscalar(beam_width) else beam_width

    @tf.function
    def run():
        logits, state = after(*first_tokens)
        penalty = tf.fill([rows], length_penalty)
        return beam_search(step, logits, state, tf.constant(lengths), tf.constant(widths), penalty, end_id, **options)

    return Hypotheses(*(value.numpy() for value in run()))


def all_hypotheses(first, length, length_penalty=0.0, end_id=None):
    """Every finished hypothesis with its score, the best first."""
    hypotheses = []
    for n in range(1, length + 1):
        for tokens in itertools.product(range(1, VOCABULARY), repeat=n):
            finished = tokens[-1] == end_id or n == length
            if finished and end_id not in tokens[:-1]:
                score = log_probability(first, tokens) / ((5 + n) / 6) ** length_penalty
                hypotheses.append((score, tokens))
    return sorted(hypotheses, reverse=True)


@pytest.mark.parametrize("end_id", [None, 4])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_wide_beam_equals_an_exhaustive_search(end_id, length_penalty):
    # At most 4^3 unfinished hypotheses: a beam of 64 loses none.
    found = beam([2, 3], [4, 3], 64, length_penalty, end_id, banned_ids=(PAD,), max_beam_width=64)
    for row, (first, length) in enumerate(((2, 4), (3, 3))):
        expected = all_hypotheses(first, length, length_penalty, end_id)
        for k in range(5):
            n = found.lengths[row, k]
            assert tuple(found.tokens[row, k, :n]) == expected[k][1]
            np.testing.assert_allclose(found.scores[row, k], expected[k][0], atol=1e-4)
            expected_log = log_probability(first, expected[k][1])
            np.testing.assert_allclose(found.log_probabilities[row, k], expected_log, atol=1e-4)
            assert (found.tokens[row, k, n:] == PAD).all()


def test_a_beam_of_one_is_greedy():
    found, expected = beam([2, 3], [6, 4], 1), greedy([2, 3], [6, 4])
    np.testing.assert_array_equal(found.tokens[:, 0], expected.tokens)
    np.testing.assert_allclose(found.log_probabilities[:, 0], expected.log_probabilities, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    "length_penalty", [1.0, pytest.param(0.0, marks=pytest.mark.long), pytest.param(3.0, marks=pytest.mark.long)]
)
def test_a_beam_of_one_ends_where_greedy_ends(length_penalty):
    first_tokens, lengths = [1, 2, 3, 4, 1, 2, 3, 4], set()
    for end_id in range(1, VOCABULARY):
        found = beam(first_tokens, [8] * 8, 1, length_penalty, end_id=end_id)
        expected = greedy(first_tokens, [8] * 8, stop_ids=tf.fill([8, 1], end_id))
        np.testing.assert_array_equal(found.tokens[:, 0, : expected.tokens.shape[1]], expected.tokens)
        assert found.lengths[:, 0].tolist() == expected.lengths.tolist()
        np.testing.assert_allclose(found.log_probabilities[:, 0], expected.log_probabilities, atol=1e-4)
        lengths |= set(expected.lengths.tolist())
    assert min(lengths) < 8 and len(lengths) > 2  # some end early, and not all at the same length


def test_finished_hypotheses_are_not_extended():
    found = beam([2, 3], [7, 7], 4, end_id=4)
    for row in found.tokens.reshape(-1, 7):
        ends = np.flatnonzero(row == 4)
        assert len(ends) <= 1 and (not len(ends) or (row[ends[0] + 1 :] == PAD).all())
    assert (np.diff(found.scores, axis=1) <= 0).all()


def test_a_row_with_a_smaller_beam_width_gets_what_it_gets_alone():
    together = beam([2, 3], [5, 5], [2, 4], end_id=4)
    alone = beam([2], [5], [2], end_id=4)
    np.testing.assert_array_equal(together.tokens[0, :2], alone.tokens[0])
    np.testing.assert_allclose(together.scores[0, :2], alone.scores[0], atol=1e-5)
    assert (together.lengths[0, 2:] == 0).all() and (together.scores[0, 2:] < -1e8).all()


@pytest.mark.long
def test_rows_that_are_done_at_different_times_get_what_they_get_alone():
    """The rows are removed from the batch at different times, after one of the stages of the search."""
    lengths = [1, 20, 3, 12, 0, 8]
    together = beam([1, 2, 3, 4, 1, 2], lengths, 3, 1.0)
    for row, (first, length) in enumerate(zip([1, 2, 3, 4, 1, 2], lengths, strict=True)):
        alone = beam([first], [length], 3, 1.0)
        np.testing.assert_array_equal(together.lengths[row], alone.lengths[0])
        width = alone.tokens.shape[2]
        np.testing.assert_array_equal(together.tokens[row, :, :width], alone.tokens[0])
        assert (together.tokens[row, :, width:] == PAD).all()
        np.testing.assert_allclose(together.scores[row], alone.scores[0], atol=1e-5)


@pytest.mark.parametrize("num_best", [1, 2])
def test_a_search_for_the_best_hypotheses_alone_finds_those(num_best):
    whole = beam([1, 2, 3, 4], [12] * 4, 4, 1.0, end_id=4)
    short = beam([1, 2, 3, 4], [12] * 4, 4, 1.0, end_id=4, num_best=num_best)
    np.testing.assert_array_equal(short.tokens[:, :num_best], whole.tokens[:, :num_best])
    np.testing.assert_allclose(short.scores[:, :num_best], whole.scores[:, :num_best], atol=1e-5)


@pytest.mark.long
def test_what_a_row_shares_with_its_hypotheses_and_its_room_follow_the_row():
    """The state of a model that adds the number of the row to the logits of a token, and that uses its room up."""

    def counting_step(ids, state):
        logits, new = step(ids, {"last": state["last"]})
        k = tf.shape(ids)[0] // tf.shape(state["row"])[0]
        bonus = tf.repeat(tf.cast(state["row"], tf.float32), k)[:, None] * tf.one_hot(3, VOCABULARY)
        return logits + bonus, new | {"row": state["row"], "room": state["room"][:, 1:]}

    def make_room(state):
        longer = tf.pad(state["room"], [[0, 0], [0, STAGE_STEPS]])
        return state | {"room": tf.compat.v1.placeholder_with_default(longer, [None, None])}

    def run(rows, lengths):
        @tf.function
        def search():
            logits, state = after(*[2] * len(rows))
            logits += tf.cast(rows, tf.float32)[:, None] * tf.one_hot(3, VOCABULARY)
            state |= {"row": tf.constant(rows), "room": tf.zeros([len(rows), 0])}
            widths, penalty = tf.fill([len(rows)], 2), tf.fill([len(rows)], 1.0)
            options = {"shared": ("row", "room"), "make_room": make_room}
            return beam_search(counting_step, logits, state, tf.constant(lengths), widths, penalty, None, **options)

        return search()

    together = run([0, 1, 2, 3], [3, 20, 1, 11])
    for row, length in enumerate([3, 20, 1, 11]):
        alone = run([row], [length])
        np.testing.assert_array_equal(together.tokens[row, :, :length], alone.tokens[0])
        np.testing.assert_allclose(together.scores[row], alone.scores[0], atol=1e-5)
    assert not np.array_equal(together.tokens[0, 0], together.tokens[3, 0])


def test_the_beam_width_is_limited():
    assert beam([2], [3], 64).tokens.shape[1] == 16
    assert beam([2], [3], 64, max_beam_width=20).tokens.shape[1] == 20


def test_a_row_of_length_0_has_one_hypothesis_with_probability_1():
    found = beam([2, 3], [0, 3], 2)
    assert found.lengths[0].tolist() == [0, 0] and found.log_probabilities[0, 0] == 0
    assert found.lengths[1].tolist() == [3, 3]


def test_the_columns_that_have_a_hypothesis_are_counted():
    scores = tf.constant([[0.0, -3.0, -1e9, -1e9], [-1.0, -1e9, -1e9, -1e9]])
    assert num_columns(scores) == 2
    assert num_columns(scores[1:, 1:]) == 1 == num_columns(scores[:0])  # signatures have at least one column
