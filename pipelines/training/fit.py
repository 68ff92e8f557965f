"""Training, the same for all tasks: one `model.fit` per epoch, with checkpoints.

A run that is killed at any moment continues from its last checkpoint and ends with the same bits.
"""

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import keras
import pandas as pd
import tensorflow as tf

from pipelines.data import part
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders, write_text
from pipelines.training import checkpoints, group, pacing, tensorboard
from pipelines.training.checkpoints import Position
from pipelines.training.optimizers import Averaging
from pipelines.training.parallel_step import train_on_parts
from pipelines.training.progress import Progress, print_epoch
from pipelines.training.split_batches import train_on_split_batches
from pipelines.training.state import State

EpochEnd = Callable[[Position, float], None]  # takes the position after the epoch and its monitored value


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to train and when to save.

    Attributes:
        max_epochs: maximum number of epochs.
        patience: stop after this number of epochs in a row without a better monitored value.
        checkpoint_every: steps between checkpoints.
        steps: steps per epoch.
        items: items per epoch, for the progress bar.
        unit: what the items are called.
        keep: number of epochs whose weights are kept for `inspect training`, evenly spread, besides the initial ones.
        seconds: the training ends with the first step after this time, which ends its epoch, and the learning rate has
            fallen to its end by then; None: no limit.
    """

    max_epochs: int
    patience: int
    checkpoint_every: int
    steps: int
    items: int
    unit: str
    keep: int = 0
    seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """What a task changes about `fit`.

    Attributes:
        class_weight: as in `keras.Model.fit`.
        initialize: gives a new model the weights that are computed rather than learned. Not called where a checkpoint
            has them.
        continue_from_run: called in its place in a training that continues from a run, after the model has the weights
            of that.
        on_epoch_begin: called before the first step of every epoch and, with `position.step > 0`, before the rest of an
            interrupted epoch.
        save_within_epochs: whether to write checkpoints between the ends of epochs.
        monitor: row of metrics.csv -> the monitored value; the best epoch is the one with the lowest value.
        split_batches: compute the two halves of each batch in parallel (training/split_batches.py).
    """

    class_weight: dict[int, float] | None = None
    initialize: Callable[[], None] = lambda: None
    continue_from_run: Callable[[], None] = lambda: None
    on_epoch_begin: Callable[[Position], None] = lambda position: None
    save_within_epochs: bool = True
    monitor: Callable[[dict], float] = lambda row: row["val_loss"]
    split_batches: bool = False


def make_deterministic(seed: int) -> None:
    """Makes the same seed give the same weights on the same machine: Python, NumPy, Keras, and every operation."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def fit(
    model: keras.Model,
    batches: Callable[[int, int], tf.data.Dataset],
    validate: Callable[[], dict[str, float]],
    plan: Plan,
    folder: Path,
    options: FitOptions,
    inference_model: keras.Model,
    events: Path | None = None,
    on_epoch_end: EpochEnd | None = None,
) -> Position:
    """Trains a compiled model to the end, from its last checkpoint if there is one.

    Writes `folder`/checkpoints/last.npz (the whole state), best.npz (the weights of the best epoch) and
    `folder`/metrics.csv (one row per epoch). Killed at any moment, the same call continues and ends with the same bits.

    With several workers (`group.current`) all call it. The chief restores, initializes, validates and writes, and the
    others take from it what they need; all stop at the same step. The number of workers may differ from call to call.

    Args:
        batches: (epoch, steps to skip) -> the batches of that epoch; the same for the same arguments.
        validate: returns the validation scores of `inference_model`; they have "val_loss".
        inference_model: the model that is scored and kept. It takes the weights of `model`, or their averages, after
            each epoch; it may be `model` itself.
        events: folder for TensorBoard; None writes no events.
        on_epoch_end: called after the checkpoint of every epoch; what it raises ends the training.

    Returns:
        The last position: `rows` is the history, `best_epoch` the epoch whose weights are in best.npz.

    Raises:
        KeyboardInterrupt: SIGINT or SIGTERM arrived; the checkpoint is saved.
        UserError: the monitored value was not a number in any epoch.
    """
    last = folder / "checkpoints" / "last.npz"
    here = group.current()
    if here.is_chief:
        make_folders(last.parent)
    stops = None
    if here.part.count > 1:
        stops = train_on_parts(model, here, options.class_weight)
        batches = _of_part(batches, here.part)
    elif options.split_batches:
        train_on_split_batches(model)
    _create_variables(model, batches)
    state = State(model, here)
    position = state.share(_restore_or_initialize(last, state, plan, options) if here.is_chief else None)
    if plan.keep and not position.epoch and not position.step and here.is_chief:
        if inference_model is not model:
            copy_weights(model, inference_model)
        checkpoints.save(kept_weights(folder, 0), inference_model.weights, position)
    pacers = pacing.pacer(model, plan, position)
    with _stop_signals() as stop_requested:
        while not position.finished:
            saver = _Saver(last, state, position, plan, options.save_within_epochs, stop_requested, stops)
            started, first_step = time.monotonic(), position.step
            # Weights that are all computed by `options.initialize` need no step.
            needs_steps = bool(model.trainable_variables)
            callbacks = [*pacers, saver]
            losses = _train_epoch(model, batches, plan, options, position, callbacks) if needs_steps else {}
            done = (position.step or plan.steps) - first_step
            rate = plan.items * done / plan.steps / (time.monotonic() - started)
            row = None
            if here.is_chief:
                if inference_model is not model:
                    copy_weights(model, inference_model)
                row = {"epoch": position.epoch + 1, **losses, **validate()}
                print_epoch(row, plan, rate if needs_steps else None, time.monotonic() - started, position.seconds)
            row = here.from_chief(row)
            kept_model = inference_model if here.is_chief else None
            _end_epoch(position, row, plan, options, kept_model, folder, time.monotonic() - started)
            if saver.out_of_time and not position.finished:
                console.say(f"the time of {plan.seconds / 60:g} minutes is over: the best epoch so far counts")
                position.finished = True
            state.save(last, position)
            if events and here.is_chief:
                tensorboard.write(events, position.rows)
            if on_epoch_end:
                on_epoch_end(position, options.monitor(row))
            if any(here.exchange(stop_requested())):
                raise KeyboardInterrupt
    if position.best_epoch < 0:
        raise UserError(
            f"{folder}: the loss is not a number in any epoch: start another --run with a lower --learning-rate"
        )
    return position


