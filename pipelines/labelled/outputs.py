"""The outputs that the exports of all classifiers have."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf


class Decision(NamedTuple):
    """How labels follow from probabilities.

    Attributes:
        multi_label: whether a text may have several labels.
        thresholds: the probability from which a text has a label: one per class with several labels per text, else one.
            Of two classes, it is that of the second one; of more, a text whose most probable class is less probable has
            no label. None: 0.5 per class, or the most probable class.
        scale: factor of the logits, which calibrates the probabilities (see calibration.py).
    """

    multi_label: bool = False
    thresholds: tuple[float, ...] | None = None
    scale: float = 1.0

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
        with "" after the last one, and probabilities.
    """
    logits = decision.scale * logits
    if decision.multi_label:
        return _label_sets(tf.sigmoid(logits), classes, decision.thresholds or 0.5)
    probabilities = tf.nn.softmax(logits)
    index = label_index(probabilities, decision, classes.shape[0])
    score = tf.gather(probabilities, index, batch_dims=1)
    label = tf.gather(classes, index)
    outputs = {"label": label, "score": score, "probabilities": probabilities}
    if decision.abstains(classes.shape[0]):
        abstained = score < decision.thresholds[0]
        outputs |= {"label": tf.where(abstained, "", label), "abstained": abstained}
    return outputs


def label_index(probabilities: tf.Tensor, decision: Decision, num_classes: int) -> tf.Tensor:
    """Returns the index of each text's label, or most probable class: float32 [batch, classes] -> int64 [batch]."""
    if decision.thresholds and not decision.abstains(num_classes):
        return tf.cast(probabilities[:, 1] >= decision.thresholds[0], tf.int64)
    return tf.argmax(probabilities, axis=-1)


def _label_sets(probabilities: tf.Tensor, classes: tf.Tensor, thresholds) -> dict[str, tf.Tensor]:
    has_label = probabilities >= thresholds  # [batch, classes]
    order = tf.argsort(tf.where(has_label, probabilities, -1.0), direction="DESCENDING", stable=True)
    labels = tf.where(tf.gather(has_label, order, batch_dims=1), tf.gather(classes, order), "")
    return {"labels": labels, "probabilities": probabilities}
