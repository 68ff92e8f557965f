"""How pretrained weights learn: a step size for each group of them, and its course over the stages."""

import keras
from keras import ops


class GroupedAdamW(keras.optimizers.AdamW):
    """AdamW whose step size differs by variable: what is at the bottom of an encoder changes less (Howard and Ruder 2018, "ULMFiT").

    Weight decay goes by the common step size.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._factors: dict[str, float] = {}

    def slow(self, variables: list[keras.Variable], factor: float) -> None:
        """Multiplies the step size of these variables. To be called before training."""
        self._factors |= {self._var_key(variable): factor for variable in variables}

    def update_step(self, gradient, variable, learning_rate):
        # `variable` is TensorFlow's own, not Keras's around it: their key is the same.
        factor = self._factors.get(self._var_key(variable), 1.0)
        super().update_step(gradient, variable, ops.multiply(learning_rate, factor))


class Stages(keras.optimizers.schedules.LearningRateSchedule):
    """In each stage from 0 up to its rate, and down to 0 at its end, both on a line (Devlin et al. 2019).

    Args:
        steps: of each stage.
        rates: the highest of each stage.
        warm_up: the part of a stage in which it rises.
    """

    def __init__(self, steps: list[int], rates: list[float], warm_up: float):
        self.steps, self.rates, self.warm_up = steps, rates, warm_up

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rate, first = 0.0, 0
        for steps, highest in zip(self.steps, self.rates, strict=True):
            place = (step - first + 1) / (steps + 1)  # in (0, 1) within this stage
            rising = place / self.warm_up if self.warm_up else 1.0
            falling = (1 - place) / (1 - self.warm_up) if self.warm_up < 1 else 1.0
            within = ops.logical_and(step >= first, step < first + steps)
            rate = rate + ops.where(within, highest * ops.minimum(rising, falling), 0.0)
            first += steps
        return rate

    def get_config(self):
        return {"steps": self.steps, "rates": self.rates, "warm_up": self.warm_up}
