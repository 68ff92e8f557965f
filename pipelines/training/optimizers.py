"""Optimizers that Keras does not have, and the AdamW of the language models."""

import keras
from keras import ops


def language_model_adamw(learning_rate, weight_decay: float, clip_norm: float) -> keras.optimizers.AdamW:
    """Returns AdamW with beta_2 = 0.99 and weight decay on matrices alone.

    Args:
        learning_rate: a number or a schedule.
    """
    optimizer = keras.optimizers.AdamW(learning_rate, weight_decay=weight_decay, beta_2=0.99, global_clipnorm=clip_norm)
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return optimizer


class AveragingAdam(keras.optimizers.Adam):
    """Keras's Adam with `use_ema`, which keeps the averages apart from the trained weights.

    Keras overwrites the weights with the averages at the end of every `fit`; here a `fit` is one epoch. The momentum
    rises with the step t, as in `tf.train.ExponentialMovingAverage`, so that the averages of a short training forget
    its first steps:

        momentum(t) = min(ema_momentum, (1 + t) / (10 + t))
    """

    @property
    def ema_momentum(self):
        """The momentum of the next step."""
        steps = keras.ops.cast(self.iterations, "float32")
        return keras.ops.minimum(self._max_momentum, (1 + steps) / (10 + steps))

    @ema_momentum.setter
    def ema_momentum(self, value: float):
        self._max_momentum = value

    def finalize_variable_values(self, var_list):
        """Leaves the trained weights as they are."""

    def copy_averages(self, variables: list[keras.Variable]) -> None:
        """Sets `variables`, in the order of the trained variables, to the averages."""
        if self.use_ema:
            super().finalize_variable_values(variables)


class GroupedAdamW(keras.optimizers.AdamW):
    """AdamW whose learning rate differs by variable, so that the lower layers of an encoder change less.

    Source: Howard and Ruder 2018, "Universal Language Model Fine-tuning" (discriminative fine-tuning). Weight decay
    uses the common learning rate.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._factors: dict[str, float] = {}

    def scale_learning_rate(self, variables: list[keras.Variable], factor: float) -> None:
        """Stores the factor by which `update_step` multiplies the learning rate. Call it before training."""
        self._factors |= {self._var_key(variable): factor for variable in variables}

    def update_step(self, gradient, variable, learning_rate):
        """Updates one variable with its own learning rate."""
        # `variable` is TensorFlow's variable, not Keras's wrapper: both have the same key.
        factor = self._factors.get(self._var_key(variable), 1.0)
        super().update_step(gradient, variable, ops.multiply(learning_rate, factor))
