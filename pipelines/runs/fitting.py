"""From the data of a run to a trained model and its scores; the same for every task."""

import dataclasses
import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.runs import continuing
from pipelines.settings.config import TrainingConfig
from pipelines.support import console
from pipelines.support.files import folder_written_beside
from pipelines.support.numbers import counted
from pipelines.task import Task

if TYPE_CHECKING:
    import keras

    from pipelines.training.fit import EpochEnd, FitOptions, Plan

REFIT = "refit"  # in a run's folder: the training on all rows


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model, its scores, and what it was made from.

    Attributes:
        config: the config with the fields filled in that depend on the data.
        precision: dtype policy of the training.
        position: the last position of the training, with its history.
        vocabulary_size: number of tokens; None if unknown.
        parameters: number of weights of the network that is scored.
        weights: see `RunResult`.
        encoded: see `Task.encode`.
        servable: what is scored and can be exported.
        scores, details: see `Task.measure`.
        refit: see `Task.refit`; without arguments.
        findings: of the training, see `RunResult`; `Task.describe_data` may add those of the data.
    """

    config: TrainingConfig
    precision: str
    position: Any
    vocabulary_size: int | None
    parameters: int
    weights: dict[str, list[int]]
    encoded: Any
    servable: Any
    scores: dict[str, dict]
    details: dict
    refit: Callable[[], int] = lambda: 0
    findings: dict[str, Any] = dataclasses.field(default_factory=dict)


OnFitted = Callable[[], object]


def _nothing() -> None:
    pass


def fit_and_measure(
    task: Task, config, splits, folder: Path, events: Path | None = None, on_fitted: OnFitted = _nothing
) -> Trained | None:
    """Trains on the data, restores the best epoch, and measures.

    Args:
        splits: see `Task.load`.
        folder: for the tokenizer, the checkpoints and metrics.csv. A training that was interrupted there is resumed.
        events: folder for TensorBoard; None writes no events.
        on_fitted: called when the training is finished, before measuring.

    Returns:
        None in a worker that is not the chief.
    """
    save_tokenizer(task, config, splits, folder)
    return fit_with_tokenizer(task, config, splits, folder, folder, events, on_fitted=on_fitted)


Fit = Callable[[Task, Any, Any, Path, Path | None, OnFitted], Trained | None]  # such as `fit_and_measure`


def save_tokenizer(task: Task, config, splits, folder: Path) -> None:
    """Makes the tokenizer, in `folder`/tokenizer, if it is not there yet, or takes that of the run to continue from."""
    if not (folder / "tokenizer").is_dir():
        with folder_written_beside(folder / "tokenizer") as part:
            if config.start_weights:
                continuing.make_tokenizer(task, config, splits).save(part)
            else:
                task.make_tokenizer(config, splits).save(part)


def fit_with_tokenizer(
    task: Task,
    config,
    splits,
    tokenizer_folder: Path,
    folder: Path,
    events: Path | None = None,
    on_epoch_end: "EpochEnd | None" = None,
    on_fitted: OnFitted = _nothing,
) -> Trained | None:
    """As `fit_and_measure`, with the tokenizer in `tokenizer_folder`.

    Args:
        on_epoch_end: see `fit.fit`.
    """
    from pipelines.training import fit, group, precision

    here = group.current()
    # The seeds are set between making and loading the tokenizer: a new run and a resumed run then draw the same random
    # numbers, and setting a seed unloads SentencePiece models (tensorflow/text#570).
    fit.make_deterministic(config.seed)
    tokenizer = task.load_tokenizer(tokenizer_folder / "tokenizer")
    config = continuing.complete(task, config, splits, tokenizer)
    with here.together():
        encoded = task.encode(config, splits, tokenizer, folder)

    plan = _plan(task, config, encoded)
    model, inference_model = _models(task, config, splits, tokenizer, encoded, plan.steps)
    validate = task.make_validator(config, tokenizer, encoded, inference_model) if here.is_chief else dict
    position = fit.fit(
        model,
        lambda epoch, skip: task.batches(config, encoded, epoch, skip),
        validate,
        plan,
        folder,
        _fit_options(task, config, encoded, model),
        inference_model,
        events,
        on_epoch_end,
    )
    here.close()
    if not here.is_chief:
        return None
    fit.restore_best(inference_model, folder)

    on_fitted()
    findings = {}
    if config.start_weights:
        best_row = position.rows[position.best_epoch]
        compared = continuing.compare(task, config, splits, tokenizer, inference_model, validate, best_row, folder)
        findings = {continuing.FINDING: compared}
    console.say(f"measuring with the weights of epoch {position.best_epoch + 1} ...")
    servable = task.make_servable(config, splits, tokenizer, inference_model)
    scores, details = task.measure(config, splits, encoded, servable, position.rows[position.best_epoch])

    def train_again(joined) -> None:
        epochs = position.best_epoch + 1
        _train_again(task, config, splits, tokenizer, joined, inference_model, epochs, folder / REFIT)

    return Trained(
        config=config,
        precision=precision.training_policy(config.precision),
        position=position,
        vocabulary_size=tokenizer.vocabulary_size,
        parameters=inference_model.count_params(),
        weights={weight.path: list(weight.shape) for weight in inference_model.weights},
        encoded=encoded,
        servable=servable,
        scores=scores,
        details=details,
        refit=functools.partial(task.refit, config, encoded, inference_model, servable, train_again),
        findings=findings,
    )


def _fit_options(task: Task, config, encoded, model) -> "FitOptions":
    """As `task.fit_options`; a new training that continues from a run starts with the weights of that."""
    options = task.fit_options(config, encoded, model)
    if not config.start_weights:
        return options

    def initialize() -> None:
        continuing.restore(config, model)
        options.continue_from_run()

    return dataclasses.replace(options, initialize=initialize)


def _models(task: Task, config, splits, tokenizer, encoded, steps: int) -> tuple["keras.Model", "keras.Model"]:
    """Returns the model to train, and the one that is scored and exported, which may be the same; both are compiled.

    Args:
        steps: per epoch.
    """
    import keras

    from pipelines.data import part
    from pipelines.training import group, precision

    policy = precision.training_policy(config.precision)
    keras.config.set_dtype_policy(policy)
    with part.computed(group.current().part):
        model = task.build(config, splits, tokenizer, encoded, training=True)
    keras.config.set_dtype_policy("float32")
    inference_model = model
    if policy != "float32" or task.needs_inference_model(config):
        inference_model = task.build(config, splits, tokenizer, encoded, training=False)
    for each in {id(m): m for m in (model, inference_model)}.values():
        task.compile_model(config, each, steps * config.epochs)
    return model, inference_model


def _plan(task: Task, config, encoded) -> "Plan":
    from pipelines.training.fit import Plan

    return Plan(
        max_epochs=config.epochs,
        patience=config.patience,
        checkpoint_every=config.checkpoint_every,
        steps=task.steps_per_epoch(config, encoded),
        items=task.items_per_epoch(encoded),
        unit=task.UNIT,
        keep=config.keep_checkpoints,
        seconds=60 * config.minutes if config.minutes else None,
    )


def _train_again(task: Task, config, splits, tokenizer, joined, model, num_epochs: int, folder: Path) -> None:
    """Trains `model` again from the start, on what is encoded in `joined`; see `Task.refit`.

    Interrupted, the same call continues.
    """
    from pipelines.training import fit

    console.say(f"training once more, on all {len(joined):,} {task.UNIT}, for {counted(num_epochs, 'epoch')} ...")
    random.seed(config.seed)  # of the first weights; `fit.make_deterministic` would unload the tokenizer
    plan = dataclasses.replace(_plan(task, config, joined), max_epochs=num_epochs, keep=0)
    trained, inference_model = _models(task, config, splits, tokenizer, joined, plan.steps)
    fit.fit(
        trained,
        lambda epoch, skip: task.batches(config, joined, epoch, skip),
        dict,  # there is nothing to validate on: the last epoch counts
        plan,
        folder,
        dataclasses.replace(_fit_options(task, config, joined, trained), monitor=lambda row: -row["epoch"]),
        inference_model,
    )
    fit.restore_best(model, folder)
