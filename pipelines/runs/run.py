"""The steps of a run, the same for every task: read the data, train, measure, export, report."""

import contextlib
import dataclasses
import functools
import shutil
import time
from pathlib import Path

from pipelines.data import sources
from pipelines.export.exported import SAMPLE_SUFFIX, Exported, versions
from pipelines.runs import continuing, repeat, run_folder
from pipelines.runs.fitting import REFIT, Fit, Trained, fit_and_measure
from pipelines.settings.config import TrainingConfig
from pipelines.support import baselines, console
from pipelines.support.errors import UserError
from pipelines.support.files import check_folder, make_folders, shown, sync
from pipelines.support.quiet import import_tensorflow
from pipelines.support.run_result import RunRecord, RunResult
from pipelines.support.temporary import remove_leftovers
from pipelines.task import TASKS, Task


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
    continuing.check(config)
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
        if destination.export:
            result = dataclasses.replace(result, command=_command_line(record.task, config, destination))
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


def _command_line(task: str, config: TrainingConfig, destination: Destination) -> str:
    """Returns the command that trains with the settings of a run."""
    name = destination.name.removesuffix(SAMPLE_SUFFIX)
    named = None if name == task else name
    return repeat.train_line(task, repeat.unresolved(config), named, destination.runs, destination.saved_models)


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
