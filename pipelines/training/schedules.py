"""Learning rate schedules that Keras does not have, and Keras's cosine with a warm-up."""

import keras
from keras import ops


def warmup_cosine(learning_rate: float, total_steps: int, warmup_steps: int):
    """Returns Keras's cosine decay with a warm-up.

    The rate rises linearly from 0 to `learning_rate` in `warmup_steps` and falls to 0 on a cosine in the remaining
    steps.
    """
    decay_steps = max(1, total_steps - warmup_steps)
    return keras.optimizers.schedules.CosineDecay(
        0.0, decay_steps=decay_steps, warmup_target=learning_rate, warmup_steps=warmup_steps
    )


def warmup_schedule(config, total_steps: int, warmup_steps: int):
    """Returns the learning rate of `config.schedule`: cosine as `warmup_cosine`, or constant, a number."""
    if config.schedule == "constant":
        return config.learning_rate
    return warmup_cosine(config.learning_rate, total_steps, warmup_steps)


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """rate(step) = rate * min(step / warmup_steps, sqrt(warmup_steps / step)).

    Source: Vaswani et al. 2017, "Attention is all you need", section 5.3, with the highest rate given.
    """

    def __init__(self, rate: float, warmup_steps: int):
        self.rate, self.warmup_steps = rate, warmup_steps

    def __call__(self, step):
        """Returns the learning rate of a step, from 0."""
        step = ops.cast(step, "float32") + 1.0
        return self.rate * ops.minimum(step / self.warmup_steps, ops.sqrt(self.warmup_steps / step))

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {"rate": self.rate, "warmup_steps": self.warmup_steps}


class Stages(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly from 0 to a stage's rate and falls linearly to 0 at the stage's end, once per stage.

    Source: Devlin et al. 2019, "BERT", for one stage.

    Args:
        steps: number of steps of each stage.
        rates: highest learning rate of each stage.
        warmup_fraction: fraction of a stage in which the rate rises.
    """

    def __init__(self, steps: list[int], rates: list[float], warmup_fraction: float):
        self.steps, self.rates, self.warmup_fraction = steps, rates, warmup_fraction

    def __call__(self, step):
        """Returns the learning rate of a step, from 0."""
        step = ops.cast(step, "float32")
        rate, first = 0.0, 0
        for steps, highest in zip(self.steps, self.rates, strict=True):
            progress = (step - first + 1) / (steps + 1)  # in (0, 1) within this stage
            rising = progress / self.warmup_fraction if self.warmup_fraction else 1.0
            falling = (1 - progress) / (1 - self.warmup_fraction) if self.warmup_fraction < 1 else 1.0
            in_stage = ops.logical_and(step >= first, step < first + steps)
            rate = rate + ops.where(in_stage, highest * ops.minimum(rising, falling), 0.0)
            first += steps
        return rate

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {"steps": self.steps, "rates": self.rates, "warmup_fraction": self.warmup_fraction}
