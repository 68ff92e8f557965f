import numpy as np
import tensorflow as tf
from scipy import special

from pipelines.labelled import measure
from pipelines.labelled.calibration import Calibration
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.outputs import Decision, label_outputs

CLASSES = ("a", "b", "c")
TEXTS = np.array(["4 -4 -4", "4 4 -4", "-4 -4 1"], dtype=object)


class Logits(tf.Module):
    """A classifier whose texts are the logits."""

    def __init__(self, decision, num_classes=3):
        super().__init__()
        self.decision = decision
        logits = np.array([text.split() for text in TEXTS], np.float32)[:, :num_classes]
        expit, softmax = special.expit(logits), special.softmax(logits, axis=1)
        self.calibration = Calibration((1.0,), expit if decision.multi_label else softmax)
        self._num_classes = num_classes

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        logits = tf.strings.to_number(tf.strings.split(text)).to_tensor()[:, : self._num_classes]
        return label_outputs(logits, tf.constant(CLASSES[: self._num_classes]), self.decision)

    def signatures(self):
        return {"serving_default": self.classify.get_concrete_function()}


def measured(decision, labels, num_classes=3):
    labelled = Labelled(TEXTS, np.array(labels, np.int32))
    splits = LabelledSplits(labelled, labelled, labelled, CLASSES[:num_classes], {})
    return measure.measure(LabelledConfig(no_baseline=True), splits, None, Logits(decision, num_classes), {})


def test_several_labels_are_measured_as_they_are_served():
    scores, details = measured(Decision(True, (0.5, 0.5, 0.9)), [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    assert details["predicted"].tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]  # 0.73 is below the threshold of c
    assert set(scores) == {"validation", "test"}
    assert scores["validation"]["thresholds"] == {"a": 0.5, "b": 0.5, "c": 0.9}
    assert scores["validation"]["micro_f1"] == 6 / 7
    assert scores["test"]["by_class"][2]["recall"] == 0


def test_a_threshold_changes_the_label_that_is_measured():
    labels = [0, 1, 0]
    without, details = measured(Decision(), labels, num_classes=2)
    assert details["predicted"].tolist() == [0, 0, 0] and "thresholds" not in without["validation"]
    scores, details = measured(Decision(thresholds=(0.4,)), labels, num_classes=2)
    assert details["predicted"].tolist() == [0, 1, 1]
    assert scores["validation"]["thresholds"] == {"b": 0.4}
    assert scores["validation"]["accuracy"] == 2 / 3


def test_the_temperature_is_among_the_scores():
    scores, _ = measured(Decision(scale=0.5), [0, 1, 2])
    assert scores["validation"]["temperature"] == 2.0


def test_the_probabilities_of_the_validation_texts_are_by_factors_of_other_texts():
    labelled = Labelled(TEXTS, np.array([0, 1, 2], np.int32))
    servable = Logits(Decision(thresholds=(0.6,)))
    other = np.array([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.5, 0.1, 0.4]], np.float32)
    servable.calibration = Calibration((1.0,), other)
    splits = LabelledSplits(labelled, labelled, labelled, CLASSES, {})
    scores, details = measure.measure(LabelledConfig(no_baseline=True), splits, None, servable, {})
    np.testing.assert_array_equal(details["probabilities"], other)
    assert scores["validation"]["accuracy"] == 1 / 3 and scores["validation"]["thresholds"] == {"": 0.6}
    assert scores["validation"]["abstention"]["labelled"] == 2  # the third has none, and counts as its most probable
    assert scores["test"]["abstention"]["labelled"] == 2  # 0.498 is below the threshold
