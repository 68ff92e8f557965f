"""The mean of two models' logits."""

import keras


@keras.saving.register_keras_serializable(package="unroll")
class MeanAfterTraining(keras.layers.Layer):
    """The weighted mean of two models' logits; in training, the logits of the first model alone.

        training:   y = a
        inference:  y = (1 - weight) a + weight b

    Use it when the second model is already trained. If `b` took part in the training loss, its high confidence on the
    training texts would leave `a` almost no gradient.

    Args:
        weight: of the second model, from 0 to 1.

    Shapes:
        a, b: float [batch, classes] -> float [batch, classes]

    Example:
        >>> MeanAfterTraining()(np.array([[1.0, 0.0]]), np.array([[3.0, 1.0]]))
        [[2.0, 0.5]]

    Raises:
        ValueError: if weight is not from 0 to 1.
    """

    def __init__(self, weight: float = 0.5, **kwargs):
        if not 0 <= weight <= 1:
            raise ValueError(f"weight is {weight}: it must be from 0 to 1")
        super().__init__(**{"dtype": "float32", **kwargs})
        self.weight = weight
        self.supports_masking = True

    def call(self, a, b, training=False):
        return a if training else (1 - self.weight) * a + self.weight * b

    def compute_output_shape(self, a_shape, b_shape):
        return a_shape

    def get_config(self):
        return {**super().get_config(), "weight": self.weight}