def kept_weights(folder: Path, epoch: int) -> Path:
    """Returns the file of the weights after an epoch, from 1, which `Plan.keep` keeps; 0 has the initial weights."""
    return folder / "checkpoints" / f"epoch-{epoch:04d}.npz"


def _kept_epochs(plan: Plan) -> set[int]:
    """Returns the epochs, from 1, whose weights are kept: evenly spread, with the last one."""
    if not plan.keep:
        return set()
    step = plan.max_epochs / min(plan.keep, plan.max_epochs)
    return {round(step * (i + 1)) for i in range(min(plan.keep, plan.max_epochs))}


def restore_best(model: keras.Model, folder: Path) -> None:
    """Gives `model` the weights of the best epoch."""
    checkpoints.restore(folder / "checkpoints" / "best.npz", model.weights)


def copy_weights(source: keras.Model, target: keras.Model) -> None:
    """Gives `target` the weights of `source`, or their moving averages where its optimizer keeps them."""
    for value, variable in zip(source.weights, target.weights, strict=True):
        variable.assign(value)
    if isinstance(getattr(source, "optimizer", None), Averaging):
        source.optimizer.copy_averages(target.trainable_variables)


def _of_part(batches: Callable, rows: part.Part) -> Callable:
    """Returns `batches` with the rows of this worker alone."""

    def batches_of_part(epoch: int, skip: int) -> tf.data.Dataset:
        with part.computed(rows):
            return batches(epoch, skip)

    return batches_of_part


def _create_variables(model: keras.Model, batches: Callable) -> None:
    """Creates all variables that a checkpoint holds, so that they can be restored."""
    model.optimizer.build(model.trainable_variables)
    if model.trainable_variables:  # Keras creates the metrics' variables with the first batch
        model.test_on_batch(*next(iter(batches(0, 0).take(1))))


def _restore_or_initialize(last: Path, state: State, plan: Plan, options: FitOptions) -> Position:
    """Restores the last checkpoint; without one, initializes the model."""
    if last.exists():
        position = state.restore(last)
    else:
        options.initialize()
        position = Position()
    if (position.step or position.rows) and not position.finished:
        console.say(f"resuming at epoch {position.epoch + 1}, step {position.step} of {plan.steps}")
    return position


