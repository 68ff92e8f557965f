"""Files in object storage, such as s3://bucket/folder/*.parquet.

Credentials and the endpoint are those of the usual environment variables, such as AWS_ACCESS_KEY_ID and
AWS_ENDPOINT_URL. The packages that read the storage are imported where they are used.
"""

import contextlib
import glob
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.support.errors import UserError

SCHEMES = ("s3://", "gs://")  # whose addresses are a bucket and the key of an object
_COPIED_BYTES = 2**22  # at once


class Stored(NamedTuple):
    """An object.

    Attributes:
        address: with scheme and bucket.
        size: in bytes.
        modified: nanoseconds since 1970, 0 if it is not known.
    """

    address: str
    size: int
    modified: int


class Found(NamedTuple):
    """The objects of an address.

    Attributes:
        objects: in alphabetical order.
        folder: the address with "/" at its end, if it is one of a folder; else "".
    """

    objects: list[Stored]
    folder: str


def find(address: str) -> Found:
    """Returns the object of an address, the objects that match a pattern, or all below a folder.

    Raises:
        UserError: there is none, or the storage does not answer.
    """
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow import fs

    storage, path = _storage(address)
    start, folder = address.removesuffix(path), ""
    with _errors_of(address):
        if glob.has_magic(path):
            storage.get_file_info(path.split("/")[0])  # raises the error of the storage, which `glob` would not
            keys = [each for each in ArrowFSWrapper(storage).glob(path) if not each.endswith("/")]
            infos = [each for each in storage.get_file_info(keys) if each.type == fs.FileType.File] if keys else []
        else:
            infos = [storage.get_file_info(path)]
            if infos[0].type == fs.FileType.Directory:
                folder = address.rstrip("/") + "/"
                infos = storage.get_file_info(fs.FileSelector(path, recursive=True))
                infos = [each for each in infos if each.type == fs.FileType.File]
    if not folder and (not infos or infos[0].type == fs.FileType.NotFound):
        raise UserError(f"no file matches {address}: give an object, a folder or a pattern such as s3://bucket/*.csv")
    objects = [Stored(start + info.path, info.size, info.mtime_ns or 0) for info in infos]
    return Found(sorted(objects), folder)


def copy(address: str, target: Path) -> None:
    """Copies an object to a file.

    Raises:
        UserError: the storage does not answer.
    """
    storage, key = _storage(address)
    with _errors_of(address), storage.open_input_stream(key, compression=None) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file, _COPIED_BYTES)


def _storage(address: str) -> tuple[Any, str]:
    """Returns (the file system, the path in it: bucket/key).

    Raises:
        UserError: it is unknown, or has no bucket.
    """
    from pyarrow import ArrowException, fs

    scheme = next((each for each in SCHEMES if address.startswith(each)), None)
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
