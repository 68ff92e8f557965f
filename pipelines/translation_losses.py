"""How translators learn: the loss, and the paper's schedule."""

import keras
from keras import ops


class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy with label smoothing, the mean over the places that count; in nats per piece.

    With e of the probability spread over all V pieces (Szegedy et al. 2016, section 7), and logits z:

        loss = -(1 - e) log p_y - e/V sum_v log p_v = -log p_y + e (z_y - mean_v z_v)

    The second form needs no logarithm of every probability: `keras.losses.CategoricalCrossentropy`, which has label smoothing, wants
    one-hot targets as large as the logits.

    Args:
        smoothing: e, in [0, 1).
    """

    def __init__(self, smoothing: float = 0.0, name: str = "loss"):
        super().__init__(name=name, reduction="mean_with_sample_weight")
        self.smoothing = smoothing

    def call(self, y_true, y_pred):
        y_true = ops.cast(y_true, "int32")
        loss = ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        if not self.smoothing:
            return loss
        of_truth = ops.take_along_axis(y_pred, ops.expand_dims(y_true, -1), axis=-1)[..., 0]
        return loss + self.smoothing * (of_truth - ops.mean(y_pred, axis=-1))


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """rate * min(step / warm_up, sqrt(warm_up / step)): Vaswani et al. 2017, section 5.3, with its highest value given."""

    def __init__(self, rate: float, warm_up: int):
        self.rate, self.warm_up = rate, warm_up

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.rate * ops.minimum(step / self.warm_up, ops.sqrt(self.warm_up / step))

    def get_config(self):
        return {"rate": self.rate, "warm_up": self.warm_up}
