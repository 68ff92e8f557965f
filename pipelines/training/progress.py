"""What a training says while it runs: a progress bar, a line for each epoch, and how long it will take."""

import resource
import sys
import time
from typing import TYPE_CHECKING

import keras

from pipelines.support import console
from pipelines.support.numbers import counted, minutes
from pipelines.training.checkpoints import Position

if TYPE_CHECKING:
    from pipelines.training.fit import Plan

_FORECAST_STEPS = 20  # of the first epoch, after which the time of the training is forecast


class Progress(keras.callbacks.Callback):
    """The progress bar of one epoch."""

    def __init__(self, plan: "Plan", position: Position):
        super().__init__()
        self._per_step = plan.items / plan.steps
        self._done = position.step * self._per_step
        self._plan, self._position = plan, position
        self._started, self._first, self._step = time.monotonic(), position.step, 0
        description = f"epoch {position.epoch + 1}/{plan.max_epochs}"
        self._bar = console.bar(plan.items, plan.unit, description, initial=round(self._done))

    def on_train_batch_end(self, batch, logs=None):
        """Moves the bar; after some steps of the first epoch, says how long the training takes."""
        self._done += self._per_step
        self._bar.set_postfix({name: f"{value:.4f}" for name, value in logs.items()}, refresh=False)
        self._bar.update(round(self._done) - self._bar.n)
        self._step += 1
        if self._position.epoch == 0 and self._first == 0 and self._step == min(_FORECAST_STEPS, self._plan.steps):
            self._say_forecast()
        if self._step == 1:
            self._started = time.monotonic()  # the first step also builds the graph

    def _say_forecast(self) -> None:
        seconds = (time.monotonic() - self._started) / max(1, self._step - 1) * self._plan.steps * self._plan.max_epochs
        epochs = counted(self._plan.max_epochs, "epoch")
        if self._plan.seconds is not None and self._plan.seconds < seconds:
            epochs = f"about {self._plan.seconds / seconds * self._plan.max_epochs:.1f} of {epochs}"
            seconds = self._plan.seconds
        if expected := minutes(seconds):
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (30 if sys.platform == "darwin" else 20))
            console.say(f"expected: at most {expected} for {epochs}, {peak:.1f} GiB of memory so far")

    def close(self) -> None:
        """Ends the bar, after the epoch or where it is interrupted."""
        self._bar.close()


def print_epoch(row: dict, plan: "Plan", rate: float | None, seconds: float, seconds_before: float) -> None:
    """Prints the losses and scores of an epoch, and how long the training still takes, if that is minutes.

    Args:
        rate: items per second; None if there was no training.
        seconds: duration of the epoch.
        seconds_before: duration of those before it.
    """
    scores = {name.replace("val_", "validation "): value for name, value in row.items() if name != "epoch"}
    text = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.4f}" for name, value in scores.items()
    )
    if rate is None:
        console.say(text)
        return
    left = (plan.max_epochs - row["epoch"]) * seconds
    if plan.seconds is not None:
        left = min(left, plan.seconds - seconds_before - seconds)
    ends = f", at most {expected} left" if (expected := minutes(left)) else ""
    console.say(f"epoch {row['epoch']}/{plan.max_epochs}: {text}, {rate:,.0f} {plan.unit}/s{ends}")
