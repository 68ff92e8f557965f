"""Extracts the archives of TF Hub modules. An archive may be hostile: it can name files outside the folder, or be huge.

`tarfile`'s own extraction is not used: its filter "data" can be evaded on Pythons that lack the fix of CVE-2025-4517.
"""

import gzip
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

MAX_BYTES = 8 * 2**30
MAX_MEMBERS = 10_000
# Weights hardly compress, graphs compress to a tenth. An archive that grows far more is made to fill the disk.
_MAX_GROWTH = 20
_SMALL = 64 * 2**20  # bytes that any archive may have
_PIECE = 2**20


def extract(file, source: str, folder: Path) -> None:
    """Extracts the regular files of a .tar.gz archive to `folder`.

    Args:
        file: the archive, open for reading bytes; it is read once, from start to end.
        source: its path or URL, for error messages.

    Raises:
        ValueError: the archive cannot be read, has more than MAX_MEMBERS members, is too large, has a member that is
            not a regular file or a folder, a name outside the folder, or a name twice.
        OSError: the files cannot be written.
    """
    names: set[str] = set()
    try:
        with tarfile.open(fileobj=cast(BinaryIO, _Unpacked(file, source)), mode="r|") as archive:
            for count, member in enumerate(archive, start=1):
                if count > MAX_MEMBERS:
                    raise Refused(f"{source} was not extracted: it has more than {MAX_MEMBERS:,} members")
                name = _checked_name(source, member, names)
                if member.isfile():
                    _write(archive.extractfile(member), folder / name)
    except gzip.BadGzipFile as error:
        raise ValueError(f"{source} cannot be read as an archive: {error}") from error
    except (Refused, OSError):
        raise
    except Exception as error:  # tarfile raises errors of many classes on damaged headers
        raise ValueError(f"{source} cannot be read as an archive: {error}") from error


class Refused(ValueError):
    """The archive is readable, but must not be extracted."""


def _checked_name(source: str, member: tarfile.TarInfo, names: set[str]) -> PurePosixPath:
    """Returns the path of a member inside the folder, and adds it to `names`."""
    name = PurePosixPath(member.name)
    is_inside = not name.is_absolute() and ".." not in name.parts and "\0" not in member.name
    is_plain = member.isdir() or (member.isfile() and name.parts and not member.issparse())
    if not (is_inside and is_plain):
        raise Refused(f"{source} was not extracted: {member.name!r} in it is not a plain file below its folder")
    key = str(name).casefold()  # on macOS, names that differ in case are the same
    if member.isfile() and key in names:
        raise Refused(f"{source} was not extracted: it has {member.name!r} twice")
    names.add(key)
    return name


def _write(source, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as file:
        shutil.copyfileobj(source, file)


class _Unpacked:
    """The bytes of a gzip file. Reading fails once they are too many for the bytes that they were made of.

    Also the long headers count that tarfile reads into memory.
    """

    def __init__(self, packed, source: str):
        self._packed = _Counted(packed)
        self._unpacked = _Counted(gzip.GzipFile(fileobj=cast(BinaryIO, self._packed)))
        self._source = source

    def read(self, size: int) -> bytes:
        data = self._unpacked.read(min(size, _PIECE))
        limit = min(MAX_BYTES, max(_SMALL, _MAX_GROWTH * self._packed.count))
        if self._unpacked.count > limit:
            raise Refused(f"{self._source} was not extracted: it has more than {limit >> 20} MiB")
        return data


class _Counted:
    """A file that counts the bytes that were read."""

    def __init__(self, file):
        self._file, self.count = file, 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data
