"""How translators learn: the loss, and the paper's schedule."""

import keras
import tensorflow as tf
from keras import ops


class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy with label smoothing, the mean over the places that count; in nats per piece.

    With e of the probability spread over all V pieces (Szegedy et al. 2016, section 7), and y the piece that comes:

        loss = -sum_v q_v log p_v,  q_v = (1 - e) [v = y] + e / V

    Args:
        smoothing: e, in [0, 1).
    """

    def __init__(self, smoothing: float = 0.0, name: str = "loss"):
        super().__init__(name=name, reduction="mean_with_sample_weight")
        self.smoothing = smoothing

    def call(self, y_true, y_pred):
        y_true = ops.cast(y_true, "int32")
        if not self.smoothing:
            return ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        return _smoothed(y_pred, y_true, self.smoothing)


def _smoothed(logits, y, e: float):
    """The loss at each place: float [...] of logits [..., V] and y int32 [...].

    The gradient, p - q, is written out: a place has V values, and autodiff passes over them several times more.
    """

    @ops.custom_gradient
    def loss(logits):
        size = logits.shape[-1]
        log_p = ops.log_softmax(logits)
        of_y = ops.take_along_axis(log_p, ops.expand_dims(y, -1), axis=-1)[..., 0]

        def gradient(upstream):
            q = tf.one_hot(y, size, on_value=1 - e + e / size, off_value=e / size)  # Keras's has no such values
            return (ops.exp(log_p) - q) * ops.expand_dims(upstream, -1)

        return -(1 - e) * of_y - e * ops.mean(log_p, axis=-1), gradient

    return loss(logits)


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """rate * min(step / warm_up, sqrt(warm_up / step)): Vaswani et al. 2017, section 5.3, with its highest value given."""

    def __init__(self, rate: float, warm_up: int):
        self.rate, self.warm_up = rate, warm_up

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.rate * ops.minimum(step / self.warm_up, ops.sqrt(self.warm_up / step))

    def get_config(self):
        return {"rate": self.rate, "warm_up": self.warm_up}
