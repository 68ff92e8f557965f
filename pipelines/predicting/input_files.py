"""The files that `predict --input` reads: files, folders and patterns on this machine, or in object storage."""

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import encodings, tables
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

_STORAGES = ("s3://", "gs://")  # whose addresses are a bucket and the key of an object
_LINES = (".txt", ".text", "")  # suffixes of files with one text per line
_COPIED_BYTES = 2**22  # at once


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
    return "://" in path


def find(data: Data, elsewhere: bool = False) -> list[InputFile]:
    """Returns the files of paths, folders and patterns, each once: of a folder or a pattern in alphabetical order.

    Args:
        data: paths on this machine, or addresses such as s3://bucket/folder/*.parquet. Credentials and the endpoint
            are those of the usual environment variables, such as AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL. Of a folder,
            files whose names start with "." or "_" are left out.
        elsewhere: whether processes in other folders read the files: all paths are made absolute, and there is no "-".

    Raises:
        UserError: there is no such file, one is empty, the storage does not answer, or a file of a folder or a pattern
            has an unknown suffix.
    """
    found = []
    for path in paths.each(data):
        if path == "-" and elsewhere:
            raise UserError("--ray reads files: give their paths with --input, and not -")
        found += _find_stored(path) if is_stored(path) else _find_here(path)
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
        storage, key = _storage(path)
        with _errors_of(path), storage.open_input_stream(key, compression=None) as source, open(copy, "wb") as target:
            shutil.copyfileobj(source, target, _COPIED_BYTES)
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
        raise UserError(f"no such file: {path}")
    else:
        matches = [Path(path)]
    return [InputFile(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in matches]


def _find_stored(address: str) -> list[InputFile]:
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow import fs

    storage, path = _storage(address)
    start = address.removesuffix(path)
    with _errors_of(address):
        if glob.has_magic(path):
            storage.get_file_info(path.split("/")[0])  # raises the error of the storage, which `glob` would not
            keys = [each for each in ArrowFSWrapper(storage).glob(path) if not each.endswith("/")]
            infos = [each for each in storage.get_file_info(keys) if each.type == fs.FileType.File] if keys else []
        else:
            infos = [storage.get_file_info(path)]
            if infos[0].type == fs.FileType.Directory:
                infos = storage.get_file_info(fs.FileSelector(path, recursive=True))
                files = {each.path: each for each in infos if each.type == fs.FileType.File}
                prefix = path.rstrip("/") + "/"
                names = _of_folder(address, sorted(each.removeprefix(prefix) for each in files))
                infos = [files[prefix + name] for name in names]
    if not infos or infos[0].type == fs.FileType.NotFound:
        raise UserError(f"no file matches {address}: give an object, a folder or a pattern such as s3://bucket/*.csv")
    infos = sorted(infos, key=lambda info: info.path)
    if len(infos) > 1:
        _check_suffixes([info.path for info in infos])
    return [InputFile(start + info.path, info.size, info.mtime_ns or 0) for info in infos]


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


def _storage(address: str) -> tuple:
    """Returns (the file system, the path in it: bucket/key).

    Raises:
        UserError: it is unknown, or has no bucket.
    """
    from pyarrow import ArrowException, fs

    scheme = next((each for each in _STORAGES if address.startswith(each)), None)
    path = address.removeprefix(scheme or "")
    if not scheme or not path.split("/")[0]:
        raise UserError(f"{address}: object storage has addresses such as s3://bucket/folder/*.parquet, or gs://...")
    try:
        return fs.FileSystem.from_uri(scheme + path.split("/")[0])[0], path
    except (ArrowException, OSError) as error:
        raise UserError(f"{address}: {_first_line(error)}") from error


@contextlib.contextmanager
def _errors_of(address: str) -> Iterator[None]:
    """Raises a UserError in place of the error of a storage."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError) as error:
        raise UserError(
            f"{address} cannot be read ({_first_line(error)}): check the address, and AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_DEFAULT_REGION and AWS_ENDPOINT_URL"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
