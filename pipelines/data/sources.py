"""The data of a run: a short name for it, and a fingerprint that changes when the data does."""

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.data import corpora, prepared
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.files import fingerprint as fingerprint_of_files
from pipelines.support.paths import Data

if TYPE_CHECKING:
    from pipelines.task_entry import TaskEntry


def name(data: Data | None) -> str:
    """Returns a short name for `data` that can be part of a folder's name: `sample`, `imdb`, or the file's own name."""
    if data is None:
        return "sample"
    first, *others = paths.each(data)
    stem = Path(first).resolve().name.split(".")[0]
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in stem) or "data"
    return f"{name}-and-{len(others)}-more" if others else name


def describe(field: str, data: Data | None, entry: "TaskEntry") -> dict[str, Any]:
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


def fingerprint(data: Data | None, entry: "TaskEntry") -> str:
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


@contextlib.contextmanager
def unchanged(*sources: Data | None) -> Iterator[None]:
    """Checks that no file of `sources` changes its size or time in the block. An error of the block is then no other.

    Raises:
        UserError: a file changed.
    """
    before = _status(sources)
    try:
        yield
    except Exception as error:  # such as a KeyError, because the second pass found what the first one did not
        raise_if_changed(sources, _status(sources) != before, error)
        raise
    raise_if_changed(sources, _status(sources) != before)


def raise_if_changed(sources: Collection[Data | None], has_changed: bool, error: Exception | None = None) -> None:
    """Raises the UserError for data that changed while it was read."""
    if has_changed:
        names = ", ".join(paths.shown(each) for each in sources if each is not None)
        raise UserError(
            f"{names}: the data changed while it was read: give the command again when it is complete"
        ) from error


def _status(sources: Collection[Data | None]) -> dict[str, tuple[int, int]]:
    """Returns path -> (size, time) of the user's own files."""
    given = [Path(os.path.expanduser(each)) for data in sources if data is not None for each in paths.each(data)]
    files = [file for each in given for file in (sorted(each.rglob("*")) if each.is_dir() else [each])]
    found = {}
    for file in files:
        with contextlib.suppress(OSError):  # a file that is removed has no entry; for other errors see the readers
            status = file.stat()
            found[str(file)] = (status.st_size, status.st_mtime_ns)
    return found


def is_training_data(data: Data | None, card: dict[str, Any], entry: "TaskEntry") -> bool:
    """Whether the model with this card was trained on `data`, or on what `prepare` has made from it.

    Raises:
        UserError: there is no such file or folder.
    """
    known = [card["data"].get(name) for name in ("fingerprint", "source_fingerprint")]
    return fingerprint(data, entry) in known


def module_fingerprints(handles: dict[str, str]) -> dict[str, str]:
    """Returns field -> fingerprint for the handles that are files or folders on this machine."""
    return {field: fingerprint_of_files(Path(handle)) for field, handle in handles.items() if Path(handle).exists()}
