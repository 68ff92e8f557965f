"""A learning rate that falls to zero at the end of a given time, where that is too short for all epochs.

Until then it is that of the schedule: a network that learns for a short time needs a high rate for most of it
(Hu et al. 2024, "MiniCPM", the schedule "warmup-stable-decay").
"""

import time
from typing import TYPE_CHECKING

import keras
import numpy as np
from keras import ops

from pipelines.training.checkpoints import Position

if TYPE_CHECKING:
    from pipelines.training.fit import Plan

FIRST_STEPS = 20  # of a process, after which the time of a step is known
FALLING = 0.25  # fraction of all steps
_EVERY = 50  # steps between measurements
_NEVER = 1e9  # steps


class Paced(keras.optimizers.schedules.LearningRateSchedule):
    """rate(step) = schedule(step) * min(1, (end - step) / falling), at least 0.

    Attributes:
        line: end and falling, float32 [2]: the step at which the time is over, and in how many steps before it the rate
            falls.
    """

    def __init__(self, schedule: keras.optimizers.schedules.LearningRateSchedule):
        self.schedule = schedule
        self.line = keras.Variable([_NEVER, 1.0], trainable=False, dtype="float32")

    def __call__(self, step):
        """Returns the learning rate of a step, from 0."""
        end, falling = ops.unstack(self.line.value)
        return self.schedule(step) * ops.clip((end - ops.cast(step, "float32")) / falling, 0.0, 1.0)

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {"schedule": self.schedule}


class Pacer(keras.callbacks.Callback):
    """Sets the end of the learning rate by the time of the steps so far.

    Args:
        schedule: of the optimizer.
        plan: has `seconds`.
        position: its `pace` is kept in checkpoints.
        started: time at which this process began to train, of `time.monotonic`.
    """

    def __init__(self, schedule: Paced, plan: "Plan", position: Position, started: float):
        super().__init__()
        self._schedule, self._position = schedule, position
        self._total = plan.steps * plan.max_epochs
        self._ends = started + plan.seconds - position.seconds
        self._first_step_ended, self._step = started, 0
        if position.pace:
            schedule.line.assign(np.array(position.pace, np.float32))

    def on_train_batch_end(self, batch, logs=None):
        """Measures, at some steps."""
        self._step += 1
        if self._step == 1:
            self._first_step_ended = time.monotonic()  # the first step also builds the graph
        elif self._step == FIRST_STEPS or self._step % _EVERY == 0:
            now = time.monotonic()
            seconds = (now - self._first_step_ended) / (self._step - 1)  # validation included
            step = int(self.model.optimizer.iterations)
            self._set_end(step + max(0.0, self._ends - now) / seconds)

    def _set_end(self, end: float) -> None:
        """Sets the step at which the time is over; the schedule is as it is if all epochs end before."""
        pace = [float(end), max(1.0, FALLING * end)] if end < self._total else [_NEVER, 1.0]
        self._position.pace = pace
        self._schedule.line.assign(np.array(pace, np.float32))


def pacer(model: keras.Model, plan: "Plan", position: Position) -> list[keras.callbacks.Callback]:
    """Returns the callback that paces the schedule of a compiled model, if its time is limited and it has a schedule.

    Call it before the first step: it replaces the schedule of the optimizer.
    """
    schedule = getattr(model.optimizer, "_learning_rate", None)  # the public property is the rate itself
    if plan.seconds is None or not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return []
    model.optimizer.learning_rate = paced = Paced(schedule)
    return [Pacer(paced, plan, position, time.monotonic())]
