"""The tables against the equations of Chen and Goodman, computed for each context and token from lists of n-grams."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import kneser_ney
from pipelines.language_model.kneser_ney import NOT_PREDICTED, discounts, estimate
from pipelines.language_model.ngram_layer import BackoffNGrams, table_sizes
from pipelines.text.tokenizers import PAD, START

VOCABULARY = 12
IDS = np.random.default_rng(3).choice(np.arange(3, VOCABULARY), 400, p=np.arange(9, 0, -1) / 45).astype(np.int32)


def adjusted_counts(ids, order):
    """(context, token) -> a, for each length of context; by the definition, one n-gram at a time."""
    text = [PAD] * (order - 2) + [START] + ids.tolist()
    grams = collections.Counter(tuple(text[i - order + 1 : i + 1]) for i in range(order - 1, len(text)))
    levels = [grams]
    for _ in range(order - 1):
        before = collections.defaultdict(set)
        for gram in levels[0]:
            before[gram[1:]].add(gram[0])
        levels.insert(0, {gram: len(tokens) for gram, tokens in before.items()})
    return levels


def reference(ids, order, context):
    """p(w | context) of each token, float64 [vocabulary]."""
    levels = adjusted_counts(ids, order)

    def probabilities(m):
        if m < 0:
            uniform = np.ones(VOCABULARY)
            uniform[list(NOT_PREDICTED)] = 0
            return uniform / uniform.sum()
        shorter = probabilities(m - 1)
        suffix = tuple(context[len(context) - m :])
        d = (0.0, *discounts(np.array(list(levels[m].values()))))
        counts = np.array([levels[m].get((*suffix, w), 0) for w in range(VOCABULARY)])
        if not counts.sum():
            return shorter
        d_of = np.array([d[min(count, 3)] for count in counts])
        gamma = sum(d[i] * (np.minimum(counts, 3) == i).sum() for i in (1, 2, 3)) / counts.sum()
        return np.maximum(counts - d_of, 0) / counts.sum() + gamma * shorter

    return probabilities(order - 1)


@pytest.fixture(scope="module", params=[2, 3, 5])
def model(request):
    order = request.param
    tables = estimate(IDS, order, VOCABULARY)
    layer = BackoffNGrams(order, VOCABULARY, table_sizes(tables))
    layer.build(None)
    layer.assign(tables)
    return order, layer


def contexts(order):
    """Contexts that occur, that do not, and the start of the text."""
    rng = np.random.default_rng(0)
    found = [IDS[i : i + order - 1] for i in (0, 7, 50)] + [rng.integers(3, VOCABULARY, order - 1) for _ in range(20)]
    return np.array([*found, [PAD] * (order - 2) + [START]], np.int32)


def test_the_probabilities_are_those_of_the_equations(model):
    order, layer = model
    rows = contexts(order)
    got = np.exp(layer(tf.constant(rows)).numpy()[:, -1])
    expected = np.array([reference(IDS, order, row.tolist()) for row in rows])
    np.testing.assert_allclose(got, np.maximum(expected, 1e-30), atol=1e-6)
    np.testing.assert_allclose(got.sum(axis=1), 1, atol=1e-5)
    assert (got[:, list(NOT_PREDICTED)[:2]] < 1e-20).all()


def test_looking_up_the_targets_gives_the_same(model):
    _, layer = model
    ids = tf.constant(np.random.default_rng(1).integers(3, VOCABULARY, (3, 20)), tf.int32)
    targets = tf.constant(np.random.default_rng(2).integers(3, VOCABULARY, (3, 20)), tf.int32)
    expected = tf.gather(layer(ids), targets, batch_dims=2)
    np.testing.assert_allclose(layer.target_log_probabilities(ids, targets), expected, atol=1e-5)


def test_a_position_sees_the_last_tokens_alone(model):
    order, layer = model
    ids = np.random.default_rng(1).integers(3, VOCABULARY, (1, 20)).astype(np.int32)
    whole = layer(tf.constant(ids)).numpy()[0]
    end = layer(tf.constant(ids[:, -(order - 1) :])).numpy()[0, -1]
    np.testing.assert_allclose(whole[-1], end, atol=1e-6)


def test_the_discounts_are_those_of_the_formula_or_the_usual_ones():
    counts = np.array([1] * 10 + [2] * 5 + [3] * 3 + [4] * 2)
    y = 10 / 20
    assert discounts(counts) == pytest.approx((1 - 2 * y * 5 / 10, 2 - 3 * y * 3 / 5, 3 - 4 * y * 2 / 3))
    assert discounts(np.array([1, 1, 5])) == kneser_ney._DEFAULT_DISCOUNTS


def test_a_text_of_few_tokens_has_a_model():
    tables = estimate(np.array([5, 5, 6], np.int32), 3, VOCABULARY)
    assert tables.unigrams.sum() == pytest.approx(1)
    assert np.argmax(tables.unigrams) == 5
    assert tables.sizes == [2, 3, 3] and tables.discounts == [kneser_ney._DEFAULT_DISCOUNTS] * 3
