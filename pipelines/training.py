"""One fit for all tasks: epoch by epoch, with checkpoints from which it goes on as if it had never stopped."""

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable
from pathlib import Path

import keras
import pandas as pd
import tensorflow as tf

from pipelines import checkpoints, console
from pipelines.checkpoints import Position
from pipelines.errors import UserError
from pipelines.files import write_text


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to train and when to save.

    Attributes:
        epochs: at most so many.
        patience: stop after so many epochs in a row without a lower validation loss.
        checkpoint_every: steps between checkpoints.
        steps: per epoch.
        items: per epoch, for the progress bar.
        unit: what the items are called.
    """

    epochs: int
    patience: int
    checkpoint_every: int
    steps: int
    items: int
    unit: str


def training_precision(precision: str) -> str:
    """The dtype policy behind `precision`: `auto` is mixed_bfloat16 where the hardware multiplies bfloat16 faster."""
    if precision != "auto":
        return precision
    for gpu in tf.config.list_physical_devices("GPU"):
        capability = tf.config.experimental.get_device_details(gpu).get("compute_capability", (0, 0))
        return "mixed_bfloat16" if capability >= (8, 0) else "float32"
    cpu = Path("/proc/cpuinfo")
    return "mixed_bfloat16" if cpu.exists() and "amx_bf16" in cpu.read_text() else "float32"


def make_deterministic(seed: int) -> None:
    """The same seed gives the same weights on the same machine: Python, NumPy, Keras, and every op."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def fit(
    model: keras.Model,
    batches: Callable[[int, int], tf.data.Dataset],
    validate: Callable[[], dict[str, float]],
    plan: Plan,
    folder: Path,
    class_weight: dict[int, float] | None = None,
    prepare: Callable[[], None] = lambda: None,
    configure: Callable[[Position], None] = lambda position: None,
    begin_epoch: Callable[[Position], None] = lambda position: None,
    scored: keras.Model | None = None,
    saved_within_epochs: bool = True,
    watched: Callable[[dict], float] = lambda row: row["val_loss"],
) -> Position:
    """Trains a compiled model to the end, from its last checkpoint if there is one.

    Writes `folder`/checkpoints/last.npz (the whole state), best.npz (the weights of the best epoch) and
    `folder`/metrics.csv (a line per epoch). Killed at any moment, the same call goes on and ends with the same bits.

    Args:
        batches: (epoch, steps to skip) -> the batches of that epoch; the same for the same arguments.
        validate: scores `scored` as it is.
        class_weight: Keras's.
        prepare: gives the new model what is computed rather than learned; not called where a checkpoint has it.
        configure: called before each epoch and before the rest of a broken one: says what of the model learns there.
        begin_epoch: called before the first step of an epoch, not where a broken one goes on.
        scored: a twin of `model` that takes its weights, or their average, to be scored and kept; `model` itself if not given.
        saved_within_epochs: whether there are checkpoints between the ends of epochs.
        watched: of an epoch's row (its losses and what `validate` gave), what is lowest for the best epoch.

    Returns:
        The last position: `rows` is the history, `best_epoch` the epoch whose weights are in best.npz.

    Raises:
        KeyboardInterrupt: SIGINT or SIGTERM came; all is saved.
        UserError: what is watched was not a number in any epoch.
    """
    last, best = folder / "checkpoints" / "last.npz", folder / "checkpoints" / "best.npz"
    last.parent.mkdir(parents=True, exist_ok=True)
    model.optimizer.build(model.trainable_variables)
    # Keras creates the variables of the metrics with the first batch; they must be there before they can be restored.
    model.test_on_batch(*next(iter(batches(0, 0).take(1))))
    variables = checkpoints.state_variables(model)
    scored = scored or model
    if last.exists():
        position = checkpoints.restore(last, variables)
    else:
        prepare()
        position = Position()
    if position.step or position.rows:
        console.say(f"going on at epoch {position.epoch + 1}, step {position.step} of {plan.steps}")

    with _stop_signals() as stop_requested:
        while not position.finished:
            started = time.monotonic()
            saver = _Saver(last, variables, position, plan.checkpoint_every if saved_within_epochs else 0, plan.steps, stop_requested)
            progress = _Progress(plan, position)
            first_step = position.step
            configure(position)
            if not first_step:
                begin_epoch(position)
            try:
                history = model.fit(
                    batches(position.epoch, position.step), initial_epoch=position.epoch, epochs=position.epoch + 1,
                    callbacks=[saver, progress], class_weight=class_weight, shuffle=False, verbose=0,
                )  # fmt: skip
            finally:
                progress.close()
            trained = {name: float(values[-1]) for name, values in history.history.items()}
            seconds = time.monotonic() - started
            if scored is not model:
                copy_weights(model, scored)
            row = {"epoch": position.epoch + 1, **trained, **validate()}
            if watched(row) < position.lowest:
                position.lowest, position.best_epoch = watched(row), position.epoch
                checkpoints.save(best, scored.weights, position)
            rate = plan.items * (plan.steps - first_step) / plan.steps / seconds
            _say_epoch(row, plan, rate)
            spent = time.monotonic() - started
            position.rows.append(row)
            position.epoch_seconds.append(round(spent, 1))
            position.seconds += spent
            position.epoch, position.step = position.epoch + 1, 0
            waited = position.epoch - 1 - position.best_epoch
            position.finished = position.epoch == plan.epochs or waited >= plan.patience
            _write_metrics(folder / "metrics.csv", position.rows)
            checkpoints.save(last, variables, position)
            if stop_requested():
                raise KeyboardInterrupt
    if position.best_epoch < 0:
        raise UserError(f"{folder}: the loss is not a number in any epoch: begin another --run with a lower --learning-rate")
    return position


