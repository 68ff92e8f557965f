"""Files of text, plain or compressed, as bytes in a known encoding.

The encoding is UTF-8, or UTF-16 or UTF-32 where the first bytes of the file (its byte order mark) say so.
"""

import bz2
import codecs
import contextlib
import errno
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pipelines.support.errors import UserError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zip")
DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile, EOFError)
_MAX_REASON = 200  # characters
MAX_LINE_BYTES = 2**26
_START_BYTES = 64
_OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# UTF-32 first: its byte order mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Encodings of text that was not written in UTF-8, most of them those of Windows.
_LIKELY = [f"cp125{digit}" for digit in range(9)]
_LIKELY += ["koi8_r", "gb18030", "big5", "cp932", "euc_jp", "cp949", "euc_kr"]
_GUESSED_BYTES = 100_000
_PEEKED_BYTES = 2**16
# First bytes of files that are no text -> what they are.
_BINARY = {
    b"PK\x03\x04": "an Excel file (.xlsx) or a zip archive",
    b"PK\x05\x06": "an empty zip archive",
    b"PK\x07\x08": "a zip archive in several parts",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "compressed with gzip",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"BZh": "compressed with bzip2",
}
# First bytes of files that no name makes readable -> what they are, and the remedy.
_UNREADABLE = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls): save it as .xlsx or .csv",
    b"%PDF": "a PDF file: copy its text to a file",
    b"\x89PNG": "a PNG picture, not text: give another file",
    b"\xff\xd8\xff": "a JPEG picture, not text: give another file",
    b"GIF8": "a GIF picture, not text: give another file",
    b"SQLite format 3\0": "an SQLite database: write its table to a .csv file",
    b"\x89HDF": "an HDF5 file: write its table to a .csv file",
    b"\x93NUMPY": "a NumPy array (.npy): write its rows to a .csv file",
    b"\x80\x02}": "a Python pickle: write its table to a .csv file",
    b"\x80\x03}": "a Python pickle: write its table to a .csv file",
    b"\x80\x04\x95": "a Python pickle: write its table to a .csv file",
    b"\x80\x05\x95": "a Python pickle: write its table to a .csv file",
    b"7z\xbc\xaf'\x1c": "a 7z archive: unpack it, and give the file in it",
    b"Rar!\x1a\x07": "a RAR archive: unpack it, and give the file in it",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it, and give the file in it",
    b"\x7fELF": "a program, not text: give another file",
}


