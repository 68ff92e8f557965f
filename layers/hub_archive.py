"""Extracts the archives of TF Hub modules. An archive may be hostile: it can name files outside the folder, or be huge.

`tarfile`'s own extraction is not used: its filter "data" can be evaded on Pythons that lack the fix of CVE-2025-4517.
"""

import gzip
import shutil
import tarfile
from pathlib import Path, PurePosixPath

MAX_BYTES = 8 * 2**30
MAX_MEMBERS = 10_000
# Weights hardly compress, graphs compress to a tenth. An archive that grows far more is made to fill the disk.
_MAX_GROWTH = 20
_SMALL = 64 * 2**20  # bytes that any archive may have


def extract(path: Path, folder: Path) -> None:
    """Extracts the regular files of a .tar.gz archive to `folder`.

    Raises:
        ValueError: the archive cannot be read, has more than MAX_MEMBERS members, is too large, has a member that is
            not a regular file or a folder, a name outside the folder, or a name twice.
        OSError: the files cannot be written.
    """
    limit = min(MAX_BYTES, max(_SMALL, _MAX_GROWTH * path.stat().st_size))
    names = set()
    try:
        with gzip.open(path) as unpacked, tarfile.open(fileobj=_Limited(unpacked, path, limit), mode="r|") as archive:
            for count, member in enumerate(archive, start=1):
                if count > MAX_MEMBERS:
                    raise _Refused(f"{path} was not extracted: it has more than {MAX_MEMBERS:,} members")
                name = _checked_name(path, member, names)
                if member.isfile():
                    _write(archive.extractfile(member), folder / name)
    except gzip.BadGzipFile as error:
        raise ValueError(f"{path} cannot be read as an archive: {error}") from error
    except (_Refused, OSError):
        raise
    except Exception as error:  # tarfile raises errors of many classes on damaged headers
        raise ValueError(f"{path} cannot be read as an archive: {error}") from error


class _Refused(ValueError):
    """The archive is readable, but must not be extracted."""


def _checked_name(path: Path, member: tarfile.TarInfo, names: set[str]) -> PurePosixPath:
    """Returns the path of a member inside the folder, and adds it to `names`."""
    name = PurePosixPath(member.name)
    is_inside = not name.is_absolute() and ".." not in name.parts and "\0" not in member.name
    is_plain = member.isdir() or (member.isfile() and name.parts and not member.issparse())
    if not (is_inside and is_plain):
        raise _Refused(f"{path} was not extracted: {member.name!r} in it is not a plain file below its folder")
    key = str(name).casefold()  # on macOS, names that differ in case are the same
    if member.isfile() and key in names:
        raise _Refused(f"{path} was not extracted: it has {member.name!r} twice")
    names.add(key)
    return name


def _write(source, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as file:
        shutil.copyfileobj(source, file)


class _Limited:
    """A file that can be read until `limit` bytes: also long headers, which tarfile reads into memory, count."""

    def __init__(self, file, path: Path, limit: int):
        self._file, self._path, self._limit, self._left = file, path, limit, limit

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise _Refused(f"{self._path} was not extracted: it has more than {self._limit >> 20} MiB")
        return data
