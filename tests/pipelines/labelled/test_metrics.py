import numpy as np
import pytest

from pipelines.labelled import metrics

CLASSES = ("negative", "positive")


def texts(*words):
    return np.array([" ".join(["word"] * n) for n in words], dtype=object)


def test_scores_computed_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    got = metrics.compute_scores(np.array([0, 0, 1, 1]), probabilities, CLASSES, texts(10, 60, 150, 1000))
    assert got["rows"] == 4
    assert got["accuracy"] == 0.5
    assert got["f1"] == pytest.approx(0.5)
    assert got["roc_auc"] == pytest.approx(3 / 4)  # of the four pairs (negative, positive), three have the right order
    assert got["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.3]).mean())
    assert got["confusion_matrix"] == [[1, 1], [1, 1]]
    # probabilities .9 correct, .6 wrong, .8 correct, .7 wrong, each in a bin of its own
    assert got["calibration_error"] == pytest.approx((0.1 + 0.6 + 0.2 + 0.7) / 4)
    assert got["accuracy_by_length"] == [
        {"words": "up to 50", "rows": 1, "accuracy": 1.0},
        {"words": "51 to 100", "rows": 1, "accuracy": 0.0},
        {"words": "101 to 200", "rows": 1, "accuracy": 1.0},
        {"words": "over 400", "rows": 1, "accuracy": 0.0},
    ]


def test_a_perfectly_calibrated_classifier_has_no_calibration_error():
    rng = np.random.default_rng(0)
    positive = rng.uniform(size=200_000)
    labels = (rng.uniform(size=len(positive)) < positive).astype(int)
    assert metrics.calibration_error(labels, np.stack([1 - positive, positive], 1)) < 0.005


def test_without_a_class_the_roc_auc_is_undefined():
    probabilities = np.full((2, 3), 1 / 3)
    got = metrics.compute_scores(np.array([0, 1]), probabilities, ("a", "b", "c"), texts(1, 1))
    assert got["roc_auc"] is None
    assert got["confusion_matrix"] == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert got["log_loss"] == pytest.approx(np.log(3))


def test_three_classes():
    probabilities = np.eye(3)[[0, 1, 2, 2]] * 0.9 + 0.1 / 3
    got = metrics.compute_scores(np.array([0, 1, 2, 0]), probabilities, ("a", "b", "c"), texts(1, 1, 1, 1))
    assert got["accuracy"] == 0.75
    assert got["f1"] == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert 0.8 < got["roc_auc"] < 1
