"""The steps of a run, the same for every task: prepare, train, measure, export, report."""

import contextlib
import dataclasses
import functools
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.runs import run_folder
from pipelines.settings.config import TrainingConfig
from pipelines.data import sources
from pipelines.export.exported import SAMPLE_SUFFIX, Exported, versions
from pipelines.support import baselines, console
from pipelines.support.errors import UserError
from pipelines.support.files import check_folder, folder_written_beside, make_folders, shown, sync
from pipelines.support.numbers import counted
from pipelines.support.quiet import import_tensorflow
from pipelines.support.run_result import RunRecord, RunResult
from pipelines.support.temporary import remove_leftovers
from pipelines.task import TASKS, Task

if TYPE_CHECKING:
    import keras

    from pipelines.training.fit import EpochEnd, Plan

REFIT = "refit"  # in a run's folder: the training on all rows


@dataclasses.dataclass(frozen=True)
class Destination:
    """Where a run and its export go.

    Attributes:
        runs: folder of all runs.
        saved_models: folder of all exports.
        run: name of the run; None makes one from the data's name and a hash of the settings.
        name: name of the export; None is the task's name.
        tensorboard: whether to write the learning curves for TensorBoard.
        verify: whether to check the export in a fresh process. Else that is left to `saved_model.copy`.
        force: whether to export a model that is below its baselines, although there is a version already.
        export: whether to export the model; `export` does it later.
    """

    runs: Path
    saved_models: Path
    run: str | None = None
    name: str | None = None
    tensorboard: bool = False
    verify: bool = True
    force: bool = False
    export: bool = True


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


def train(task_name: str, config: TrainingConfig, destination: Destination, fit: Fit = fit_and_measure) -> RunResult:
    """Trains, measures and exports. Resumes an interrupted run of the same config; a finished one returns its result.

    The data of a new run is read before TensorFlow is imported and before the run has a folder: what is refused is
    refused at once, and leaves nothing.

    Args:
        task_name: name in the registry.
        config: resolved config of the task.
        fit: trains in the run's folder, and measures.

    Raises:
        UserError: a mistake that the user can fix.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the checkpoint is saved.
    """
    config.check()
    entry = TASKS[task_name]
    with sources.unchanged(config.data, *config.data_files().values()):
        record, folder = run_folder.find(entry, config, destination.runs, destination.run)
        export_name = run_folder.check_name("name", destination.name or task_name)
        if config.data is None and not export_name.endswith(SAMPLE_SUFFIX):
            export_name += SAMPLE_SUFFIX
        is_new = not folder.exists()

        def load():
            check_folder(destination.saved_models / export_name, "--saved-models")
            return entry.load(config)

        splits = load() if is_new else None
    make_folders(folder)
    with run_folder.locked(folder):
        record = run_folder.save_or_check_record(folder, record, config)
        result = run_folder.finished_result(folder)
        if result and (result.export or not destination.force):
            console.say(f"{shown(folder)} is finished. Other flags, or --run NAME, make another run.")
            if destination.tensorboard and not (folder / "tensorboard").exists():
                import_tensorflow()
                from pipelines.training import tensorboard

                tensorboard.write(folder / "tensorboard", result.epochs)
            return result
        if splits is None:
            splits = load()
        console.say(f"run {shown(folder)}")
        import_tensorflow(config.parallel_ops())
        with removed_if_refused(folder, is_new):
            named = dataclasses.replace(destination, name=export_name)
            return _train(entry.task(), config, splits, record, folder, named, fit)


@contextlib.contextmanager
def removed_if_refused(folder: Path, is_new: bool):
    """Removes the folder of a new run if the block raises a UserError before any training has started."""
    try:
        yield
    except UserError:
        if is_new and not any(folder.rglob("checkpoints")) and not any(folder.rglob("metrics.csv")):
            shutil.rmtree(folder)
        raise


