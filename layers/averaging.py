"""Several answers to one question, made one."""

import keras


@keras.saving.register_keras_serializable(package="unroll")
class MeanAfterTraining(keras.layers.Layer):
    """The mean of two models' logits; in training the first one's alone.

        y = (a + b) / 2

    For a `b` that has learned already: in the loss, its certainty about the texts it knows would leave `a` nothing to learn.

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
