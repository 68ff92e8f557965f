"""Temporary files and folders, beside the place where they will appear under their own name.

Their names are `.tmp-<8 digits of the host>-<8 random digits>`. Process ids would not do: in every container on a
shared volume, the process has the id 1. The owner holds a lock (flock) as long as it works: on the file itself, or on
the file `<folder>.lock` beside a folder. What a killed process leaves is removed by the next one that writes into the
same folder. A lock may be invisible on other hosts, where the volume is a network file system: what another host has
left is removed after a day.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from pathlib import Path

_NAME = re.compile(r"\.tmp-([0-9a-f]{8})-[0-9a-f]{8}(\.lock)?")
_LOCK = ".lock"
_SECONDS_OF_ANOTHER_HOST = 24 * 60 * 60


def create_file(folder: Path, mode: str = "w", suffix: str = "", newline: str | None = None):
    """Creates a temporary file in `folder`, after removing leftovers there. It is locked until it is closed.

    Args:
        mode: "w", "wb" or "w+b".
        suffix: end of the name.

    Returns:
        (path, the open file).
    """
    remove_leftovers(folder)
    while True:
        path = folder / f".tmp-{_host()}-{secrets.token_hex(4)}{suffix}"
        encoding = None if "b" in mode else "utf-8"
        file = open(path, mode.replace("w", "x"), encoding=encoding, newline=newline)  # noqa: SIM115 (returned)
        with contextlib.suppress(OSError):  # a file system without locks: then leftovers are never removed
            fcntl.flock(file, fcntl.LOCK_EX)
        # Between the two calls, another process may have taken the lock and removed the file as a leftover.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                return path, file
        file.close()


@contextlib.contextmanager
def temporary_folder(parent: Path):
    """Yields an empty folder in `parent`, after removing leftovers there. Unless renamed, it is removed at the end."""
    lock_path, lock = create_file(parent, suffix=_LOCK)
    folder = lock_path.with_name(lock_path.name.removesuffix(_LOCK))
    with lock:
        try:
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock_path.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Removes the temporary files and folders in `folder` whose owners do not live any more."""
    for path in folder.glob(".tmp-*"):
        name = _NAME.fullmatch(path.name)
        if name:
            with contextlib.suppress(OSError):  # such as FileNotFoundError: another process has just removed it
                _remove_leftover(path, is_ours=name[1] == _host())


def _remove_leftover(path: Path, is_ours: bool) -> None:
    if not is_ours and time.time() - path.stat().st_mtime < _SECONDS_OF_ANOTHER_HOST:
        return
    if not path.is_dir():
        with open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises BlockingIOError if the owner lives
            if path.suffix == _LOCK:
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink()
    elif not path.with_name(path.name + _LOCK).exists():  # its lock goes last: nobody owns it
        shutil.rmtree(path)


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
