"""The outputs that the exports of all classifiers have."""

from typing import NamedTuple

import tensorflow as tf


class Decision(NamedTuple):
    """How labels follow from probabilities.

    Attributes:
        multi_label: whether a text may have several labels.
        thresholds: the probability from which a text has a label: one per class with several labels per text, else one,
            that of the second of two classes. None: 0.5 per class, or the most probable class.
    """

    multi_label: bool = False
    thresholds: tuple[float, ...] | None = None


MOST_PROBABLE = Decision()  # one label, the most probable one


def label_outputs(logits: tf.Tensor, classes: tf.Tensor, decision: Decision = MOST_PROBABLE) -> dict[str, tf.Tensor]:
    """Returns the outputs of `serving_default`.

    Args:
        logits: float32 [batch, classes].
        classes: names of the classes, string [classes].
        decision: how labels follow from probabilities.

    Returns:
        One label per text: label: string [batch], score: float32 [batch], its probability, probabilities: float32
        [batch, classes]. Several labels: labels: string [batch, classes], the most probable one first, with "" after
        the last one, and probabilities.
    """
    if decision.multi_label:
        return _label_sets(tf.sigmoid(logits), classes, decision.thresholds or 0.5)
    probabilities = tf.nn.softmax(logits)
    index = label_index(probabilities, decision)
    score = tf.gather(probabilities, index, batch_dims=1)
    return {"label": tf.gather(classes, index), "score": score, "probabilities": probabilities}


def label_index(probabilities: tf.Tensor, decision: Decision) -> tf.Tensor:
    """Returns the index of each text's only label: float32 [batch, classes] -> int64 [batch]."""
    if decision.thresholds:
        return tf.cast(probabilities[:, 1] >= decision.thresholds[0], tf.int64)
    return tf.argmax(probabilities, axis=-1)


def _label_sets(probabilities: tf.Tensor, classes: tf.Tensor, thresholds) -> dict[str, tf.Tensor]:
    has_label = probabilities >= thresholds  # [batch, classes]
    order = tf.argsort(tf.where(has_label, probabilities, -1.0), direction="DESCENDING", stable=True)
    labels = tf.where(tf.gather(has_label, order, batch_dims=1), tf.gather(classes, order), "")
    return {"labels": labels, "probabilities": probabilities}
