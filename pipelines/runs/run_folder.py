"""The folder of a run, `runs/<task>/<name>/`: name, lock, config.json (record), export.json (plan), result.json."""

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import importlib.metadata
import json
import platform
import secrets
from pathlib import Path

from pipelines.data import sources
from pipelines.export.exported import Exported, difference, versions
from pipelines.settings.config import TrainingConfig, recorded
from pipelines.settings.fields import flag
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import check_folder, read_json, shown
from pipelines.support.records import read_record, write_record
from pipelines.support.run_result import READABLE, SCHEMA, RunRecord, RunResult
from pipelines.support.version import VERSION
from pipelines.task_entry import TaskEntry

PACKAGES = ("tensorflow", "keras", "tensorflow-text", "sentencepiece", "numpy")


def make_record(entry: TaskEntry, config: TrainingConfig) -> RunRecord:
    """Returns the record of a new run."""
    data = {"name": sources.name(config.data)}
    for field, path in {"data": config.data, **config.data_files()}.items():
        data |= sources.describe(field, path, entry)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return RunRecord(
        schema=SCHEMA,
        run=secrets.token_hex(8),
        task=entry.name,
        config=json.loads(json.dumps(dataclasses.asdict(config))),  # as config.json will have it: lists, not tuples
        data=data,
        modules=sources.module_fingerprints(config.module_handles()),
        versions={"unroll": VERSION, "python": platform.python_version(), **versions},
        machine=f"{platform.system()} {platform.machine()}",
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def find(entry: TaskEntry, config: TrainingConfig, runs: Path, name: str | None) -> tuple[RunRecord, Path]:
    """Returns the record of a new run, and the folder of the run, which may not exist yet.

    Args:
        runs: folder of all runs.
        name: name of the run; None makes one from the data's name and a hash of the settings.

    Raises:
        UserError: the data does not exist, the name cannot be a folder's, or nothing can be written to `runs`.
    """
    record = make_record(entry, config)
    folder = runs / entry.name / check_name("run", name or run_name(record, config))
    check_folder(folder, "--runs")
    return record, folder


def run_name(record: RunRecord, config: TrainingConfig) -> str:
    """Returns `<data>-<model>-<hash>`.

    The hash covers the data and the fields that differ from the defaults of their preset, so that a later version with
    more fields finds the same name.
    """
    defaults = dataclasses.asdict(config.defaults())
    changed = {
        name: value
        for name, value in record.config.items()
        if value != defaults[name] and name not in config.REPORT_FIELDS
    }
    digits = short_hash({"config": changed, "preset": config.preset, "data": record.data})
    return f"{record.data['name']}-{config.model}-{digits}"


def short_hash(values: dict) -> str:
    """Returns eight hexadecimal digits that depend on all of `values`."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def check_name(field: str, name: str) -> str:
    """Returns `name`, which becomes a folder.

    Raises:
        UserError: it has characters other than letters, digits, `-`, `_` and `.`.
    """
    if not name or name.startswith(".") or not all(c.isalnum() or c in "-_." for c in name):
        raise UserError(f"{flag(field)} {name!r}: a name consists of letters, digits, - and _")
    return name


@contextlib.contextmanager
def locked(folder: Path):
    """Holds the lock of the run. The system releases it when the process ends, even by a crash.

    Raises:
        UserError: another process holds it.
    """
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder} is being trained by another process: wait for it, or give another --run"
            ) from error
        yield


def save_or_check_record(folder: Path, record: RunRecord, config: TrainingConfig) -> RunRecord:
    """Writes config.json of a new run; of an existing run, checks that the record describes the same training.

    Returns:
        The record with the number, versions, modules and start time of the existing run, if there is one.

    Raises:
        UserError: the folder holds a run with other flags, other data, or of a schema that this version does not read;
            or the file is damaged.
    """
    path = folder / "config.json"
    if not path.exists():
        write_record(path, dataclasses.asdict(record))
        return record
    kept = _read_config(path)
    defaults = dataclasses.asdict(config.defaults())
    settings = recorded(type(config), kept["config"])
    for name, value in record.config.items():
        kept_value = settings.get(name, defaults[name])  # a field that did not exist then had its default
        if kept_value != value and name not in config.REPORT_FIELDS:
            raise UserError(f"{folder} was started with {flag(name)} {kept_value}, not {value}: give another --run")
    if kept["data"] != record.data:
        raise UserError(f"{folder} was started with other data: the file has changed since. Give another --run")
    for name, fingerprint in record.modules.items():  # a handle that cannot be reached any more is in the run's folder
        if kept["modules"].get(name, fingerprint) != fingerprint:
            raise UserError(f"{folder} was started with another {flag(name)}: it has changed since. Give another --run")
    changed = [name for name, version in record.versions.items() if kept["versions"].get(name) != version]
    if changed and not (folder / "result.json").exists():
        versions = ", ".join(f"{name} {kept['versions'].get(name)}" for name in changed)
        console.say(f"note: this run was started with {versions}; the rest of it may differ in the last bits")
    from_kept = {name: kept[name] for name in ("run", "modules", "versions", "started")}
    return dataclasses.replace(record, **from_kept)


def _read_config(path: Path) -> dict:
    with contextlib.suppress(ValueError, AttributeError):  # not JSON, or not an object: `read_record` reports it
        kept = read_json(path)
        if "sha256" not in kept:  # before schema 3, records had no checksum
            _check_schema(path, kept)
    kept = read_record(path, f"delete {path.parent} to train from scratch, or give another --run")
    _check_schema(path, kept)
    return kept


def _check_schema(path: Path, kept: dict) -> None:
    schema = kept.get("schema")
    if schema not in READABLE:
        raise UserError(
            f"{path.parent} was recorded by another version of Unroll (schema {schema}, this one reads "
            f"{' and '.join(map(str, READABLE))}): give another --run"
        )


def plan_export(folder: Path, files: dict[str, dict]) -> None:
    """Writes export.json: the files of an export that is about to appear (see `exported.files_of`)."""
    write_record(folder / "export.json", {"files": files})


def planned_files(folder: Path) -> dict[str, dict] | None:
    """Returns the files of the last planned export; None if there is none.

    Raises:
        UserError: export.json is damaged.
    """
    path = folder / "export.json"
    if not path.exists():
        return None
    return read_record(path, "delete it, and the same command exports again")["files"]


def planned_export(folder: Path, exports: Path) -> Exported | None:
    """Returns the version that a process of this run has exported before it was killed; None if there is none.

    The export's card has the number of the run, so the planned files are those of no other run.

    Args:
        exports: folder of the versions.
    """
    files = planned_files(folder)
    if files is None:
        return None
    found = (version for version in versions(exports) if difference(exports / str(version), files) is None)
    version = next(found, None)
    return None if version is None else Exported(exports.name, version, exports / str(version))


def finished_result(folder: Path) -> RunResult | None:
    """Returns the result of a run that is finished and whose export is complete, else None.

    Raises:
        UserError: result.json is damaged.
    """
    path = folder / "result.json"
    if not path.exists():
        return None
    result = RunResult.of(**read_record(path, "delete it, and the same command measures the model again"))
    problem = difference(Path(result.export), result.export_files) if result.export else None
    if problem:
        console.say(
            f"{shown(Path(result.export))} is not the export of this run any more ({problem}): exporting it again"
        )
        return None
    return result


def write_result(folder: Path, result: RunResult) -> None:
    """Writes result.json. Its existence means that the run is finished: write it last."""
    write_record(folder / "result.json", result.to_json())