def restore_best(model: keras.Model, folder: Path) -> None:
    """Gives `model` the weights of the best epoch."""
    checkpoints.restore(folder / "checkpoints" / "best.npz", model.weights)


def copy_weights(source: keras.Model, target: keras.Model) -> None:
    """Gives `target` the weights of `source`, or their moving averages where its optimizer keeps them."""
    for ours, theirs in zip(source.weights, target.weights, strict=True):
        theirs.assign(ours)
    if isinstance(getattr(source, "optimizer", None), AveragingAdam):
        source.optimizer.copy_averages(target.trainable_variables)


class AveragingAdam(keras.optimizers.Adam):
    """Keras's Adam with `use_ema`, whose averages never become the weights that are trained.

    At the end of every `fit`, Keras puts the averages in their place; here a `fit` is an epoch. The momentum rises with the steps t, as
    in `tf.train.ExponentialMovingAverage`, so that the averages of a short training are not those of its first steps:

        min(ema_momentum, (1 + t) / (10 + t))
    """

    @property
    def ema_momentum(self):
        steps = keras.ops.cast(self.iterations, "float32")
        return keras.ops.minimum(self._highest_momentum, (1 + steps) / (10 + steps))

    @ema_momentum.setter
    def ema_momentum(self, value: float):
        self._highest_momentum = value

    def finalize_variable_values(self, var_list):
        pass

    def copy_averages(self, variables: list[keras.Variable]) -> None:
        """Sets `variables`, in the order of those that are trained, to the averages."""
        if self.use_ema:
            super().finalize_variable_values(variables)


class _Saver(keras.callbacks.Callback):
    """Writes the checkpoint every so many steps (0: never within an epoch) and when a stop is requested; puts a broken epoch's metrics back."""

    def __init__(self, path: Path, variables: list, position: Position, every: int, steps: int, stop_requested: Callable[[], bool]):
        super().__init__()
        self._path, self._variables, self._position = path, variables, position
        self._every, self._steps, self._stop_requested = every, steps, stop_requested

    def set_model(self, model):
        super().set_model(model)
        self._metrics = [keras.ops.convert_to_numpy(variable) for variable in model.metrics_variables]

    def on_epoch_begin(self, epoch, logs=None):
        if self._position.step:  # `fit` has just set them to zero
            for variable, value in zip(self.model.metrics_variables, self._metrics, strict=True):
                variable.assign(value)

    def on_train_batch_end(self, batch, logs=None):
        self._position.step += 1
        if self._position.step == self._steps:
            return  # the epoch is not over before it is validated; `fit` saves then
        stop = self._stop_requested()
        if self._every and (stop or self._position.step % self._every == 0):
            checkpoints.save(self._path, self._variables, self._position)
        if stop:
            raise KeyboardInterrupt


class _Progress(keras.callbacks.Callback):
    """The bar of one epoch."""

    def __init__(self, plan: Plan, position: Position):
        super().__init__()
        self._per_step = plan.items / plan.steps
        self._bar = console.bar(
            plan.items, plan.unit, f"epoch {position.epoch + 1}/{plan.epochs}", round(position.step * self._per_step)
        )
        self._done = position.step * self._per_step

    def on_train_batch_end(self, batch, logs=None):
        self._done += self._per_step
        self._bar.set_postfix({name: f"{value:.4f}" for name, value in logs.items()}, refresh=False)
        self._bar.update(round(self._done) - self._bar.n)

    def close(self):
        self._bar.close()


@contextlib.contextmanager
def _stop_signals():
    """Turns the first SIGINT or SIGTERM into a request to stop after the step; a second one ends at once."""
    requested = []

    def request(number, frame):
        if requested:
            raise KeyboardInterrupt
        requested.append(number)
        console.say("stopping after this step ...")

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(requested)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_epoch(row: dict, plan: Plan, rate: float) -> None:
    shown = {name.replace("val_", "validation "): value for name, value in row.items() if name != "epoch"}
    scores = ", ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.4f}" for name, value in shown.items())
    console.say(f"epoch {row['epoch']}/{plan.epochs}: {scores}, {rate:,.0f} {plan.unit}/s")


def _write_metrics(path: Path, rows: list[dict]) -> None:
    # Written whole from the checkpoint's rows each time: so it never holds a line that the checkpoint does not know.
    write_text(path, pd.DataFrame(rows).to_csv(index=False))
