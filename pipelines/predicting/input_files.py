"""The files that `predict --input` reads: files, folders and patterns on this machine, or in object storage."""

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import addresses, corpora, encodings, tables
from pipelines.support import object_storage, paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

_WEB = ("https://", "http://")
_LINES = (".txt", ".text", "")  # suffixes of files with one text per line


class InputFile(NamedTuple):
    """A file, and what shows that it is still the same.

    Attributes:
        path: as given, or the address in object storage; "-" is stdin.
        size: in bytes.
        modified: nanoseconds since 1970.
    """

    path: str
    size: int
    modified: int


def is_stored(path: str) -> bool:
    """Whether the path is an address in object storage."""
    return paths.is_address(path) and not path.startswith(_WEB)


def find(data: Data, elsewhere: bool = False) -> list[InputFile]:
    """Returns the files of paths, folders and patterns, each once: of a folder or a pattern in alphabetical order.

    Args:
        data: paths on this machine, or addresses such as s3://bucket/folder/*.parquet; of https a copy is made. Of a
            folder, files whose names start with "." or "_" are left out.
        elsewhere: whether processes in other folders read the files: all paths are made absolute, and there is no "-".

    Raises:
        UserError: there is no such file, one is empty, the storage does not answer, or a file of a folder or a pattern
            has an unknown suffix.
    """
    found = []
    for path in paths.each(data):
        if path == "-" and elsewhere:
            raise UserError("--ray reads files: give their paths with --input, and not -")
        here = str(addresses.copied(path, corpora.cache_folder())) if path.startswith(_WEB) else path
        found += _find_stored(here) if is_stored(here) else _find_here(here)
    for file in found:
        if not file.size and file.path != "-":
            raise UserError(f"{file.path} is empty: leave it out")
    different: dict[str, InputFile] = {}
    for file in found:
        different.setdefault(file.path if is_stored(file.path) else os.path.abspath(file.path), file)
    return [file._replace(path=path) if elsewhere else file for path, file in different.items()]


@contextlib.contextmanager
def here(path: str) -> Iterator[str]:
    """Yields the path of a file on this machine: of an object, that of a temporary copy.

    Raises:
        UserError: the storage does not answer; or the block raises one, whose text then has the object's address.
    """
    if not is_stored(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="unroll-input-") as folder:
        copy = Path(folder) / path.rpartition("/")[2]
        object_storage.copy(path, copy)
        try:
            yield str(copy)
        except UserError as error:
            raise UserError(str(error).replace(str(copy), path)) from error


def _find_here(path: str) -> list[InputFile]:
    if path == "-":
        return [InputFile(path, 0, 0)]
    if Path(path).is_dir() and not tables.is_table(Path(path)):
        files = [file for file in sorted(Path(path).rglob("*")) if file.is_file()]
        names = _of_folder(path, [str(file.relative_to(path)) for file in files])
        matches = [Path(path) / name for name in names]
    elif glob.has_magic(path) and not Path(path).exists():
        matches = [Path(each) for each in paths.each(paths.expanded(path) or ())]
        _check_suffixes([str(each) for each in matches])
    elif not Path(path).exists():
        raise UserError(f"no such file: {path}{paths.suggested(path)}")
    else:
        matches = [Path(path)]
    return [InputFile(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in matches]


def _find_stored(address: str) -> list[InputFile]:
    found = object_storage.find(address)
    stored = found.objects
    if found.folder:
        files = {each.address.removeprefix(found.folder): each for each in stored}
        stored = [files[name] for name in _of_folder(address, sorted(files))]
    if len(stored) > 1:
        _check_suffixes([each.address for each in stored])
    return [InputFile(*each) for each in stored]


def _of_folder(folder: str, names: list[str]) -> list[str]:
    """Returns the names of a folder's files without those of programs, such as _SUCCESS and .part-0.crc."""
    kept = [name for name in names if not any(part.startswith((".", "_")) for part in Path(name).parts)]
    if not kept:
        raise UserError(f"{folder} has no files: give a folder with {tables.EXPECTED}, or with .txt files")
    _check_suffixes(kept)
    return kept


def _check_suffixes(names: list[str]) -> None:
    for name in names:
        if not tables.is_table(Path(name)) and encodings.suffix(Path(name)) not in _LINES:
            raise UserError(
                f"{name} has an unknown suffix: a folder or pattern may have {', '.join(tables.SUFFIXES)} and .txt "
                "files; name it alone to read it line by line"
            )
