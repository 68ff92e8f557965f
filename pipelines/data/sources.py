"""The data of a run: a short name for it, and a fingerprint that changes when the data does."""

import hashlib
from pathlib import Path
from typing import Any

from pipelines.data import corpora, paths, prepared
from pipelines.data.paths import Data
from pipelines.support.files import fingerprint as fingerprint_of_files
from pipelines.task import TASKS, TaskEntry


def name(data: Data | None) -> str:
    """Returns a short name for `data` that can be part of a folder's name: `sample`, `imdb`, or the file's own name."""
    if data is None:
        return "sample"
    first, *others = paths.each(data)
    stem = Path(first).resolve().name.split(".")[0]
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in stem) or "data"
    return f"{name}-and-{len(others)}-more" if others else name


def describe(field: str, data: Data | None, entry: TaskEntry) -> dict[str, Any]:
    """Returns what the record of a run has of --data or of other data: its fingerprint.

    Of several files also the names and fingerprints of each; of prepared data also the fingerprint of the data that it
    was made from.

    Args:
        field: name of the config field.

    Raises:
        UserError: there is no such file or folder.
    """
    prefix = "" if field == "data" else f"{field}_"
    if prepared.is_prepared(data):
        source = prepared.source_of(data)["fingerprint"]
        return {f"{prefix}fingerprint": fingerprint(data, entry), f"{prefix}source_fingerprint": source}
    if not isinstance(data, tuple):
        return {f"{prefix}fingerprint": fingerprint(data, entry)}
    files = [{"name": Path(path).name, "fingerprint": fingerprint(path, entry)} for path in data]
    return {f"{prefix}fingerprint": fingerprint(data, entry), f"{prefix}files": files}


def fingerprint(data: Data | None, entry: TaskEntry) -> str:
    """Returns a text that changes when `data` or its order changes; `None` is the embedded sample of the task.

    Raises:
        UserError: there is no such file or folder.
    """
    if data is None:
        return entry.sample_version()
    if prepared.is_prepared(data):
        return prepared.fingerprint(data)
    if isinstance(data, tuple):
        fingerprints = (fingerprint_of_files(path) for path in corpora.existing_files(data, entry.data_kind))
        return hashlib.sha256("\n".join(fingerprints).encode()).hexdigest()
    if data in corpora.CORPORA:
        return corpora.CORPORA[data].sha256 or corpora.CORPORA[data].url
    return fingerprint_of_files(corpora.existing(data, entry.data_kind))


def is_training_data(data: Data | None, card: dict[str, Any]) -> bool:
    """Whether the model with this card was trained on `data`, or on what `prepare` has made from it.

    Raises:
        UserError: there is no such file or folder.
    """
    known = [card["data"].get(name) for name in ("fingerprint", "source_fingerprint")]
    return fingerprint(data, TASKS[card["task"]]) in known


def module_fingerprints(handles: dict[str, str]) -> dict[str, str]:
    """Returns field -> fingerprint for the handles that are files or folders on this machine."""
    return {field: fingerprint_of_files(Path(handle)) for field, handle in handles.items() if Path(handle).exists()}
