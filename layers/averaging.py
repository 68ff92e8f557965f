"""The mean of two models' logits."""

import keras


@keras.saving.register_keras_serializable(package="unroll")
class MeanAfterTraining(keras.layers.Layer):
    """The mean of two models' logits; in training, the logits of the first model alone.

        training:   y = a
        inference:  y = (a + b) / 2

    Use it when the second model is already trained. If `b` took part in the training loss, its high confidence on the
    training texts would leave `a` almost no gradient.

    Shapes:
        a, b: float [batch, classes] -> float [batch, classes]

    Example:
        >>> MeanAfterTraining()(np.array([[1.0, 0.0]]), np.array([[3.0, 1.0]]))
        [[2.0, 0.5]]
    """

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})

    def call(self, a, b, training=False):
        return a if training else (a + b) / 2

    def compute_output_shape(self, a_shape, b_shape):
        return a_shape
