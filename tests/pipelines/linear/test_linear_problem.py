import dataclasses

import numpy as np
import pytest
from keras import ops
from scipy import sparse

from layers import NGramLogits
from pipelines.linear import linear_model, linear_problem
from pipelines.linear.linear_problem import Problem, Totals
from tests.pipelines.linear.test_linear_model import counted, texts


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_layer_computes_the_naive_bayes_of_scikit_learn(classes, weighted, monkeypatch):
    from sklearn.naive_bayes import ComplementNB, MultinomialNB

    choice = linear_model.Choice(cost=1, factors=(0.0, 1.0, 0.0))
    monkeypatch.setattr(linear_model, "_choose", lambda *arguments, **options: (choice, 0.0))
    monkeypatch.setattr(linear_problem, "_SHORT_TEXTS", 0)
    ids, labels = texts(classes)
    layer = NGramLogits(classes, num_ngrams=5000, max_n=1)
    layer.build((None, None))
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, 1.0 + labels if weighted else None, seed=1)
    occurrences = np.zeros((300, int(ids.flat_values.numpy().max()) + 1))
    for row, text in zip(occurrences, ids.to_list()):
        row[text] = 1
    occurrences = occurrences[:, occurrences.any(axis=0)]
    scaled = occurrences * (np.log(301 / (1 + occurrences.sum(0))) + 1)
    scaled /= np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    weight = 1.0 + labels if weighted else None
    if classes == 2:  # two classes have the ratio of their probabilities, without the classes' own
        found = MultinomialNB(alpha=0.5, fit_prior=False).fit(scaled, labels, weight)
    else:
        found = ComplementNB(alpha=0.5).fit(scaled, labels, weight)
    expected = scaled @ found.feature_log_prob_.T
    logits = ops.convert_to_numpy(layer(ids.to_tensor()))
    differences = [each - each.mean(axis=1, keepdims=True) for each in (logits, expected)]
    np.testing.assert_allclose(*differences, atol=1e-3)


def small_problem():
    rng = np.random.default_rng(0)
    occurrences = sparse.csr_matrix((rng.random((60, 20)) < 0.3).astype(np.float32))
    decisions = rng.integers(0, 3, 60) == np.arange(3)[:, None]
    return Problem(occurrences, np.arange(20) % 2 == 0, decisions, None, seed=1, num_weightings=2)


@pytest.mark.parametrize("weigh", [linear_problem.inverse_frequencies_of, linear_problem.log_count_ratios_of])
def test_some_of_the_texts_have_the_ratios_of_all(weigh):
    whole = small_problem()
    dense = whole.occurrences.toarray()
    totals = Totals(60, dense.sum(axis=0), sparse.csr_array(whole.decisions.astype(np.float32) @ dense))
    some = whole.rows(np.arange(20))
    for decision in range(3):
        expected = weigh(whole, decision)
        np.testing.assert_allclose(weigh(dataclasses.replace(some, totals=totals), decision), expected, rtol=1e-6)
        assert not np.allclose(weigh(some, decision), expected)


def test_the_ratios_are_those_of_the_equations():
    problem = small_problem()
    dense, is_class = problem.occurrences.toarray(), problem.decisions[1]
    frequencies = np.log(61 / (1 + dense.sum(axis=0))) + 1
    np.testing.assert_allclose(linear_problem.inverse_frequencies_of(problem, 1), frequencies, rtol=1e-6)
    inside, outside = dense[is_class].sum(axis=0) + 1, dense[~is_class].sum(axis=0) + 1
    ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    np.testing.assert_allclose(linear_problem.log_count_ratios_of(problem, 1), ratios, rtol=1e-5)
