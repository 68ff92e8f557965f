"""The folder of a run, `runs/<task>/<name>/`: name, record (config.json), lock and result (result.json)."""

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import importlib.metadata
import json
import platform
from pathlib import Path

from pipelines.config import TrainingConfig, flag
from pipelines.data import sources
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import read_json, write_json
from pipelines.support.run_result import SCHEMA, RunRecord, RunResult
from pipelines.task import TaskEntry
from pipelines.version import VERSION

PACKAGES = ("tensorflow", "keras", "tensorflow-text", "sentencepiece", "numpy")


def make_record(entry: TaskEntry, config: TrainingConfig) -> RunRecord:
    """Returns the record of a new run."""
    data = {"name": sources.name(config.data), "fingerprint": sources.fingerprint(config.data, entry)}
    data |= {f"{field}_fingerprint": sources.fingerprint(path, entry) for field, path in config.data_files().items()}
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return RunRecord(
        schema=SCHEMA,
        task=entry.name,
        config=dataclasses.asdict(config),
        data=data,
        modules=sources.module_fingerprints(config.module_handles()),
        versions={"unroll": VERSION, "python": platform.python_version(), **versions},
        machine=f"{platform.system()} {platform.machine()}",
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def run_name(record: RunRecord, config: TrainingConfig) -> str:
    """Returns `<data>-<model>-<hash>`.

    The hash covers the data and the fields that differ from the defaults of their preset, so that a later version with
    more fields finds the same name.
    """
    defaults = dataclasses.asdict(config.defaults())
    changed = {name: value for name, value in record.config.items() if value != defaults[name]}
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
        The record with the versions, modules and start time of the existing run, if there is one.

    Raises:
        UserError: the folder holds a run with other flags, other data, or of an older schema.
    """
    path = folder / "config.json"
    if not path.exists():
        write_json(path, dataclasses.asdict(record))
        return record
    kept = read_json(path)
    if kept.get("schema") != SCHEMA:
        raise UserError(
            f"{folder} was recorded by another version of Unroll (schema {kept.get('schema')}, this one has {SCHEMA}): "
            "give another --run"
        )
    defaults = dataclasses.asdict(config.defaults())
    for name, value in record.config.items():
        kept_value = kept["config"].get(name, defaults[name])  # a field that did not exist then had its default
        if kept_value != value:
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
    return dataclasses.replace(record, modules=kept["modules"], versions=kept["versions"], started=kept["started"])


def finished_result(folder: Path) -> RunResult | None:
    """Returns the result of a run that is finished and whose export still exists, else None."""
    path = folder / "result.json"
    if not path.exists():
        return None
    result = RunResult(**read_json(path))
    return result if Path(result.export).is_dir() else None


def write_result(folder: Path, result: RunResult) -> None:
    """Writes result.json. Its existence means that the run is finished: write it last."""
    write_json(folder / "result.json", dataclasses.asdict(result))
