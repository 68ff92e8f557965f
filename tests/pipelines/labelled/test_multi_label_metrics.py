import numpy as np
import pytest
from sklearn import metrics

from pipelines.labelled import multi_label_metrics

CLASSES = ("a", "b", "c")
RNG = np.random.default_rng(0)
LABELS = (RNG.random((200, 3)) < [0.5, 0.2, 0.0]).astype(np.int32)  # no text has c
PROBABILITIES = np.clip(0.25 + 0.5 * LABELS + RNG.normal(0, 0.2, LABELS.shape), 0, 1)
PREDICTED = (PROBABILITIES >= 0.5).astype(np.int32)
SCORES = multi_label_metrics.compute_scores(LABELS, PREDICTED, PROBABILITIES, CLASSES)


def test_scores_are_those_of_scikit_learn():
    used, predicted = LABELS[:, :2], PREDICTED[:, :2]
    assert SCORES["rows"] == 200
    assert SCORES["accuracy"] == pytest.approx(metrics.accuracy_score(LABELS, PREDICTED))
    assert SCORES["micro_f1"] == pytest.approx(metrics.f1_score(LABELS, PREDICTED, average="micro"))
    assert SCORES["micro_precision"] == pytest.approx(metrics.precision_score(LABELS, PREDICTED, average="micro"))
    assert SCORES["micro_recall"] == pytest.approx(metrics.recall_score(LABELS, PREDICTED, average="micro"))
    assert SCORES["f1"] == pytest.approx(metrics.f1_score(used, predicted, average="macro"))  # without c
    expected = metrics.average_precision_score(used, PROBABILITIES[:, :2])
    assert SCORES["average_precision"] == pytest.approx(expected)
    assert SCORES["labels_per_text"]["true"] == pytest.approx(LABELS.sum() / 200)


def test_a_label_without_texts_is_no_zero():
    assert SCORES["by_class"][2]["rows"] == 0
    assert SCORES["by_class"][2]["recall"] is None and SCORES["by_class"][2]["f1"] is None
    assert SCORES["f1"] == pytest.approx(np.mean([each["f1"] for each in SCORES["by_class"][:2]]))


def test_the_log_loss_is_the_mean_over_all_decisions():
    probabilities = np.array([[0.9, 0.2]])
    got = multi_label_metrics.compute_scores(np.array([[1, 0]]), np.array([[1, 0]]), probabilities, ("a", "b"))
    assert got["log_loss"] == pytest.approx(-np.log([0.9, 0.8]).mean())
    assert got["calibration_error"] == pytest.approx((0.1 + 0.2) / 2)


def test_intervals_hold_the_score_and_shrink_with_more_texts():
    for name in ("accuracy", "f1", "micro_f1"):
        low, high = SCORES[f"{name}_interval"]
        assert 0 < low < SCORES[name] < high <= 1
    more = multi_label_metrics.compute_scores(
        *(np.repeat(values, 16, axis=0) for values in (LABELS, PREDICTED, PROBABILITIES)), CLASSES
    )
    for name in ("accuracy", "f1", "micro_f1"):
        widths = [high - low for low, high in (more[f"{name}_interval"], SCORES[f"{name}_interval"])]
        assert widths[0] == pytest.approx(widths[1] / 4, rel=0.2)


def test_texts_without_labels_alone_have_no_f1():
    zeros = np.zeros((2, 2), np.int32)
    got = multi_label_metrics.compute_scores(zeros, zeros, np.full((2, 2), 0.1), ("a", "b"))
    assert got["accuracy"] == 1 and got["micro_f1"] is None and got["f1"] is None and got["f1_interval"] is None


def test_micro_f1_of_two_classifiers_is_compared_on_the_same_texts():
    rng = np.random.default_rng(0)
    labels, baseline, model = (rng.integers(0, 2, (300, 4)) for _ in range(3))
    model[:200] = labels[:200]
    compared = multi_label_metrics.compare_micro_f1(labels, baseline, model)

    def micro_f1(predicted):
        return metrics.f1_score(labels, predicted, average="micro")

    assert compared["micro_f1"] == pytest.approx(micro_f1(baseline))
    assert compared["difference"] == pytest.approx(micro_f1(model) - micro_f1(baseline))
    low, high = compared["difference_interval"]
    assert 0 < low < compared["difference"] < high < 0.5
    same = multi_label_metrics.compare_micro_f1(labels, model, model)
    assert same["difference"] == 0 and same["difference_interval"] == (0, 0)
    nothing = multi_label_metrics.compare_micro_f1(labels, np.zeros_like(labels), np.zeros_like(labels))
    assert nothing["micro_f1"] == nothing["difference"] == 0
