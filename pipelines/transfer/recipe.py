"""`train transfer --recipe auto`: several trainings, of which the one with the lowest validation loss is kept.

The decisions are those of transfer learning with neural networks in general:

1. Freeze the encoder, and fit its head as a logistic regression, with a linear model over n-grams beside it; then train
   the encoder from there.
2. With few labels, leave out the encoder's top layers, one more as long as that helps. With many labels, initialize
   the top groups at random, one more as long as that helps; then put a hidden layer into the head.

Each training has a folder of its own in the run's folder. Killed at any moment, the same command continues with the
training at which it stopped.
"""

import dataclasses
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from pipelines.runs.fitting import Trained, fit_with_tokenizer, save_tokenizer
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders
from pipelines.support.records import read_record, write_record
from pipelines.transfer.config import RESET_LEARNING_RATE, TransferConfig

FEW_LABELS = 5000  # below this, layers are left out rather than initialized at random


def fit_best(
    task,
    config: TransferConfig,
    splits,
    folder: Path,
    events: Path | None = None,
    on_fitted: Callable[[], object] = lambda: None,
) -> Trained:
    """Tries the trainings of this module, and returns the one with the lowest validation loss; see `run.Fit`."""
    import keras

    # Every training traces its functions again. TensorFlow takes that for a mistake, and warns.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    save_tokenizer(task, config, splits, folder)
    modules = task.load_tokenizer(folder / "tokenizer")
    tried: dict[str, tuple[TransferConfig, dict]] = {}

    def loss(name: str, settings: TransferConfig) -> float:
        path = folder / "attempts" / name
        if not (path / "attempt.json").exists():
            console.say(f"recipe: {name}")
            keras.backend.clear_session()  # the names of layers start again, as in a resumed process
            _fit(task, settings, splits, folder, path)
        attempt = read_record(path / "attempt.json", f"delete {path} to train it again")
        tried[name] = settings, attempt
        return attempt["loss"]

    settings = task.complete_config(config, splits, modules)
    choose(settings, modules.groups, len(splits.train), loss)
    best = min(tried, key=lambda name: tried[name][1]["loss"])
    console.say(f"recipe: {best} has the lowest validation loss")
    settings, _ = tried[best]
    keras.backend.clear_session()
    # It is finished, so this only restores it.
    trained = fit_with_tokenizer(
        task, settings, splits, folder, folder / "attempts" / best, events, on_fitted=on_fitted
    )
    for name in set(tried) - {best}:
        shutil.rmtree(folder / "attempts" / name / "checkpoints", ignore_errors=True)
    attempts = [{"name": name, **attempt, "chosen": name == best} for name, (_, attempt) in tried.items()]
    return dataclasses.replace(trained, findings={"attempts": attempts})


def choose(
    config: TransferConfig, groups: tuple[str, ...], num_texts: int, loss: Callable[[str, TransferConfig], float]
) -> None:
    """Calls `loss` with the name and the settings of each training of the recipe; the results decide what is next.

    Args:
        config: complete.
        groups: names of the encoder's groups of weights.
        num_texts: number of training texts.
        loss: trains with the settings, and returns the validation loss. What it raises as a UserError in the second
            step, because the encoder does not allow the settings, ends that move.
    """
    replace = dataclasses.replace
    base = config.of_recipe("linear")
    lowest = loss("linear", base)
    if groups:
        unfrozen = config.of_recipe("unfrozen")
        unfrozen_loss = loss("unfrozen", unfrozen)
        if unfrozen_loss < lowest:
            lowest, base = unfrozen_loss, unfrozen
    num_layers = sum(name.startswith("layer_") for name in groups)
    if num_texts < FEW_LABELS:
        moves = [(f"drop-{n}", replace(base, drop_layers=n)) for n in range(1, num_layers)]
    else:
        moves = [(f"reset-{n}", _with_reset(config, n)) for n in range(1, len(groups))]
    for name, settings in moves:
        try:
            new_loss = loss(name, settings)
        except UserError as error:
            console.say(f"recipe: {name} is not possible: {error}")
            break
        if new_loss >= lowest:
            break
        lowest, base = new_loss, settings
    if num_texts >= FEW_LABELS:
        base = base if base.head_epochs else replace(base, solve_head=False, head_epochs=config.head_epochs)
        loss("hidden-layer", replace(base, head_layers=1))


def _with_reset(config: TransferConfig, top: int) -> TransferConfig:
    """Returns the config with the `top` uppermost groups initialized at random, and a learning rate for that."""
    groups = max(config.unfreeze_groups, top)
    return dataclasses.replace(
        config, ngrams=True, reset_top=top, unfreeze_groups=groups, head_learning_rate=RESET_LEARNING_RATE
    )


def _fit(task, settings: TransferConfig, splits, folder: Path, path: Path) -> None:
    """Trains with `settings` in the folder `path`, and writes attempt.json, last."""
    make_folders(path)
    trained = fit_with_tokenizer(task, dataclasses.replace(settings, no_baseline=True), splits, folder, path)
    attempt = {
        "trainable_weights": max(row["trainable_weights"] for row in trained.position.rows),
        **trained.servable.calibration.scores(splits.valid.labels),
        "seconds": round(trained.position.seconds, 1),
    }
    write_record(path / "attempt.json", attempt)
