"""`train --config` and `train --from`: a training that starts from the settings of another run."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from pipelines.runs import inventory
from pipelines.settings.config import TrainingConfig, recorded
from pipelines.support.errors import UserError, suggestion
from pipelines.support.files import shown
from pipelines.support.records import read_record
from pipelines.task import TASKS

_OF_THE_DATA = (
    "data",
    "valid",
    "valid_fraction",
    "folds",
    "encoding",
    "separator",
    "quote",
    "no_header",
    "weight_column",
)


class Start(NamedTuple):
    """What a training starts from.

    Attributes:
        task: name in the registry.
        config: defaults of the flags.
        arguments: of the command line, with the task if it was left out.
    """

    task: str
    config: TrainingConfig
    arguments: tuple[str, ...]


def find_start(arguments: list[str], runs: Path, saved_models: Path) -> Start | None:
    """Returns what `train` starts from; None if the arguments have neither --config nor --from.

    The flags are read before the others, because the run's settings are the defaults of the others.

    Args:
        runs, saved_models: the folders without --runs and --saved-models.

    Raises:
        UserError: the file or export does not exist, or belongs to another task.
    """
    if arguments[:1] != ["train"] or {"-h", "--help"} & set(arguments):
        return None
    config, export = _value("--config", arguments), _value("--from", arguments)
    if config is None and export is None:
        return None
    if config is not None and export is not None:
        raise UserError("--config repeats a run, and --from continues from an export: give one of them")
    if config is not None:
        task, settings = read_settings(Path(config))
    else:
        runs = Path(_value("--runs", arguments) or runs)
        task, settings = continued(export, runs, Path(_value("--saved-models", arguments) or saved_models))
        if _value("--data", arguments) is None:
            raise UserError("--from needs --data: the labelled texts to continue with")
    given = arguments[1] if arguments[1] in TASKS else None
    if given and given != task:
        name, value = ("--config", config) if config is not None else ("--from", export)
        raise UserError(f"{name} {value} is of the task {task}: use `train {task}`")
    return Start(task, settings, ("train", task, *arguments[2 if given else 1 :]))


def read_settings(path: Path) -> tuple[str, TrainingConfig]:
    """Returns the task and the settings of a run's config.json, or of the run's folder.

    Raises:
        UserError: there is no such file, it is damaged, or it has settings that this version does not know.
    """
    if path.is_dir():
        path = path / "config.json"
    if not path.is_file():
        raise UserError(f"--config {path}: no such file: give the config.json of a run, runs/TASK/NAME/config.json")
    record = read_record(path, "give the config.json of another run")
    return record["task"], settings_of(record)


def settings_of(record: dict) -> TrainingConfig:
    """Returns the settings of a record. Those that the preset gives are `None` again, so that flags may change it."""
    entry = TASKS.get(record["task"])
    if entry is None:
        raise UserError(f"this version has no task {record['task']!r}")
    config_class = entry.config_class()
    settings = recorded(config_class, record["config"])
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    unknown = sorted(set(values) - {field.name for field in dataclasses.fields(config_class)})
    if unknown:
        raise UserError(
            f"the run has the setting {unknown[0]!r}, which this version of Unroll does not have: start a new run, "
            "with its other settings as flags"
        )
    config = config_class(**values)
    defaults = config.defaults()
    names = [field.name for field in dataclasses.fields(config) if field.default is None]
    unset = [name for name in names if name not in ("preset", "model", "data")]
    unset = [name for name in unset if getattr(config, name) == getattr(defaults, name)]
    return dataclasses.replace(config, **dict.fromkeys(unset))


def continued(export: str, runs: Path, saved_models: Path) -> tuple[str, TrainingConfig]:
    """Returns the task and the settings of the run that made an export, with its weights as the start.

    Args:
        export: name, name/version or folder of the export; a name is its newest version.

    Raises:
        UserError: there is no such export, it is no classifier, or the run that made it is gone.
    """
    versions = inventory.find_exports(saved_models, export)
    if not versions:
        known = inventory.known_names([], inventory.all_exports(saved_models))
        similar = suggestion(export, known)
        raise UserError(f"--from {export}: no such export in {shown(saved_models)}{similar}")
    exported = versions[-1]
    task = inventory.card_of(exported).get("task")
    tasks = [name for name, entry in TASKS.items() if hasattr(entry.config_class(), "start_weights")]
    if task not in tasks:
        named = " and ".join(f"`{name}`" for name in tasks)
        raise UserError(f"--from {exported.title}: it is for exports of {named}, not {task}")
    run = inventory.run_of_export(runs, exported)
    weights = run and run.path / "checkpoints" / "best.npz"
    if run is None or run.result is None or not weights.is_file():
        raise UserError(
            f"--from {exported.title}: the run that made it is not in {shown(runs)}, and an export has no weights that "
            "can be trained: give its folder of runs with --runs, or train again on all texts"
        )
    config = settings_of(run.record)
    if "linear" in (config.model, run.result["config"]["model"]):  # with few texts, `best` is a linear model
        raise UserError(
            f"--from {exported.title}: a linear model is fitted at once and cannot continue: train again on all texts, "
            "or continue from another model"
        )
    of_the_data = {field.name: field.default for field in dataclasses.fields(config) if field.name in _OF_THE_DATA}
    return task, dataclasses.replace(config, **of_the_data, start_weights=str(weights.absolute()))


def _value(name: str, arguments: list[str]) -> str | None:
    """Returns the value of a flag; None if it is not given, or has no value."""
    for argument, following in zip(arguments, [*arguments[1:], None]):
        given, separator, value = argument.partition("=")
        if given.replace("_", "-") == name:
            return value if separator else following
    return None
