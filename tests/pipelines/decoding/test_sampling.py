"""Sampling against results that can be counted by hand."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding import sampling
from pipelines.decoding.options import filled
from pipelines.text.tokenizers import PAD
from tests.pipelines.decoding.table_model import (
    NO_CHANGE,
    NUMERIC,
    TABLE,
    VOCABULARY,
    after,
    greedy,
    log_probability,
    sample,
    step,
)

pytestmark = pytest.mark.slow  # each compiles graphs


def test_greedy_takes_the_most_likely_token_each_time():
    tokens, lengths, log_probabilities = greedy([2, 3], [6, 6])
    for row, first in enumerate((2, 3)):
        previous, last = 1, first
        for token in tokens[row]:
            assert token == TABLE[previous, last].argmax()
            previous, last = last, token
        np.testing.assert_allclose(log_probabilities[row], log_probability(first, tokens[row]), atol=1e-4)
    assert lengths.tolist() == [6, 6]


def test_each_row_has_its_own_length_and_padding_after_it():
    samples = sample([2, 3, 4], [3, 0, 7])
    assert samples.lengths.tolist() == [3, 0, 7] and samples.tokens.shape == (3, 7)
    assert (samples.tokens[0, 3:] == PAD).all() and (samples.tokens[0, :3] != PAD).all()
    assert (samples.tokens[1] == PAD).all()


def test_no_tokens_at_all():
    samples = sample([2, 3], [0, 0])
    assert samples.tokens.shape == (2, 0)
    assert samples.lengths.tolist() == [0, 0] and samples.log_probabilities.tolist() == [0, 0]


def frequencies(**options):
    tokens = sample([2] * 4000, [1] * 4000, **options).tokens
    return np.bincount(tokens[:, 0], minlength=VOCABULARY) / 4000


def softmax(logits):
    values = np.exp(logits - logits.max())
    return values / values.sum()


def assert_frequencies(measured, probabilities):
    # Three standard errors of a frequency among 4000 samples are at most 0.024.
    np.testing.assert_allclose(measured, probabilities / probabilities.sum(), atol=0.024)
    assert (measured[probabilities == 0] == 0).all()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_sampled_from_the_softmax(temperature):
    assert_frequencies(frequencies(temperature=temperature), softmax(TABLE[1, 2] / temperature))


def test_top_k_samples_from_the_k_most_likely_tokens():
    probabilities = softmax(TABLE[1, 2])
    probabilities[probabilities < np.sort(probabilities)[-2]] = 0
    assert_frequencies(frequencies(top_k=2), probabilities)


def test_top_p_samples_from_the_fewest_tokens_that_sum_to_p():
    probabilities = softmax(TABLE[1, 2])
    order = np.argsort(-probabilities)
    p = probabilities[order[:2]].sum() - 0.01  # two tokens are needed, and two are enough
    kept = np.where(np.isin(np.arange(VOCABULARY), order[:2]), probabilities, 0)
    assert_frequencies(frequencies(top_p=float(p)), kept)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("num_kept", [1, 2, 3, 4])
def test_min_p_samples_from_the_tokens_with_a_fraction_of_the_highest_probability(num_kept, temperature):
    probabilities = softmax(TABLE[1, 2] / temperature)
    ranked = np.sort(probabilities)[::-1]
    min_p = (ranked[num_kept - 1] + ranked[num_kept]) / 2 / ranked[0]  # between two tokens
    kept = np.where(probabilities >= min_p * ranked[0], probabilities, 0)
    assert (kept > 0).sum() == num_kept
    assert_frequencies(frequencies(min_p=float(min_p), temperature=temperature), kept)


def test_min_p_of_1_is_greedy_and_combines_with_top_p_and_top_k():
    np.testing.assert_array_equal(sample([2, 3], [5, 5], min_p=1.0).tokens, greedy([2, 3], [5, 5]).tokens)
    probabilities = softmax(TABLE[1, 2])
    ranked = np.sort(probabilities)[::-1]
    kept = np.where(probabilities >= ranked[1], probabilities, 0)
    assert_frequencies(frequencies(min_p=float(ranked[2] / ranked[0] / 2), top_k=2), kept)
    assert_frequencies(frequencies(min_p=float(ranked[2] / ranked[0] / 2), top_p=float(ranked[:2].sum() - 0.01)), kept)


def penalized(logits, seen, penalty):
    """Keskar et al. 2019, in NumPy."""
    return np.where(seen, np.where(logits > 0, logits / penalty, logits * penalty), logits)


@pytest.mark.parametrize("penalty", [0.7, 1.3, 3.0])
def test_the_repetition_penalty_applies_to_the_tokens_of_the_prompt(penalty):
    seen = np.array([False, True, False, True, False])
    assert (TABLE[1, 2][seen] > 0).any() and (TABLE[1, 2][seen] < 0).any()  # both cases of the equation
    measured = frequencies(repetition_penalty=penalty, seen=tf.constant(np.tile(seen, (4000, 1))))
    assert_frequencies(measured, softmax(penalized(TABLE[1, 2], seen, penalty)))


def test_the_repetition_penalty_applies_to_the_generated_tokens():
    samples = greedy([2, 3, 4], [9, 9, 9], repetition_penalty=2.0)
    for row, first in enumerate((2, 3, 4)):
        previous, last, seen = 1, first, np.zeros(VOCABULARY, bool)
        for token in samples.tokens[row]:
            assert token == penalized(TABLE[previous, last], seen, 2.0).argmax()
            seen[token] = True
            previous, last = last, token
    free = greedy([2, 3, 4], [9, 9, 9])
    assert (samples.tokens != free.tokens).any()


def test_the_log_probability_is_that_of_the_model_without_any_option():
    samples = sample([2, 3], [7, 7], temperature=0.6, top_p=0.9, top_k=3, min_p=0.1, repetition_penalty=1.5)
    for row, first in enumerate((2, 3)):
        expected = log_probability(first, samples.tokens[row])
        np.testing.assert_allclose(samples.log_probabilities[row], expected, atol=1e-4)


def test_options_that_change_nothing_give_the_same_bits():
    rows = [2, 3, 4] * 20
    seen = tf.ones([60, VOCABULARY], tf.bool)
    for options in ({}, {"temperature": 0.7, "top_p": 0.8}):
        plain, with_seen = sample(rows, [9] * 60, **options), sample(rows, [9] * 60, seen=seen, **options)
        np.testing.assert_array_equal(plain.tokens, with_seen.tokens)
        np.testing.assert_array_equal(plain.log_probabilities, with_seen.log_probabilities)


def test_a_penalty_in_one_row_leaves_the_other_rows_as_they_are():
    def run(penalties):
        logits, state = after(2, 3)
        options = filled(NUMERIC, NO_CHANGE | {"seed": 3}, tf.zeros([2])) | {"max_length": tf.constant([9, 9])}
        return sampling.sample(step, logits, state, options | {"repetition_penalty": tf.constant(penalties)})

    plain, mixed = tf.function(run)([1.0, 1.0]), tf.function(run)([1.0, 5.0])
    np.testing.assert_array_equal(plain.tokens[0], mixed.tokens[0])
    assert (plain.tokens[1].numpy() != mixed.tokens[1].numpy()).any()


def test_a_tiny_top_p_is_greedy():
    np.testing.assert_array_equal(sample([2, 3], [5, 5], top_p=1e-6).tokens, greedy([2, 3], [5, 5]).tokens)


def test_banned_tokens_are_never_sampled():
    most_likely = int(TABLE[1, 2].argmax())
    assert frequencies(banned_ids=(most_likely,))[most_likely] == 0
    assert greedy([2], [1], banned_ids=(most_likely,)).tokens[0, 0] != most_likely
    penalty = greedy(
        [2], [1], banned_ids=(most_likely,), repetition_penalty=0.01, seen=tf.ones([1, VOCABULARY], tf.bool)
    )
    assert penalty.tokens[0, 0] != most_likely


def test_a_row_depends_on_its_seed_and_not_on_the_other_rows():
    together = sample([2, 3, 4], [5, 5, 9]).tokens
    alone = sample([3], [5], seed=1).tokens  # row 1 has seed 1
    np.testing.assert_array_equal(together[1, :5], alone[0])
    assert (sample([2] * 50, [9] * 50).tokens != sample([2] * 50, [9] * 50, seed=100).tokens).any()


def test_a_row_ends_after_its_stop_tokens():
    free = greedy([2, 3], [9, 9]).tokens
    stop = np.array([[PAD, *free[0, 2:4]], [PAD, PAD, PAD]])
    samples = greedy([2, 3], [9, 9], stop_ids=tf.constant(stop, tf.int32))
    end = next(i for i in range(1, 9) if free[0, i - 1 : i + 1].tolist() == stop[0, 1:].tolist())
    assert samples.lengths.tolist() == [end + 1, 9]
    np.testing.assert_array_equal(samples.tokens[0, : end + 1], free[0, : end + 1])
    np.testing.assert_array_equal(samples.tokens[1], free[1])
