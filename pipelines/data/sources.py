"""The data of a run: a short name for it, and a fingerprint that changes when the data does."""

from pathlib import Path

from pipelines.data import corpora
from pipelines.support.files import fingerprint as fingerprint_of_files
from pipelines.task import TaskEntry


def name(data: str | None) -> str:
    """Returns a short name for `data` that can be part of a folder's name: `sample`, `imdb`, or the file's own name."""
    if data is None:
        return "sample"
    stem = Path(data).resolve().name.split(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem) or "data"


def fingerprint(data: str | None, entry: TaskEntry) -> str:
    """Returns a text that changes when the data named `data` changes; `None` is the embedded sample of the task.

    Raises:
        UserError: there is no such file or folder.
    """
    if data is None:
        return entry.sample_version()
    if data in corpora.CORPORA:
        return corpora.CORPORA[data].sha256 or corpora.CORPORA[data].url
    return fingerprint_of_files(corpora.existing(data, entry.data_kind))


def module_fingerprints(handles: dict[str, str]) -> dict[str, str]:
    """Returns field -> fingerprint for the handles that are files or folders on this machine."""
    return {field: fingerprint_of_files(Path(handle)) for field, handle in handles.items() if Path(handle).exists()}
