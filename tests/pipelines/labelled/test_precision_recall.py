import numpy as np
import pytest
from sklearn import metrics

from pipelines.labelled import precision_recall

HAS_LABEL = np.array([True, True, False, True, False, False])
PROBABILITIES = np.array([0.9, 0.8, 0.7, 0.4, 0.4, 0.1])


def test_a_curve_computed_by_hand():
    curve = precision_recall.curve(HAS_LABEL, PROBABILITIES)
    np.testing.assert_allclose(curve.threshold, [0.85, 0.75, 0.55, 0.25, 0.05])  # equal probabilities are not divided
    assert curve.num_predicted.tolist() == [1, 2, 3, 5, 6]
    np.testing.assert_allclose(curve.precision, [1, 1, 2 / 3, 3 / 5, 1 / 2])
    np.testing.assert_allclose(curve.recall, [1 / 3, 2 / 3, 2 / 3, 1, 1])
    np.testing.assert_allclose(curve.f1, [1 / 2, 4 / 5, 2 / 3, 3 / 4, 2 / 3])


def test_the_thresholds_that_users_ask_for():
    curve = precision_recall.curve(HAS_LABEL, PROBABILITIES)
    assert precision_recall.best_f1(curve) == 1
    assert precision_recall.highest_recall(curve, 0.6) == 3
    assert precision_recall.highest_recall(curve, 0.65) == 1  # 0.55 has the same recall and a lower precision
    assert precision_recall.highest_precision(curve) == 1


def test_a_precision_that_no_threshold_reaches():
    curve = precision_recall.curve(np.array([False, True, False]), np.array([0.9, 0.5, 0.1]))
    assert precision_recall.highest_recall(curve, 0.9) is None
    assert curve.precision[precision_recall.highest_precision(curve)] == 0.5


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    has_label, probabilities = rng.random(500) < 0.2, rng.integers(0, 50, 500) / 50  # with equal probabilities
    expected = metrics.average_precision_score(has_label, probabilities)
    assert precision_recall.average_precision(has_label, probabilities) == pytest.approx(expected)
    assert precision_recall.average_precision(np.zeros(3, bool), np.array([0.1, 0.2, 0.3])) is None
