import numpy as np
import pytest
import tensorflow as tf

from pipelines.labelled import thresholds
from pipelines.labelled.calibration import Calibration, calibrate, logits_of
from pipelines.labelled.config import LabelledConfig, ThresholdChoice
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

BEST_F1 = ThresholdChoice()
TEXTS = np.array([f"{i / 10}" for i in range(10)], dtype=object)


class Echo(tf.Module):
    """A classifier whose texts are the probabilities of the second class."""

    def __init__(self, decision):
        super().__init__()
        self.decision = decision

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        positive = tf.strings.to_number(text)
        return {"probabilities": tf.stack([1 - positive, positive], axis=1)}


def splits(labels):
    labelled = Labelled(TEXTS, np.array(labels, np.int32))
    return LabelledSplits(labelled, labelled, None, ("no", "yes"), {})


POSITIVE = TEXTS.astype(np.float32)
CALIBRATION = Calibration((1.0,), np.stack([1 - POSITIVE, POSITIVE], axis=1))


def decided(labels, threshold=None):
    config = LabelledConfig(data="a.csv", threshold=threshold)
    return thresholds.decide(config, splits(labels), Echo, CALIBRATION).decision


def test_without_a_calibration_it_is_fitted_to_the_answers_of_the_servable():
    data = splits([0] * 5 + [1] * 5)
    found = thresholds.decide(LabelledConfig(data="a.csv"), data, Echo)
    expected = calibrate([logits_of(CALIBRATION.probabilities, False)], data.valid.labels)
    assert found.decision.scale == pytest.approx(expected.factors[0], rel=1e-3)
    np.testing.assert_allclose(found.calibration.probabilities, expected.probabilities, atol=1e-4)


def test_the_threshold_with_the_highest_f1():
    has_label = np.array([False, False, True, False, True, True])
    probabilities = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert thresholds.choose(BEST_F1, has_label, probabilities) == pytest.approx(0.25)  # F1 6/7; of 0.45: 4/5


def test_of_equally_good_thresholds_the_one_nearest_to_one_half():
    has_label, probabilities = np.array([True, False, False]), np.array([0.9, 0.3, 0.1])
    assert thresholds.choose(BEST_F1, has_label, probabilities) == pytest.approx(0.6)


def test_a_minimum_precision_has_the_highest_recall_that_it_allows():
    has_label = np.array([True, False, True, True, False])
    probabilities = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    assert thresholds.choose(ThresholdChoice(precision=0.75), has_label, probabilities) == pytest.approx(0.55)
    assert thresholds.choose(ThresholdChoice(precision=0.99), has_label, probabilities) == pytest.approx(0.85)


def test_a_precision_that_cannot_be_reached_gives_the_highest_one():
    has_label, probabilities = np.array([False, True, True]), np.array([0.9, 0.8, 0.7])
    assert thresholds.choose(ThresholdChoice(precision=0.9), has_label, probabilities) == pytest.approx(0.35)


def test_without_texts_of_the_label_it_is_one_half():
    assert thresholds.choose(BEST_F1, np.zeros(2, bool), np.array([0.1, 0.9])) == 0.5


def test_a_rare_label_takes_the_threshold_of_all_labels_together():
    probabilities = np.stack([np.linspace(0, 1, 40), np.full(40, 0.2)], axis=1)
    labels = np.stack([np.arange(40) >= 10, np.arange(40) == 3], axis=1).astype(int)  # 30 texts, and one
    own, shared = thresholds.choose_for_labels(BEST_F1, labels, probabilities)
    assert own == pytest.approx(9.5 / 39)
    assert shared == thresholds.choose(BEST_F1, labels.ravel() == 1, probabilities.ravel()) != 0.5


def test_two_classes_have_a_threshold_only_where_one_is_requested():
    labels = [0] * 7 + [1] * 3
    assert decided(labels).thresholds is None
    assert decided(labels, "0.8").thresholds == (0.8,)
    assert decided(labels, "best-f1").thresholds == pytest.approx((0.65,))


def test_several_labels_have_thresholds_without_a_request():
    found = decided([[0, 0]] * 7 + [[0, 1]] * 3)
    assert found.multi_label and len(found.thresholds) == 2
    assert decided([[0, 0]] * 7 + [[0, 1]] * 3, "0.8").thresholds == (0.8, 0.8)


@pytest.mark.parametrize(
    ("labels", "threshold", "line"),
    [
        ([0] * 10, "best-f1", "no validation text has the label 'yes': its threshold is not chosen by its texts"),
        ([0] * 10, "precision=0.9", "no validation text has the label 'yes': its threshold is not chosen by its texts"),
        ([1] + [0] * 9, "precision=0.9", "no threshold of 'yes' has a precision of 0.9: the highest is 0.100"),
        ([0] * 5 + [1] * 5, "precision=0.9", None),
    ],
)
def test_a_threshold_that_is_not_what_was_asked_for_is_said(labels, threshold, line, capsys):
    config, data = LabelledConfig(data="a.csv", threshold=threshold), splits(labels)
    thresholds.decide(config, data, Echo, CALIBRATION)
    said = capsys.readouterr().err
    assert said == ("" if line is None else f"note: {line}\n") and list(data.notes) == ([] if line is None else [line])
