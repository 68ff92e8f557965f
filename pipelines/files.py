"""Files that appear whole or not at all."""

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path


@contextlib.contextmanager
def written_beside(path: Path, mode: str = "w", newline: str | None = None):
    """Opens `path` + ".part" for writing and renames it to `path` when the block ends well; else removes it.

    A reader sees the old file or the new one, never half of one, even after a crash or on a full disk.
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
    with written_beside(path) as file:
        file.write(text)


def write_json(path: Path, value) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


@contextlib.contextmanager
def folder_written_beside(path: Path):
    """Yields an empty folder beside `path` that becomes `path` when the block ends well; else it is removed.

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


def shown(path: Path) -> str:
    """`path` as one would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> str:
    """One sum for a file's bytes, or for the names, sizes and times of the files in a folder (too many to read each)."""
    path = Path(path)
    if path.is_file():
        return sha256_of(path)
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        status = file.stat()
        total.update(f"{file.relative_to(path)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return total.hexdigest()
