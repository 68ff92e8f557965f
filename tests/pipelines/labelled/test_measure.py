import numpy as np
import tensorflow as tf

from pipelines.labelled import measure
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.outputs import Decision, label_outputs
from pipelines.labelled.splits import Labelled, LabelledSplits

CLASSES = ("a", "b", "c")
TEXTS = np.array(["4 -4 -4", "4 4 -4", "-4 -4 1"], dtype=object)


class Logits(tf.Module):
    """A classifier whose texts are the logits."""

    def __init__(self, decision, num_classes=3):
        super().__init__()
        self.decision = decision
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
