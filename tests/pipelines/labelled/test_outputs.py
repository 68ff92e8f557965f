import numpy as np
import pytest
import tensorflow as tf

from pipelines.labelled.outputs import label_outputs

CLASSES = np.array(["bad", "fair", "good"])


def outputs_of(logits) -> dict[str, np.ndarray]:
    outputs = label_outputs(tf.constant(logits, tf.float32), tf.constant(CLASSES))
    return {name: value.numpy() for name, value in outputs.items()}


def test_the_outputs_are_those_of_a_softmax():
    logits = np.random.default_rng(0).normal(scale=3, size=(20, 3))
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    outputs = outputs_of(logits)
    assert list(outputs) == ["label", "score", "probabilities"]
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-6)
    np.testing.assert_allclose(outputs["score"], expected.max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(outputs["label"].astype(str), CLASSES[logits.argmax(axis=1)])
    assert len(set(outputs["label"])) == 3


@pytest.mark.parametrize(("logits", "label"), [([1e30, 0, -1e30], b"bad"), ([-1e4, -1e4, 1e4], b"good")])
def test_large_logits_have_finite_probabilities(logits, label):
    outputs = outputs_of([logits])
    assert outputs["label"].tolist() == [label] and outputs["score"].tolist() == [1.0]
    assert sorted(outputs["probabilities"][0].tolist()) == [0.0, 0.0, 1.0]


def test_of_equal_probabilities_the_first_class_is_the_label():
    assert outputs_of([[2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])["label"].tolist() == [b"bad", b"fair"]


def test_an_empty_batch_has_empty_outputs():
    outputs = outputs_of(np.zeros([0, 3]))
    assert outputs["label"].shape == outputs["score"].shape == (0,) and outputs["probabilities"].shape == (0, 3)
