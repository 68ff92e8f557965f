"""One long text, wherever it comes from: read in pieces, so that it may be larger than memory."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator

from pipelines.data import corpora
from pipelines.errors import UserError

_PIECE = 2**20  # characters
_OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_SEARCHED_FOR_ZEROS = 2**16  # bytes at the start: text has no zero bytes, binary data soon has


def characters(data: str | None) -> int:
    """How many characters the text has. Reads it whole, and so finds out whether it can be read."""
    return sum(len(piece) for piece in pieces(data))


def pieces(data: str | None, first: int = 0, last: int | None = None) -> Iterator[str]:
    """The characters `first` to `last` (that one excluded) of a text, in pieces.

    Args:
        data: a path, the name of a corpus, or None for the sample.

    Raises:
        UserError: there is no such file, it is binary, damaged, or not UTF-8.
    """
    position = 0
    for piece in _all_pieces(data):
        start, end = max(first - position, 0), len(piece) if last is None else min(last - position, len(piece))
        position += len(piece)
        if start < end:
            yield piece[start:end]
        if last is not None and position >= last:
            return


def lines(data: str | None) -> Iterator[str]:
    """The lines of a text, without their ends. For errors see `pieces`."""
    rest = ""
    for piece in pieces(data):
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def _all_pieces(data: str | None) -> Iterator[str]:
    if data is None:
        yield _sample()
        return
    path = corpora.fetch(data) if corpora.named(data, "text") else corpora.existing(data, "text")
    if path.is_dir():
        raise UserError(f"{data} is a folder: give a text file")
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as file:
            if b"\0" in file.peek(_SEARCHED_FOR_ZEROS)[:_SEARCHED_FOR_ZEROS]:
                raise UserError(f"{path} is not text (it has zero bytes): give a text file in UTF-8")
            text = io.TextIOWrapper(file, encoding="utf-8-sig")  # also makes one kind of line end of three
            while piece := text.read(_PIECE):
                yield piece
    except UnicodeDecodeError as error:
        around = error.object[max(0, error.start - 20) : error.start].decode("utf-8", "replace")
        raise UserError(
            f"{path} is not UTF-8 (behind {around!r}): convert it, for example with `iconv -f latin1 -t utf-8`"
        ) from error
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if path.suffix not in _OPENERS:
            raise
        raise UserError(f"{path} is damaged ({error}): get it again") from error


def sample_version() -> str:
    """Says which text the sample is: that of one Python is not that of another."""
    return f"pydoc_data.topics, {len(_sample()):,} characters, Python {sys.version_info.major}.{sys.version_info.minor}"


def _sample() -> str:
    """The help texts of Python itself."""
    from pydoc_data import topics

    return "\n\n".join(text.strip() for _, text in sorted(topics.topics.items())) + "\n"
