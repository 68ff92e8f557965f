"""The outputs that the exports of all classifiers have."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from pipelines.labelled.top_classes import NUM_TOP

TEXT = tf.TensorSpec([None], tf.string, name="text")
CLASSES, NUMBER_OF_CLASSES = "classes", "k"  # a signature, and its input beside those of serving_default
_HALF = 0.5 - 1e-6  # the median is where the sum of the probabilities reaches it; less the rounding error of the sum


class Decision(NamedTuple):
    """How labels follow from probabilities.

    Attributes:
        multi_label: whether a text may have several labels.
        thresholds: the probability from which a text has a label: one per class with several labels per text, else one.
            Of two classes, it is that of the second one; of more, a text whose most probable class is less probable has
            no label. None: 0.5 per class, or the most probable class.
        ordinal: whether the classes are in order, and the label is the median of the probabilities.
        number: (a, b) where the classes are numbers, and the answer is a + b times their mean, weighted with the
            probabilities, within their limits; see `number_labels.line`. None: the answer is a label.
        scale: factor of the logits, which calibrates the probabilities (see calibration.py).
    """

    multi_label: bool = False
    thresholds: tuple[float, ...] | None = None
    scale: float = 1.0
    ordinal: bool = False
    number: tuple[float, float] | None = None

    def abstains(self, num_classes: int) -> bool:
        """Whether a text may have no label although each has one."""
        return not self.multi_label and self.thresholds is not None and num_classes > 2

    def label_ids(self, probabilities: np.ndarray) -> np.ndarray:
        """Returns the ids of the labels that follow from probabilities.

        Args:
            probabilities: float [n, classes].

        Returns:
            Int [n], -1 for no label; with several labels per text, int [n, classes] of 0 and 1.
        """
        if self.multi_label:
            return (probabilities >= (self.thresholds or 0.5)).astype(np.int32)
        if self.ordinal:
            return (np.cumsum(probabilities, axis=1) >= _HALF).argmax(axis=1)
        most_probable = probabilities.argmax(axis=1)
        if self.thresholds is None:
            return most_probable
        if probabilities.shape[1] == 2:
            return (probabilities[:, 1] >= self.thresholds[0]).astype(np.int64)
        return np.where(probabilities.max(axis=1) >= self.thresholds[0], most_probable, -1)


MOST_PROBABLE = Decision()  # one label, the most probable one


def label_outputs(logits: tf.Tensor, classes: tf.Tensor, decision: Decision = MOST_PROBABLE) -> dict[str, tf.Tensor]:
    """Returns the outputs of `serving_default`.

    Args:
        logits: float32 [batch, classes].
        classes: names of the classes, string [classes].
        decision: how labels follow from probabilities.

    Returns:
        One label per text: label: string [batch], score: float32 [batch], its probability, probabilities: float32
        [batch, classes]. Where the decision abstains, also abstained: bool [batch], whether the label is ""; the score
        is then the highest probability. Several labels: labels: string [batch, classes], the most probable one first,
        with "" after the last one, and probabilities. Numbers: value: float32 [batch].
    """
    logits = decision.scale * logits
    if decision.multi_label:
        return _label_sets(tf.sigmoid(logits), classes, decision.thresholds or 0.5)
    probabilities = tf.nn.softmax(logits)
    if decision.number:
        (intercept, slope), numbers = decision.number, tf.strings.to_number(classes)
        value = intercept + slope * tf.linalg.matvec(probabilities, numbers)
        return {"value": tf.clip_by_value(value, numbers[0], numbers[-1])}
    index = label_index(probabilities, decision, classes.shape[0])
    score = tf.gather(probabilities, index, batch_dims=1)
    label = tf.gather(classes, index)
    outputs = {"label": label, "score": score, "probabilities": probabilities}
    if decision.abstains(classes.shape[0]):
        abstained = score < decision.thresholds[0]
        outputs |= {"label": tf.where(abstained, "", label), "abstained": abstained}
    return outputs


def with_top_classes(outputs: dict[str, tf.Tensor], classes: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the outputs of `label_outputs`, with those of `top_classes` unless they are of numbers."""
    if "probabilities" not in outputs:
        return outputs
    return outputs | top_classes(outputs["probabilities"], classes, min(NUM_TOP, classes.shape[0]))


def top_classes(probabilities: tf.Tensor, classes: tf.Tensor, k) -> dict[str, tf.Tensor]:
    """Returns the most probable classes of each text; of equal probabilities, the first class comes first.

    Args:
        probabilities: float32 [batch, classes].
        classes: their names, string [classes].
        k: how many, at most all.

    Returns:
        top_labels: string [batch, k]; top_scores: float32 [batch, k], their probabilities, falling.
    """
    scores, index = tf.math.top_k(probabilities, k)
    return {"top_labels": tf.gather(classes, index), "top_scores": scores}


def classes_signature(classify: Callable, classes: tf.Tensor, inputs: Sequence[tf.TensorSpec] = (TEXT,)):
    """Returns the signature `classes`: `inputs` and k, an int32 scalar -> `top_classes`, of all classes if k is larger.

    Args:
        classify: `inputs` -> the outputs of `label_outputs`.
        classes: names of the classes, string [classes].
    """
    k = tf.TensorSpec([], tf.int32, name=NUMBER_OF_CLASSES)

    @tf.function(input_signature=[*inputs, k], autograph=False)
    def most_probable(*given):
        *columns, k = given
        return top_classes(classify(*columns)["probabilities"], classes, tf.minimum(k, classes.shape[0]))

    return most_probable


def with_number_of_classes(requests: dict[str, dict]) -> dict[str, dict]:
    """Returns example requests (see `Task.example_requests`) in which that of `classes` says how many."""
    if CLASSES not in requests:
        return requests
    return requests | {CLASSES: requests["serving_default"] | {NUMBER_OF_CLASSES: 3}}


def label_index(probabilities: tf.Tensor, decision: Decision, num_classes: int) -> tf.Tensor:
    """Returns the index of each text's label, or most probable class: float32 [batch, classes] -> int64 [batch]."""
    if decision.ordinal:
        return tf.argmax(tf.cumsum(probabilities, axis=-1) >= _HALF, axis=-1)
    if decision.thresholds and not decision.abstains(num_classes):
        return tf.cast(probabilities[:, 1] >= decision.thresholds[0], tf.int64)
    return tf.argmax(probabilities, axis=-1)


def _label_sets(probabilities: tf.Tensor, classes: tf.Tensor, thresholds) -> dict[str, tf.Tensor]:
    has_label = probabilities >= thresholds  # [batch, classes]
    order = tf.argsort(tf.where(has_label, probabilities, -1.0), direction="DESCENDING", stable=True)
    labels = tf.where(tf.gather(has_label, order, batch_dims=1), tf.gather(classes, order), "")
    return {"labels": labels, "probabilities": probabilities}