def suffix(path: Path) -> str:
    """Returns the suffix of a file's name in lower case, without that of a compression: .csv for a.csv.gz."""
    suffixes = [each.lower() for each in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_text(path: Path) -> str:
    r"""Returns the whole text of a file of a command without --encoding. All line ends become "\n".

    Raises:
        UserError: the errors of `open_text`, or the file is damaged or in another encoding.
    """
    with opened_text(path, has_option=False) as text:
        return text.read()


def read_lines(path: Path, encoding: str | None = None) -> Iterator[str]:
    r"""Yields the lines of a file of a command with --encoding, without their ends.

    They are those of `read_text(path).split("\n")`, but without an empty last one.

    Raises:
        UserError: the errors of `open_text`, or the file is damaged or in another encoding.
    """
    with opened_text(path, encoding) as text:
        for line in text:
            yield line.removesuffix("\n")


@contextlib.contextmanager
def opened_text(
    path: Path,
    encoding: str | None = None,
    has_option: bool = True,
    limits_lines: bool = True,
    errors: str = "strict",
    newline: str | None = None,
) -> Iterator[io.TextIOWrapper]:
    r"""Opens a file for reading its text.

    Args:
        encoding, has_option, limits_lines: as of `open_text`.
        errors, newline: as of `open`. Without `newline` all line ends become "\n".

    Raises:
        UserError: the errors of `open_text`; or, also in the block, the file is damaged or in another encoding.
    """
    with reading(path):
        try:
            file, encoding = open_text(path, encoding, has_option, limits_lines)
            with io.TextIOWrapper(file, encoding, errors, newline) as text:
                yield text
        except UnicodeDecodeError as error:
            raise not_decodable(path, error, has_option) from error
        except UnicodeError as error:  # UTF-16 without a byte order mark
            raise UserError(
                f"{path} is not {encoding} ({error}): give its encoding with --encoding, or leave it out"
            ) from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises a UserError in place of what the libraries raise for a damaged file."""
    try:
        yield
    except (*DAMAGED, OSError, ValueError) as error:
        if is_of_system(error):
            raise
        raise damaged(path, "its name has the wrong suffix", error) from error


def is_of_system(error: BaseException) -> bool:
    """Whether an error is one of the system, such as a missing permission, whose message is clear; not of a file.

    In a damaged archive, a reader looks for bytes at places that no file has (EINVAL).
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def damaged(path: Path, otherwise: str, error: BaseException) -> UserError:
    """Returns the error for a file that cannot be read.

    Args:
        otherwise: what may be wrong instead.
        error: of the library that reads it.
    """
    reason = " ".join(str(error).split())[:_MAX_REASON]
    return UserError(f"{path} is damaged, or {otherwise}{reason and f' ({reason})'}: get the file again")


def open_text(
    path: Path, encoding: str | None = None, has_option: bool = True, limits_lines: bool = True
) -> tuple[io.BufferedReader, str]:
    """Opens a file of text for reading its bytes.

    Args:
        encoding: of the file; None is UTF-8, or what its byte order mark states.
        has_option: whether the command has --encoding, for error messages.
        limits_lines: whether a line of more than MAX_LINE_BYTES is an error.

    Returns:
        (the decompressed file, its encoding).

    Raises:
        UserError: the file is binary, has bytes of zero, or, while it is read, a line of more than MAX_LINE_BYTES.
    """
    file = _open(path)
    start = file.read(_START_BYTES)
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")
    encoding = encoding or marked
    kind = next((kind for first_bytes, kind in _BINARY.items() if start.startswith(first_bytes)), None)
    unreadable = next((what for first_bytes, what in _UNREADABLE.items() if start.startswith(first_bytes)), None)
    if kind or unreadable:
        file.close()
        raise UserError(f"{path} is {unreadable or f'{kind}: give its name the right suffix'}")
    lines = _Lines(file, path, start, _has_zeros(encoding), has_option, limits_lines)
    return io.BufferedReader(lines, _PEEKED_BYTES), encoding


def _has_zeros(encoding: str) -> bool:
    return b"\0" in "a".encode(encoding)


class WrongEncoding(UserError):
    """A file is in another encoding than that in which it was read.

    Attributes:
        likely: its encoding; None if it is not known.
    """

    def __init__(self, message: str, likely: str | None):
        super().__init__(message)
        self.likely = likely


def not_decodable(path: Path, error: UnicodeDecodeError, has_option: bool = True) -> UserError:
    """Returns the error for a file that is not in the encoding in which it was read; it names the likely one.

    Args:
        has_option: whether the command has --encoding.
    """
    byte = error.object[error.start]
    likely = _likely_encoding(error.object)
    if has_option:
        remedy = f"give its encoding with --encoding {likely or 'cp1252'}, or convert it to UTF-8"
    else:
        remedy = _conversion(likely or "cp1252")
    guess = f"; it is probably {likely}" if likely else ""
    return WrongEncoding(f"{path} is not {error.encoding.upper()} (byte 0x{byte:02x}{guess}): {remedy}", likely)


def _conversion(encoding: str) -> str:
    return f"convert it to UTF-8, for example with `iconv -f {encoding} -t utf-8`"


def _likely_encoding(data: bytes) -> str | None:
    import charset_normalizer

    found = charset_normalizer.from_bytes(bytes(data[:_GUESSED_BYTES]), cp_isolation=_LIKELY)
    best = found.best()
    if best is None:
        return None
    # A text with few special letters fits several encodings about as well. The most frequent of them is Windows-1252.
    equal = (match for match in found if match.chaos < best.chaos + 0.2 and match.coherence >= best.coherence)
    return "cp1252" if any("cp1252" in match.could_be_from_charset for match in equal) else best.encoding


def _has_zero_bytes(path: Path, data: bytes, has_option: bool) -> UserError:
    """Returns the error for a file with bytes of zero. In UTF-16, every Latin letter has one."""
    zeros = data[::2].count(0), data[1::2].count(0)
    if sum(zeros) * 4 > len(data):
        likely = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
        remedy = f"give --encoding {likely}" if has_option else _conversion(likely)
        return WrongEncoding(f"{path} is not UTF-8; it is probably UTF-16: {remedy}", likely)
    return UserError(
        f"{path} has bytes of zero, so it is not text: remove them, for example with `tr -d '\\000' < {path} > NEW`"
    )


class _Lines(io.RawIOBase):
    """Bytes of a file, which must look like lines of text.

    Args:
        start: its first bytes, which have been read already.
        may_have_zeros: whether the encoding has bytes of zero.
        has_option: whether the command has --encoding.
        limits_lines: whether a line of more than MAX_LINE_BYTES is an error.
    """

    def __init__(self, file, path: Path, start: bytes, may_have_zeros: bool, has_option: bool, limits_lines: bool):
        super().__init__()
        self._file, self._path, self._start = file, path, start
        self._may_have_zeros, self._has_option = may_have_zeros, has_option
        self._line_bytes, self._limits_lines = 0, limits_lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        start, self._start = self._start[: len(buffer)], self._start[len(buffer) :]
        data = start + self._file.read(len(buffer) - len(start))
        if b"\0" in data and not self._may_have_zeros:
            raise _has_zero_bytes(self._path, data, self._has_option)
        last_end = data.rfind(b"\n")
        self._line_bytes = len(data) - last_end - 1 if last_end >= 0 else self._line_bytes + len(data)
        if self._limits_lines and self._line_bytes > MAX_LINE_BYTES:
            raise UserError(
                f"{self._path} has a line of more than {MAX_LINE_BYTES // 2**20} MiB: give a file with one row per line"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open(path: Path):
    if path.suffix.lower() == ".zip":
        return _open_zip(path)
    return _OPENERS.get(path.suffix.lower(), open)(path, "rb")


def _open_zip(path: Path):
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
            if len(names) != 1:
                raise UserError(f"{path} has {len(names)} files: pack one file only")
            return archive.open(names[0])
    except RuntimeError as error:  # it needs a password, or another program packed it in its own way
        raise UserError(f"{path} cannot be unpacked ({error}): unpack it, and give the file in it") from error