def _train(
    task: Task, config, splits, record: RunRecord, folder: Path, destination: Destination, fit: Fit
) -> RunResult:
    """Trains on the data, measures, exports and reports."""
    started = time.monotonic()
    console.say(task.describe(splits))
    events = folder / "tensorboard" if destination.tensorboard else None
    with contextlib.ExitStack() as until_exported:
        verifiers = []

        def start_verifier() -> None:  # it imports TensorFlow while this process measures
            from pipelines.export import saved_model

            if destination.export and destination.verify:
                verifiers.append(until_exported.enter_context(saved_model.verifier_process()))

        trained = fit(task, config, splits, folder, events, start_verifier)
        result = _refit_and_describe(task, config, splits, record, trained)
        if destination.export and not _is_withheld(result, destination):
            exported = export(task, trained.servable, trained.config, result, folder, destination, *verifiers)
            written = {"export": str(exported.path), "export_files": run_folder.planned_files(folder)}
            result = dataclasses.replace(result, **written, model=exported.title)
    result = dataclasses.replace(
        result,
        report=str(folder / "report.md"),
        seconds=round(time.monotonic() - started, 1),
    )
    task.write_report(result, trained.details, folder)
    run_folder.write_result(folder, result)
    shutil.rmtree(folder / REFIT, ignore_errors=True)  # the export has its weights
    return result


def _refit_and_describe(task: Task, config, splits, record: RunRecord, trained: Trained) -> RunResult:
    """Fits the trained model once more where the task does so, and returns the result without export and report."""
    position = trained.position
    refitted_rows = trained.refit()
    described = task.describe_data(trained.config, splits, trained.encoded)
    findings = described.get("findings", {}) | trained.findings
    return RunResult.of(
        **dataclasses.asdict(record) | {"config": dataclasses.asdict(trained.config)},
        sample=config.data is None,
        vocabulary_size=trained.vocabulary_size,
        parameters=trained.parameters,
        weights=trained.weights,
        precision=trained.precision,
        epochs=position.rows,
        epoch_seconds=position.epoch_seconds,
        best_epoch=position.best_epoch + 1,
        training_seconds=round(position.seconds, 1),
        scores=trained.scores,
        refitted_rows=refitted_rows or None,
        below_baseline=baselines.better(trained.scores["validation"]) or None,
        **described | {"findings": findings},
    )


def save_tokenizer(task: Task, config, splits, folder: Path) -> None:
    """Makes the tokenizer, in `folder`/tokenizer, if it is not there yet."""
    if not (folder / "tokenizer").is_dir():
        with folder_written_beside(folder / "tokenizer") as part:
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
    config = task.complete_config(config, splits, tokenizer)
    with here.together():
        encoded = task.encode(config, splits, tokenizer, folder)

    plan = _plan(task, config, encoded)
    model, inference_model = _models(task, config, splits, tokenizer, encoded, plan.steps)
    position = fit.fit(
        model,
        lambda epoch, skip: task.batches(config, encoded, epoch, skip),
        task.make_validator(config, tokenizer, encoded, inference_model) if here.is_chief else dict,
        plan,
        folder,
        task.fit_options(config, encoded, model),
        inference_model,
        events,
        on_epoch_end,
    )
    here.close()
    if not here.is_chief:
        return None
    fit.restore_best(inference_model, folder)

    on_fitted()
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
    )


def _models(
    task: Task, config, splits, tokenizer, encoded, steps: int
) -> tuple["keras.Model", "keras.Model"]:
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
        dataclasses.replace(task.fit_options(config, joined, trained), monitor=lambda row: -row["epoch"]),
        inference_model,
    )
    fit.restore_best(model, folder)


def _is_withheld(result: RunResult, destination: Destination) -> bool:
    """Whether the model is not exported: below its baselines, it would replace a version that servers use."""
    is_below = bool(result.about.get("below_baseline")) and not result.sample
    return is_below and not destination.force and bool(versions(destination.saved_models / destination.name))


def export(
    task: Task, servable, config, result: RunResult, folder: Path, destination: Destination, verifier=None
) -> Exported:
    """Exports the servable of a run, unless a process of this run was killed after it had done so.

    Args:
        servable, config: see `Trained`.
        folder: of the run.
        destination: with a name.
        verifier: see `saved_model.export`.
    """
    from pipelines.export import saved_model
    from pipelines.export.card import make_card

    exports = destination.saved_models / destination.name
    exported = run_folder.planned_export(folder, exports)
    if exported:
        console.say(f"{shown(exported.path)} is the export of this run already")
        sync(exports)  # it may have been killed before it did so
        remove_leftovers(exports)
        return exported
    console.say(f"exporting{', and checking the export in a fresh process' if destination.verify else ''} ...")
    return saved_model.export(
        servable,
        exports.name,
        exports.parent,
        make_card(result, config),
        task.example_requests(servable),
        plan=functools.partial(run_folder.plan_export, folder),
        verify=destination.verify,
        verifier=verifier,
    )
