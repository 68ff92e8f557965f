"""The optimizers of --optimizer, and what Keras's optimizers do not have."""

import keras
from keras import ops


def adam_or_sgd(config, learning_rate) -> keras.optimizers.Optimizer:
    """Returns the optimizer of `config.optimizer`: Adam, or plain stochastic gradient descent.

    Args:
        learning_rate: a number or a schedule.
    """
    make = keras.optimizers.SGD if config.optimizer == "sgd" else keras.optimizers.Adam
    return make(learning_rate, global_clipnorm=config.clip_norm)


def language_model_optimizer(config, learning_rate) -> keras.optimizers.Optimizer:
    """Returns AdamW with beta_2 = 0.99, or SGD, with weight decay on matrices alone.

    Args:
        learning_rate: a number or a schedule.
    """
    options = {"weight_decay": config.weight_decay, "global_clipnorm": config.clip_norm}
    if config.optimizer == "sgd":
        optimizer = keras.optimizers.SGD(learning_rate, **options)
    else:
        optimizer = keras.optimizers.AdamW(learning_rate, beta_2=0.99, **options)
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return optimizer


class Averaging:
    """Keras's `use_ema`, which keeps the averages apart from the trained weights: a base class beside an optimizer.

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


class AveragingAdam(Averaging, keras.optimizers.Adam):
    """Adam with averages of the weights."""


class AveragingSGD(Averaging, keras.optimizers.SGD):
    """Stochastic gradient descent with averages of the weights."""


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