def _train_epoch(
    model, batches, plan: Plan, options: FitOptions, position: Position, callbacks: list[keras.callbacks.Callback]
) -> dict[str, float]:
    """Trains one epoch, or the rest of an interrupted one; returns its losses and metrics."""
    progress = Progress(plan, position)
    options.on_epoch_begin(position)
    try:
        history = model.fit(
            batches(position.epoch, position.step),
            initial_epoch=position.epoch,
            epochs=position.epoch + 1,
            callbacks=[*callbacks, progress],
            class_weight=options.class_weight if group.current().part.count == 1 else None,  # else the step has it
            shuffle=False,
            verbose=0,
        )
    finally:
        progress.close()
    return {name: float(values[-1]) for name, values in history.history.items()}


def _end_epoch(
    position: Position,
    row: dict,
    plan: Plan,
    options: FitOptions,
    inference_model: keras.Model | None,
    folder: Path,
    seconds: float,
) -> None:
    """Saves the weights if the epoch is the best so far, moves to the next epoch, and decides whether to stop.

    Args:
        inference_model: None for a worker that writes no files.
    """
    value = options.monitor(row)
    if value < position.best_value:
        position.best_value, position.best_epoch = value, position.epoch
        if inference_model:
            checkpoints.save(folder / "checkpoints" / "best.npz", inference_model.weights, position)
    if position.epoch + 1 in _kept_epochs(plan) and inference_model:
        checkpoints.save(kept_weights(folder, position.epoch + 1), inference_model.weights, position)
    position.rows.append(row)
    position.epoch_seconds.append(round(seconds, 1))
    position.seconds += seconds
    position.epoch, position.step = position.epoch + 1, 0
    epochs_without_gain = position.epoch - 1 - position.best_epoch
    position.finished = position.epoch == plan.max_epochs or epochs_without_gain >= plan.patience
    # metrics.csv is rewritten from the checkpoint's rows, so that it never has a row that the checkpoint does not know.
    if inference_model:
        write_text(folder / "metrics.csv", pd.DataFrame(position.rows).to_csv(index=False))


class _Saver(keras.callbacks.Callback):
    """Writes the checkpoint every `plan.checkpoint_every` steps and when a stop is requested.

    It also restores the running metrics of an interrupted epoch, which `fit` resets.
    """

    def __init__(
        self,
        path: Path,
        state: State,
        position: Position,
        plan: Plan,
        within_epochs: bool,
        stop_requested: Callable[[], bool],
        stops: tf.Variable | None,
    ):
        super().__init__()
        self._path, self._state, self._position = path, state, position
        self._every = plan.checkpoint_every if within_epochs else 0
        self._steps, self._stop_requested = plan.steps, stop_requested
        self._stops = stops  # of several workers; see `train_on_parts`
        self._ends = None if plan.seconds is None else time.monotonic() + plan.seconds - position.seconds
        self.out_of_time = False

    def set_model(self, model):
        super().set_model(model)
        self._metrics = [keras.ops.convert_to_numpy(variable) for variable in model.metrics_variables]

    def on_epoch_begin(self, epoch, logs=None):
        if self._position.step:  # `fit` has just reset them
            for variable, value in zip(self.model.metrics_variables, self._metrics, strict=True):
                variable.assign(value)

    def on_train_batch_begin(self, batch, logs=None):
        if self._stops is not None:
            self._stops.assign(float(self._stop_requested()))

    def on_train_batch_end(self, batch, logs=None):
        self._position.step += 1
        if self._ends is not None and time.monotonic() > self._ends:
            self.out_of_time = self.model.stop_training = True
        if self._position.step == self._steps or self.out_of_time:
            return  # an epoch ends with its validation; `fit` saves then
        stop = self._stop_requested() if self._stops is None else bool(self._stops.numpy() > 0)
        if self._every and (stop or self._position.step % self._every == 0):
            self._state.save(self._path, self._position)
        if stop:
            raise KeyboardInterrupt


_stop_requested = threading.Event()


def request_stop() -> None:
    """Stops the training of this process after its current step, from another thread; see `fit`."""
    _stop_requested.set()


@contextlib.contextmanager
def _stop_signals():
    """Yields a function that returns whether SIGINT or SIGTERM arrived. A second signal interrupts immediately."""
    _stop_requested.clear()
    if threading.current_thread() is not threading.main_thread():  # no other thread can handle signals
        yield _stop_requested.is_set
        return

    def request_stop(number, frame):
        if _stop_requested.is_set():
            raise KeyboardInterrupt
        _stop_requested.set()
        console.say("stopping after this step ...")

    previous = {number: signal.signal(number, request_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield _stop_requested.is_set
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
