"""Files and folders that appear complete or not at all, also after a power cut.

The bytes of a file become durable first, then its name: file, `fsync`, rename, `fsync` of the folder.
"""

import contextlib
import errno
import hashlib
import json
import os
import tempfile
from pathlib import Path

from pipelines.support.errors import UserError
from pipelines.support.temporary import create_file, temporary_folder

# Formats other than plain lines.
_OTHER_FORMATS = (
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".parquet",
    ".xlsx",
    ".npy",
    ".npz",
    ".html",
    ".png",
    ".pdf",
    ".gz",
)


@contextlib.contextmanager
def written_beside(path: Path, mode: str = "w", newline: str | None = None):
    """Opens a temporary file and renames it to `path` when the block ends without an error; else removes it.

    A reader sees the old file or the new one, never a part of one, even after a crash, a power cut or on a full disk.

    Args:
        mode: "w", "wb" or "w+b".
    """
    path = Path(path)
    part, file = create_file(path.parent, mode, newline=newline)
    with file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
            sync(path.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Writes `text` in UTF-8, atomically."""
    with written_beside(path) as file:
        file.write(text)


def write_json(path: Path, value) -> None:
    """Writes `value` as JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path):
    """Reads a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


@contextlib.contextmanager
def folder_written_beside(path: Path):
    """Yields an empty folder beside `path`. It is renamed to `path` when the block ends without an error; else removed.

    As with `written_beside`, the folder appears with all its files, even after a power cut.

    Raises:
        OSError: `path` exists and is not an empty folder.
    """
    path = Path(path)
    make_folders(path.parent)
    with temporary_folder(path.parent) as part:
        yield part
        sync_tree(part)
        os.rename(part, path)
        sync(path.parent)


def make_folders(path: Path) -> None:
    """Makes the folder `path` and its parents, and makes their names durable."""
    path = Path(path)
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync(folder.parent)


def sync(path: Path) -> None:
    """Makes the bytes of a file, or the names in a folder, durable: a power cut does not change them any more."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have no fsync of folders
            raise
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Makes a folder with all its files and folders durable."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            sync(Path(folder) / name)
        sync(Path(folder))


def with_home(path: str) -> Path:
    """Returns `path` with the home folder in place of `~` or `~user`.

    Raises:
        UserError: there is no such user, or none with a home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(f"{path}: there is no home folder of this user: give the path without ~") from error


def check_folder(path: Path, flag: str) -> None:
    """Checks that files can be written to the folder `path`, or that it can be made.

    Raises:
        UserError: they cannot.
    """
    existing = Path(path).absolute()
    while not existing.exists():
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise UserError(
            f"{flag} {path}: nothing can be written to {existing} ({error.strerror}): give another folder"
        ) from error


def check_output(path: Path | None, flag: str = "--output", suffixes: tuple[str, ...] = ()) -> None:
    """Checks that a file can be written; None passes.

    Args:
        suffixes: of the formats that can be written; without them, the file has plain lines, under any name that
            promises no other format.

    Raises:
        UserError: it exists, its name does not fit its content, or its folder does not exist.
    """
    if path is None:
        return
    if path.exists():
        raise UserError(f"{path} exists already: remove it, or give another name with {flag}")
    if suffixes and path.suffix not in suffixes:
        raise UserError(
            f"{flag} {path}: the name must end in {', '.join(suffixes[:-1])}{' or ' * bool(suffixes[1:])}{suffixes[-1]}"
        )
    if not path.resolve().parent.is_dir():
        raise UserError(f"{flag} {path}: there is no folder {path.parent}")
    if not suffixes and path.suffix.lower() in _OTHER_FORMATS:
        raise UserError(f"{flag} {path}: plain lines are written, no {path.suffix}: give a name such as out.txt")


def shown(path: Path) -> str:
    """Returns `path` relative to the current folder if it is in it, else `path` itself."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def sha256_of(path: Path) -> str:
    """Returns the checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> str:
    """Returns a checksum of a file's bytes; for a folder, of the names, sizes and times of its files."""
    path = Path(path)
    if path.is_file():
        return sha256_of(path)
    checksum = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        status = file.stat()
        checksum.update(f"{file.relative_to(path)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return checksum.hexdigest()
