"""The continuous cache against its equation, one position at a time, in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding.options import CACHE, SAMPLING, defaults, filled
from pipelines.language_model import cache
from pipelines.language_model.cache import CachedSteps
from pipelines.language_model.steps import losses_in_sequence, make_steps
from pipelines.text.tokenizers import START
from tests.pipelines.language_model.models import TEXT, make


@pytest.fixture(
    scope="module",
    params=[
        {"tokenizer": "word", "tie_weights": True},  # with a projection: the embeddings are smaller than the state
        pytest.param({"tokenizer": "subword", "model": "gru"}, marks=pytest.mark.long),
    ],
)
def made(request):
    return make(**request.param)


def ids_of(made, text):
    return made[1].encode(tf.constant([text]))[:, 1:-1].to_tensor()


def reference(made, ids, size, theta, weight):
    """-log p of each token, float64 [time]."""
    config, _, network, _ = made
    steps = make_steps(config, network)
    inputs = tf.concat([[[START]], ids[:, :-1]], axis=1)
    h = steps.features(inputs, steps.start(1))[0][0].numpy().astype(float)  # h[t] predicts ids[t]
    logits = network(inputs)[0].numpy().astype(float)
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    targets, losses = ids[0].numpy(), []
    for t in range(len(targets)):
        places = range(max(0, t - size), t)
        scores = np.array([theta * h[t] @ h[i] for i in places])
        mixed = p[t]
        if len(scores):
            weights = np.exp(scores - scores.max())
            cached = np.zeros_like(p[t])
            np.add.at(cached, targets[list(places)], weights / weights.sum())
            mixed = (1 - weight) * p[t] + weight * cached
            assert mixed.sum() == pytest.approx(1)
        losses.append(-np.log(mixed[targets[t]]))
    return np.array(losses)


def losses(made, ids, size, theta=0.7, weight=0.3):
    rows = len(ids)
    options = [tf.fill([rows], value) for value in (size, theta, weight)]
    return made[3].token_losses_with_cache(ids, *options)["losses"].numpy()


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_losses_are_those_of_the_equation(made, size):
    ids = ids_of(made, TEXT)
    np.testing.assert_allclose(losses(made, ids, size)[0], reference(made, ids, size, 0.7, 0.3), atol=1e-4)


def test_without_entries_or_weight_the_probabilities_are_those_of_the_model(made):
    ids = ids_of(made, TEXT)
    expected = made[3].token_losses(ids)["losses"].numpy()
    np.testing.assert_allclose(losses(made, ids, 0), expected, atol=1e-5)
    np.testing.assert_allclose(losses(made, ids, 50, weight=0.0), expected, atol=1e-5)
    np.testing.assert_allclose(losses(made, ids, 50)[:, 0], expected[:, 0], atol=1e-5)  # the cache is empty


def test_a_text_that_repeats_a_token_becomes_likelier(made):
    ids = tf.fill([1, 30], 7)
    with_cache, without = losses(made, ids, 1000)[0], losses(made, ids, 0)[0]
    assert with_cache[0] == pytest.approx(without[0], abs=1e-5)
    p = np.exp(-without[1:])
    np.testing.assert_allclose(with_cache[1:], -np.log(0.7 * p + 0.3), atol=1e-4)  # p_cache is 1


@pytest.mark.parametrize("chunk", [2, 7, 1000])
def test_the_size_of_the_chunks_changes_nothing(made, chunk):
    ids = ids_of(made, TEXT)
    expected = losses(made, ids, 20)
    steps = CachedSteps(make_steps(made[0], made[2]), tf.constant([20]), tf.constant([0.7]), tf.constant([0.3]))
    inputs = tf.concat([[[START]], ids[:, :-1]], axis=1)
    np.testing.assert_allclose(losses_in_sequence(steps, inputs, ids, chunk), expected, atol=1e-5)


def test_each_row_has_its_own_options_and_neighbours_and_padding_change_nothing(made):
    ids = ids_of(made, TEXT)
    rows = tf.concat([ids, ids, tf.concat([ids[:, :9], tf.zeros_like(ids[:, 9:])], axis=1)], axis=0)
    sizes, theta, weight = tf.constant([4, 60, 7]), tf.constant([0.7, 0.2, 0.7]), tf.constant([0.3, 0.5, 0.1])
    together = made[3].token_losses_with_cache(rows, sizes, theta, weight)["losses"].numpy()
    for i, time in enumerate((ids.shape[1], ids.shape[1], 9)):
        alone = losses(made, rows[i : i + 1, :time], int(sizes[i]), float(theta[i]), float(weight[i]))
        np.testing.assert_allclose(together[i, :time], alone[0], atol=1e-4)


@pytest.mark.parametrize("chunk", [2, 5, 100])
def test_prompts_of_different_lengths_and_single_steps_give_the_losses_of_the_whole_text(made, chunk):
    config, _, network, _ = made
    ids = ids_of(made, TEXT)
    expected = [losses(made, ids, size)[0] for size in (6, 40)]
    steps = CachedSteps(
        make_steps(config, network), tf.constant([6, 40]), tf.constant([0.7, 0.7]), tf.constant([0.3, 0.3])
    )
    inputs = tf.repeat(tf.concat([[[START]], ids], axis=1), 2, axis=0)
    lengths = tf.constant([8, 3])
    prompts = tf.where(tf.sequence_mask(lengths, 8), inputs[:, :8], 0)
    logits, state = cache.read_prompt(steps, prompts, lengths, chunk)
    for step in range(12):
        for row in range(2):
            target = int(ids[0, lengths[row] - 1 + step])
            assert -float(logits[row, target]) == pytest.approx(expected[row][int(lengths[row]) - 1 + step], abs=1e-4)
        logits, state = steps.step(tf.gather(inputs, lengths + step, batch_dims=1), state)


@pytest.mark.long
def test_greedy_generation_takes_the_likeliest_token_with_the_cache(made):
    _, tokenizer, _, generator = made
    text = tf.constant(["To be or not to be", ""])
    values = defaults(SAMPLING) | {"temperature": 0.0, "max_length": 6}
    options = filled(SAMPLING, values, text)
    size, theta, weight = ([30, 30], [2.0, 2.0], [0.9, 0.9])
    cached = dict(zip((option.name for option in CACHE), map(tf.constant, (size, theta, weight)), strict=True))
    outputs = generator.generate_with_cache(text=text, **options, **cached)
    for row, prompt in enumerate(each.decode() for each in text.numpy()):
        whole = tokenizer.encode(tf.constant([prompt + outputs["text"].numpy()[row].decode()]))[:, 1:-1].to_tensor()
        start = tokenizer.encode(tf.constant([prompt])).row_lengths()[0] - 2
        total = losses(made, whole, 30, 2.0, 0.9)[0, start : start + 6].sum()
        # Another division into tokens of the same text would give other losses.
        if whole.shape[1] == start + 6:
            assert float(outputs["log_probability"][row]) == pytest.approx(-total, abs=1e-3)
    no_cache = dict(cached, cache_size=tf.constant([0, 0]))
    plain = generator.generate(text=text, **options)
    same = generator.generate_with_cache(text=text, **options, **no_cache)
    np.testing.assert_array_equal(same["text"].numpy(), plain["text"].numpy())


def test_an_option_out_of_range_fails(made):
    with pytest.raises(tf.errors.InvalidArgumentError, match="cache_lambda must be at least 0, at most 0.99"):
        losses(made, ids_of(made, TEXT), 5, weight=1.5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "can"),
    [
        pytest.param({"tokenizer": "character"}, False, marks=pytest.mark.exhaustive),
        ({"tokenizer": "word"}, True),
    ],
)
def test_exports_of_words_and_subwords_have_the_signatures(kind, can):
    signatures = make(**kind, hidden_size=4, num_layers=1)[3].signatures()
    assert ("generate_with_cache" in signatures) == ("token_losses_with_cache" in signatures) == can
    assert "token_losses_with_cache" not in make("transformer", tokenizer="word")[3].signatures()
