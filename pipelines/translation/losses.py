"""The loss of translators: cross-entropy with label smoothing."""

import keras
import tensorflow as tf
from keras import ops


class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy with label smoothing, in nats per token.

    It is the mean over the positions, weighted by their sample weights.

    A fraction e of the target probability is spread over all V tokens. With the true token y:

        loss = -sum_v q_v log p_v,  q_v = (1 - e) [v = y] + e / V

    Source: Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision", section 7.

    Args:
        smoothing: e, in [0, 1).
    """

    def __init__(self, smoothing: float = 0.0, name: str = "loss"):
        super().__init__(name=name, reduction="mean_with_sample_weight")
        self.smoothing = smoothing

    def call(self, y_true, y_pred):
        """Returns the loss of each position: float [batch, time] of ids [batch, time] and logits [batch, time, V]."""
        y_true = ops.cast(y_true, "int32")
        if not self.smoothing:
            return ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        return _smoothed_crossentropy(y_pred, y_true, self.smoothing)


def _smoothed_crossentropy(logits, y, e: float):
    """The loss of each position: float [...] of logits [..., V] and y int32 [...].

    The gradient, p - q, is written out: a position has V values, and automatic differentiation would pass over them
    several more times.
    """

    @ops.custom_gradient
    def loss(logits):
        size = logits.shape[-1]
        log_p = ops.log_softmax(logits)
        log_p_of_y = ops.take_along_axis(log_p, ops.expand_dims(y, -1), axis=-1)[..., 0]

        def gradient(upstream):
            q = tf.one_hot(y, size, on_value=1 - e + e / size, off_value=e / size)  # Keras's one_hot has only 0 and 1
            return (ops.exp(log_p) - q) * ops.expand_dims(upstream, -1)

        return -(1 - e) * log_p_of_y - e * ops.mean(log_p, axis=-1), gradient

    return loss(logits)
