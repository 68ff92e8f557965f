import joblib
import numpy as np
import pytest
from scipy import sparse

from pipelines.linear import solver


def make_problem(num_classes=3, num_texts=60):
    rng = np.random.default_rng(0)
    scaled = rng.random((num_texts, 20), np.float32) * (rng.random((num_texts, 20)) < 0.3)
    scaled[:, -1] = 1  # of the bias
    return sparse.csr_matrix(scaled), rng.integers(num_classes, size=num_texts)


@pytest.mark.parametrize("cost", [0.3, 10.0])
def test_a_solution_is_the_minimum(cost):
    """|w|^2 / 2 + C sum_i weight_i max(0, 1 - y_i (w x_i + b))^2, where the bias is regularised as the weights are."""
    scaled, labels = make_problem()
    is_class, text_weight = labels == 1, np.linspace(0.5, 2, len(labels))
    weights, bias = solver.fit_one(scaled, is_class, text_weight, cost, seed=1)
    sign = np.where(is_class, 1, -1)

    def loss(solution):
        margins = 1 - sign * (scaled @ solution)
        return solution @ solution / 2 + cost * text_weight @ np.maximum(0, margins) ** 2

    found = np.append(weights, bias)
    rng = np.random.default_rng(1)
    for _ in range(200):
        assert loss(found) <= loss(found + rng.normal(scale=0.02, size=20)) + 1e-4 * loss(found)


def test_texts_without_weight_are_as_none():
    scaled, labels = make_problem()
    kept = np.arange(len(labels)) % 3 > 0
    weighted = solver.fit_one(scaled, labels == 1, kept.astype(float), 1.0, seed=1)
    alone = solver.fit_one(scaled[kept], labels[kept] == 1, np.ones(kept.sum()), 1.0, seed=1)
    np.testing.assert_array_equal(weighted[0], alone[0])


@pytest.mark.parametrize(("has_label", "sign"), [(True, 1), (False, -1)])
def test_a_label_that_all_texts_have_or_none_is_a_constant(has_label, sign):
    scaled, labels = make_problem()
    weights, bias = solver.fit_one(scaled, np.full(len(labels), has_label), None, 1.0, seed=1)
    assert not weights.any() and bias * sign > 4


@pytest.fixture
def started(monkeypatch):
    """The numbers of processes that were started."""
    numbers, parallel = [], joblib.Parallel
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr(
        joblib, "Parallel", lambda number, **options: numbers.append(number) or parallel(number, **options)
    )
    return numbers


def test_processes_give_the_same_solutions_in_the_order_of_the_classes(started):
    scaled, labels = make_problem()
    texts = [(scaled, labels == i, None) for i in range(3)]
    expected = list(solver.fit_all(texts, 1.0, 1, num_classes=3, num_ngrams=1000))
    assert not started
    found = solver.fit_all(iter(texts), 1.0, 1, num_classes=3, num_ngrams=7_000_000)
    for (weights, bias), one in zip(found, expected, strict=True):
        np.testing.assert_array_equal(weights, one[0])
        assert bias == one[1]
    assert started == [2]


def test_texts_that_would_fill_the_memory_of_processes_are_fitted_here(started):
    scaled, labels = make_problem()
    assert len(list(solver.fit_all([(scaled, labels == 1, None)], 1.0, 1, num_classes=3, num_ngrams=11_000_000))) == 1
    assert not started
