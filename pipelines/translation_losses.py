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
        size = y_pred.shape[-1]
        # TensorFlow's fills in both values at once: `keras.losses.CategoricalCrossentropy` takes two more passes over V values a place.
        spread = tf.one_hot(y_true, size, on_value=1 - self.smoothing + self.smoothing / size, off_value=self.smoothing / size)
        return ops.categorical_crossentropy(spread, y_pred, from_logits=True)


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """rate * min(step / warm_up, sqrt(warm_up / step)): Vaswani et al. 2017, section 5.3, with its highest value given."""

    def __init__(self, rate: float, warm_up: int):
        self.rate, self.warm_up = rate, warm_up

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.rate * ops.minimum(step / self.warm_up, ops.sqrt(self.warm_up / step))

    def get_config(self):
        return {"rate": self.rate, "warm_up": self.warm_up}
