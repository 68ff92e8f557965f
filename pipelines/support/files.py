"""Files and folders that appear complete or not at all."""

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path

from pipelines.support.errors import UserError


@contextlib.contextmanager
def written_beside(path: Path, mode: str = "w", newline: str | None = None):
    """Opens `path`.part for writing and renames it to `path` when the block ends without an error; else removes it.

    A reader sees the old file or the new one, never a part of one, even after a crash or on a full disk.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, mode, encoding=None if "b" in mode else "utf-8", newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
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

    Raises:
        OSError: `path` exists and is not an empty folder.
    """
    path = Path(path)
    part = path.with_name(f".tmp-{path.name}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        os.rename(part, path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def check_output(path: Path | None, flag: str = "--output", suffixes: tuple[str, ...] = ()) -> None:
    """Checks that a file can be written; None passes.

    Raises:
        UserError: it exists, its name ends in none of `suffixes`, or its folder does not exist.
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
