"""The model of a fitted estimator: an export, written and loaded at first use, and pickled with all its files."""

import functools
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.export.exported import Exported, version_of

PREFIX = "unroll-"


def temporary_folder(owner) -> Path:
    """Makes a folder that is removed when `owner` is garbage or the process ends."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    weakref.finalize(owner, _remove, folder, os.getpid())
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked process has a copy of the owner
        shutil.rmtree(folder, ignore_errors=True)


class Unexported(NamedTuple):
    """A model that is not exported yet.

    Attributes:
        signatures: name -> function, as those of a loaded SavedModel.
        card: the model card.
        export: writes the export.
    """

    signatures: dict[str, Callable]
    card: dict[str, Any]
    export: Callable[[], Any]


class FittedExport:
    """A version of an exported model on this machine.

    A pickle holds all its files: it can be loaded after the files are gone, and on another machine.

    Args:
        path: folder of the version.
        owner: object that removes the files when it is garbage; None if they stay.
        unexported: the model, if `path` is not written yet: it answers, and is exported when the files are needed.
    """

    def __init__(self, path: Path, owner=None, unexported: Unexported | None = None):
        self._path, self._owner, self._lock = Path(path).absolute(), owner, threading.RLock()
        self._unexported = unexported

    @property
    def exported(self) -> Exported:
        """Name, version and path; the files are there."""
        with self._lock:
            if self._unexported:
                self._unexported.export()
                self._unexported = None
        version = version_of(self._path)
        return Exported(self._path.parent.name, 1 if version is None else version, self._path)

    @functools.cached_property
    def card(self) -> dict[str, Any]:
        """The model card."""
        return self._unexported.card if self._unexported else self.exported.card()

    @property
    def loaded(self):
        """The SavedModel, or an `Unexported`; keep it as long as one of its signatures is used."""
        with self._lock:
            return self._unexported or self._load

    @functools.cached_property
    def _load(self):
        return self.exported.load()

    def __getstate__(self) -> dict:
        self.exported  # noqa: B018 (writes the files)
        files = [path for path in sorted(self._path.rglob("*")) if path.is_file()]
        return {
            "name": self._path.parent.name,
            "files": {str(f.relative_to(self._path)): f.read_bytes() for f in files},
        }

    def __setstate__(self, state: dict) -> None:
        path = temporary_folder(self) / state["name"] / "1"
        for name, content in state["files"].items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (path / "variables").mkdir(parents=True, exist_ok=True)
        self.__init__(path)


FittedExport.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package
