import numpy as np
import pytest
from scipy import sparse

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


def test_the_interval_of_wilson():
    # Table of Newcombe 1998, "Two-sided confidence intervals for the single proportion", method 3.
    assert metrics.wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert metrics.wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert metrics.wilson_interval(1, 1)[1] == 1.0


def test_scores_by_class_with_one_that_does_not_occur():
    confusion = np.array([[3, 1, 0], [2, 4, 0], [0, 0, 0]])
    a, b, c = metrics.scores_by_class(confusion, ("a", "b", "c"))
    assert a == {"class": "a", "rows": 4, "precision": 3 / 5, "recall": 3 / 4, "f1": pytest.approx(2 / 3)}
    assert b["f1"] == pytest.approx(8 / 11)
    assert c == {"class": "c", "rows": 0, "precision": None, "recall": None, "f1": None}
    f1, (low, high) = metrics.f1_interval(confusion)
    assert f1 == pytest.approx((2 / 3 + 8 / 11) / 2)  # the class that does not occur is not counted as 0
    assert 0 < low < f1 < high <= 1


def test_without_the_positive_class_there_is_no_f1():
    assert metrics.f1_interval(np.array([[4, 1], [0, 0]])) == (None, None)


def test_the_interval_of_f1_has_the_right_size():
    """The bootstrap's interval covers the true F1 in about 95 % of the samples."""
    true = np.array([[400, 100], [80, 420]]) / 1000
    f1 = 2 * true[1, 1] / (true[1].sum() + true[:, 1].sum())
    samples = np.random.default_rng(1).multinomial(300, true.ravel(), size=200).reshape(-1, 2, 2)
    intervals = [metrics.f1_interval(sample)[1] for sample in samples]
    assert 0.9 <= np.mean([low <= f1 <= high for low, high in intervals]) <= 0.99


def test_three_classes():
    probabilities = np.eye(3)[[0, 1, 2, 2]] * 0.9 + 0.1 / 3
    got = metrics.compute_scores(np.array([0, 1, 2, 0]), probabilities, ("a", "b", "c"), texts(1, 1, 1, 1))
    assert got["accuracy"] == 0.75
    assert got["f1"] == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert 0.8 < got["roc_auc"] < 1


def test_of_many_classes_the_most_frequent_confusions_take_the_place_of_the_matrix():
    classes = tuple(f"c{i}" for i in range(metrics.MAX_MATRIX + 1))
    labels = np.array([0, 0, 0, 1, 2, 3])
    predicted = np.array([5, 5, 0, 1, 3, 2])
    probabilities = np.eye(len(classes))[predicted]
    got = metrics.compute_scores(labels, probabilities, classes, np.array(["a text"] * 6))
    assert "confusion_matrix" not in got
    assert [tuple(each.values()) for each in got["confusions"]] == [("c0", "c5", 2), ("c2", "c3", 1), ("c3", "c2", 1)]
    assert got["by_class"][0] == {"class": "c0", "rows": 3, "precision": 1.0, "recall": 1 / 3, "f1": 0.5}


def test_a_sparse_matrix_has_the_f1_of_a_dense_one():
    confusion = np.array([[3, 1, 0], [2, 4, 0], [0, 2, 5]])
    assert metrics.f1_interval(sparse.csr_array(confusion)) == metrics.f1_interval(confusion)


def test_the_interval_of_many_classes_with_few_texts_has_their_f1():
    f1, (low, high) = metrics.f1_interval(np.diag(np.ones(300, int)) + np.diag(np.ones(299, int), 1))
    assert low < f1 < high
