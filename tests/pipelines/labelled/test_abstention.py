import numpy as np
import pytest
import tensorflow as tf

from pipelines.labelled import abstention
from pipelines.labelled.outputs import Decision, label_outputs

CLASSES = ("a", "b", "c")


def texts(rows=400):
    """Labels and probabilities that are right as often as they say."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([0.5] * 3, size=rows)
    return np.array([rng.choice(3, p=p) for p in probabilities]), probabilities


def by_hand(threshold, labels, probabilities):
    given = probabilities.max(axis=1) >= threshold
    return given.sum(), (probabilities.argmax(axis=1) == labels)[given].mean()


@pytest.mark.parametrize("precision", [0.8, 0.95])
def test_the_threshold_gives_the_most_labels_with_the_accuracy(precision):
    labels, probabilities = texts()
    threshold = abstention.choose(precision, labels, probabilities)
    given, accuracy = by_hand(threshold, labels, probabilities)
    assert accuracy >= precision and not abstention.not_reached(precision, labels, probabilities)
    lower = [by_hand(t, labels, probabilities) for t in np.unique(probabilities.max(axis=1)) if t < threshold]
    assert lower and all(more > given and worse < precision for more, worse in lower)


def test_an_accuracy_that_no_threshold_has():
    labels, probabilities = texts()
    wrong = (probabilities.argmax(axis=1) + 1) % 3
    (line,) = abstention.not_reached(0.9, wrong, probabilities)
    assert "0.9" in line and "the highest is 0.000" in line
    assert by_hand(abstention.choose(0.9, wrong, probabilities), wrong, probabilities)[0] >= abstention.MIN_LABELLED


def test_equal_probabilities_are_labelled_together():
    labels, probabilities = np.arange(30) % 3, np.tile([[0.6, 0.3, 0.1]], (30, 1))
    assert abstention.choose(0.99, labels, probabilities) == pytest.approx(0.6)
    assert abstention.not_reached(0.99, labels, probabilities)


def test_a_text_below_the_threshold_has_no_label():
    logits = tf.math.log([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.1, 0.1, 0.8]])
    decision = Decision(thresholds=(0.5,))
    outputs = {name: value.numpy() for name, value in label_outputs(logits, tf.constant(CLASSES), decision).items()}
    assert outputs["label"].tolist() == [b"a", b"", b"c"] and outputs["abstained"].tolist() == [False, True, False]
    np.testing.assert_allclose(outputs["score"], [0.7, 0.4, 0.8], atol=1e-6)
    assert decision.label_ids(outputs["probabilities"]).tolist() == [0, -1, 2]
    without = label_outputs(logits, tf.constant(CLASSES))
    assert "abstained" not in without and without["label"].numpy()[1] == b"a"


def test_the_scores_are_those_of_the_labels_that_are_given():
    labels, probabilities = texts()
    given = probabilities.max(axis=1) >= 0.7
    scores = abstention.compute_scores(given, labels, probabilities)
    assert scores["labelled"] == given.sum() and scores["coverage"] == given.mean()
    assert scores["accuracy"] == by_hand(0.7, labels, probabilities)[1]
    assert scores["accuracy_interval"][0] < scores["accuracy"] < scores["accuracy_interval"][1]
    assert abstention.compute_scores(np.zeros(400, bool), labels, probabilities)["accuracy"] is None


def test_the_scale_calibrates_without_changing_labels():
    logits = tf.constant([[2.0, 1.0, 0.0]])
    scaled = label_outputs(logits, tf.constant(CLASSES), Decision(scale=0.5))
    np.testing.assert_allclose(scaled["probabilities"], tf.nn.softmax(0.5 * logits), atol=1e-6)
    assert scaled["label"].numpy().tolist() == [b"a"]
