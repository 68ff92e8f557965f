import numpy as np
import pytest
import tensorflow as tf

from pipelines.labelled.outputs import (
    Decision,
    classes_signature,
    label_outputs,
    with_number_of_classes,
    with_top_classes,
)

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


def test_several_labels_are_padded_and_the_most_probable_one_is_first():
    logits = [[1.0, -2.0, 3.0], [-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]]
    outputs = label_outputs(tf.constant(logits), tf.constant(CLASSES), Decision(True, (0.5, 0.1, 0.5)))
    assert list(outputs) == ["labels", "probabilities"]
    assert outputs["labels"].numpy().tolist() == [
        [b"good", b"bad", b"fair"],  # the probability of fair, 0.12, is above its threshold
        [b"fair", b"", b""],
        [b"bad", b"fair", b"good"],
    ]
    np.testing.assert_allclose(outputs["probabilities"], 1 / (1 + np.exp(-np.array(logits))), atol=1e-6)
    halves = label_outputs(tf.constant(logits), tf.constant(CLASSES), Decision(True))
    assert halves["labels"].numpy()[:2].tolist() == [[b"good", b"bad", b""], [b"", b"", b""]]
    empty = label_outputs(tf.zeros([0, 3]), tf.constant(CLASSES), Decision(True))
    assert empty["labels"].shape == empty["probabilities"].shape == (0, 3)


@pytest.mark.parametrize(("threshold", "label", "score"), [(0.7, b"no", 0.4), (0.55, b"yes", 0.6), (0.6, b"yes", 0.6)])
def test_a_threshold_decides_between_two_classes(threshold, label, score):
    logits = tf.math.log([[0.4, 0.6]])
    outputs = label_outputs(logits, tf.constant(["no", "yes"]), Decision(thresholds=(threshold - 1e-6,)))
    assert outputs["label"].numpy().tolist() == [label]
    assert outputs["score"].numpy()[0] == pytest.approx(score)  # the probability of the label


def test_an_empty_batch_has_empty_outputs():
    outputs = outputs_of(np.zeros([0, 3]))
    assert outputs["label"].shape == outputs["score"].shape == (0,) and outputs["probabilities"].shape == (0, 3)


@pytest.mark.parametrize("num_classes", [2, 5, 8])
@pytest.mark.parametrize("decision", [Decision(), Decision(True, (0.5,) * 8), Decision(ordinal=True)])
def test_the_most_probable_classes_fall(num_classes, decision):
    classes = np.array([f"class {i}" for i in range(num_classes)])
    if decision.multi_label:
        decision = decision._replace(thresholds=decision.thresholds[:num_classes])
    logits = np.random.default_rng(0).normal(size=(30, num_classes)).astype(np.float32)
    outputs = label_outputs(tf.constant(logits), tf.constant(classes), decision)
    named = with_top_classes(outputs, tf.constant(classes))
    assert all(named[name] is value for name, value in outputs.items())
    order = np.argsort(-outputs["probabilities"].numpy(), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(named["top_labels"].numpy().astype(str), classes[order])
    expected = np.take_along_axis(outputs["probabilities"].numpy(), order, axis=1)
    np.testing.assert_array_equal(named["top_scores"].numpy(), expected)
    assert named["top_labels"].shape == named["top_scores"].shape == (30, min(5, num_classes))


def test_of_equal_probabilities_the_first_class_comes_first():
    named = with_top_classes(label_outputs(tf.zeros([1, 3]), tf.constant(CLASSES)), tf.constant(CLASSES))
    assert named["top_labels"].numpy().tolist() == [[b"bad", b"fair", b"good"]]


def test_numbers_have_no_classes():
    outputs = label_outputs(tf.zeros([1, 2]), tf.constant(["1", "3"]), Decision(number=(0.0, 1.0)))
    assert with_top_classes(outputs, tf.constant(["1", "3"])) == outputs and list(outputs) == ["value"]


def test_the_signature_classes_answers_as_many_as_asked_for():
    logits = tf.constant([[1.0, 3.0, 2.0], [0.0, -1.0, 1.0]])

    def classify(text):
        return label_outputs(tf.gather(logits, tf.strings.to_number(text, tf.int32)), tf.constant(CLASSES))

    classes = classes_signature(classify, tf.constant(CLASSES))
    for k in (0, 1, 2, 3, 9, 2**31 - 1):
        outputs = classes(tf.constant(["0", "1", "0"]), tf.constant(k))
        assert set(outputs) == {"top_labels", "top_scores"}
        expected = [[b"fair", b"good", b"bad"], [b"good", b"bad", b"fair"], [b"fair", b"good", b"bad"]]
        assert outputs["top_labels"].numpy().tolist() == [row[:k] for row in expected]
        assert outputs["top_scores"].shape == (3, min(k, 3))
    assert classes(tf.constant([], tf.string), tf.constant(2))["top_labels"].shape == (0, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="-1"):
        classes(tf.constant(["0"]), tf.constant(-1))


def test_an_example_request_says_how_many_classes():
    requests = {"serving_default": {"title": ["a"], "price": [1.0]}, "classes": {"text": ["a"]}}
    assert with_number_of_classes(requests)["classes"] == {"title": ["a"], "price": [1.0], "k": 3}
    assert with_number_of_classes({"serving_default": {"text": ["a"]}}) == {"serving_default": {"text": ["a"]}}
