"""The outputs that the exports of all classifiers have."""

import tensorflow as tf


def label_outputs(logits: tf.Tensor, classes: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the outputs of `serving_default`.

    Args:
        logits: float32 [batch, classes].
        classes: names of the classes, string [classes].

    Returns:
        label: string [batch], score: float32 [batch], its probability, probabilities: float32 [batch, classes].
    """
    probabilities = tf.nn.softmax(logits)
    label = tf.gather(classes, tf.argmax(probabilities, axis=-1))
    return {"label": label, "score": tf.reduce_max(probabilities, axis=-1), "probabilities": probabilities}
