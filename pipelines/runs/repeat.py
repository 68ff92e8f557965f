"""`train --config` and `train --from`: trainings that start from the settings of another run; command lines of runs."""

import dataclasses
import shlex
from pathlib import Path
from typing import NamedTuple

from pipelines.runs import inventory
from pipelines.settings.config import TrainingConfig, recorded
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError, suggestion
from pipelines.support.files import shown
from pipelines.support.installation import default_folder, shell_command
from pipelines.support.records import read_record
from pipelines.task import TASKS

_OF_THE_DATA = (
    "data",
    "target",
    "valid",
    "valid_target",
    "valid_fraction",
    "folds",
    "encoding",
    "separator",
    "quote",
    "no_header",
    "weight_column",
    "positive",  # the labels keep their order
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
    if arguments[:1] != ["train"] or {"-h", "--help", "--help-all"} & set(arguments):
        return None
    config, export = _value("--config", arguments), _value("--from", arguments)
    if config is None and export is None:
        return None
    if config is not None and export is not None:
        raise UserError("--config repeats a run, and --from continues from one: give one of them")
    if config is not None:
        task, settings = read_settings(Path(config))
    else:
        runs = Path(_value("--runs", arguments) or runs)
        task, settings = continued(export, runs, Path(_value("--saved-models", arguments) or saved_models))
        if _value("--data", arguments) is None:
            raise UserError("--from needs --data: the texts to continue with")
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
    return unresolved(config_class(**values))


def unresolved(config: TrainingConfig) -> TrainingConfig:
    """Returns a resolved config with `None` for the settings that its preset gives."""
    defaults = config.defaults()
    names = [field.name for field in dataclasses.fields(config) if field.default is None]
    unset = [name for name in names if name not in ("preset", "model", "data")]
    unset = [name for name in unset if getattr(config, name) == getattr(defaults, name)]
    return dataclasses.replace(config, **dict.fromkeys(unset))


def command_flags(config: TrainingConfig) -> list[str]:
    """Returns the arguments of `train TASK` that give a config: the fields that differ from the class's defaults.

    Args:
        config: not resolved.
    """
    arguments = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value == field.default or field.name in ("polarity", "default_tokenizer", "python_type"):
            continue
        if field.name == "start_weights":
            arguments += ["--from", str(Path(value).parents[1])]  # the run: its checkpoints/best.npz are the weights
        elif isinstance(value, bool) and field.default is not None:
            arguments.append(flag(field.name if value else f"no_{field.name}"))
        else:
            arguments += [flag(field.name), *map(str, value if isinstance(value, tuple) else (value,))]
    return arguments


def train_line(task: str, config: TrainingConfig, name: str | None, runs: Path, saved_models: Path) -> str:
    """Returns the command that trains, or has trained, a config.

    Args:
        task: name in the registry.
        config: not resolved.
        name: of the export; None is that of the task.
        runs, saved_models: the folders.
    """
    arguments = ["train", task, *command_flags(config)]
    if name:
        arguments += ["--name", name]
    for option, folder, default in (("--runs", runs, "runs"), ("--saved-models", saved_models, "saved_models")):
        if Path(folder).resolve() != default_folder(default).resolve():
            arguments += [option, str(folder)]
    return f"{shell_command()} {shlex.join(arguments)}"


def continued(named: str, runs: Path, saved_models: Path) -> tuple[str, TrainingConfig]:
    """Returns the task and the settings of the run that made an export, with its weights as the start.

    Args:
        named: name, name/version or folder of an export, of which a name is its newest version; or task/name, name or
            folder of a run.

    Raises:
        UserError: there is no such export or run, the run that made the export is gone, or no training can continue
            from it.
    """
    run, title = _find(named, runs, saved_models)
    weights = run and run.path / "checkpoints" / "best.npz"
    if run is None:
        raise UserError(
            f"--from {title}: the run that made it is not in {shown(runs)}, and an export has no weights that "
            "can be trained: give its folder of runs with --runs, or train again on all texts"
        )
    if run.result is None or not weights.is_file():
        state = f"is {run.state}" if run.result is None else "has no weights (checkpoints/best.npz) any more"
        raise UserError(f"--from {title}: its run {run.title} {state}: name a finished run")
    config = settings_of(run.record)
    ended = settings_of(run.record | {"config": run.result["config"]})
    if ended.model != config.model:  # with few texts, `best` is a linear model
        config = dataclasses.replace(config, **{name: getattr(ended, name) for name in ended.network_fields()})
    reason = ended.not_continued()
    if reason:
        raise UserError(f"--from {title}: {reason}: train again on all texts, or continue from another model")
    not_kept = (*_OF_THE_DATA, *config.REPORT_FIELDS)
    changes = {field.name: field.default for field in dataclasses.fields(config) if field.name in not_kept}
    if not config.start_weights:  # a run that was continued has the factors already
        given = {name: getattr(config, name) for name in config.CONTINUED if getattr(config, name) is not None}
        changes |= dataclasses.replace(config, start_weights=str(weights)).continued(given)
    return run.task, dataclasses.replace(config, **changes, start_weights=str(weights.absolute()))


def export_name(named: str, runs: Path, saved_models: Path) -> str | None:
    """Returns the name of the export that `continued` finds, or that of the run; None if the run has no export."""
    exports = inventory.find_exports(saved_models, named)
    if exports:
        return exports[-1].name
    result = inventory.find_run(runs, named).result
    return (result or {}).get("model", "").partition("/")[0] or None


def _find(named: str, runs: Path, saved_models: Path) -> tuple[inventory.Run | None, str]:
    """Returns the run that --from names, or None if an export is left of it alone; and what to call it."""
    versions = inventory.find_exports(saved_models, named)
    if not versions:
        known = inventory.all_runs(runs)
        fitting = [run for run in known if named.strip("/") in (run.title, run.name)]
        if fitting or (Path(named) / "config.json").is_file():
            run = inventory.find_run(runs, named)
            _require_task(named, run.task)
            return run, named
        similar = suggestion(named, inventory.known_names(known, inventory.all_exports(saved_models)))
        raise UserError(
            f"--from {named}: no such export in {shown(saved_models)}, and no such run in {shown(runs)}{similar}"
        )
    exported = versions[-1]
    _require_task(exported.title, inventory.card_of(exported).get("task"))
    return inventory.run_of_export(runs, exported), exported.title


def _require_task(title: str, task: str | None) -> None:
    if task not in TASKS:
        raise UserError(f"--from {title}: it is no model of Unroll that this version knows: name another export or run")


def _value(name: str, arguments: list[str]) -> str | None:
    """Returns the value of a flag; None if it is not given, or has no value."""
    for argument, following in zip(arguments, [*arguments[1:], None]):
        given, separator, value = argument.partition("=")
        if given.replace("_", "-") == name:
            return value if separator else following
    return None
