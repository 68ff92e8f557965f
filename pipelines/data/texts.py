"""One long text: a file, a corpus or the embedded sample. It is read in pieces: it may be larger than memory."""

import bz2
import dataclasses
import gzip
import io
import lzma
import zlib
from collections.abc import Iterable, Iterator

from pipelines.data import corpora, paths
from pipelines.data.paths import Data
from pipelines.data.sample_text import sample_text
from pipelines.support.errors import UserError

_PIECE = 2**20  # characters
_CHUNK = 4000  # characters; a long text is not tokenized as one string
_OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_BYTES_TO_CHECK = 2**16  # at the start of a file: text has no zero bytes, binary data almost always has some early


@dataclasses.dataclass(frozen=True)
class Text:
    """The characters `first` to `last` (excluded) of a source.

    Attributes:
        source: a path, the name of a corpus, several paths, or None for the embedded sample.
        last: None is the end of the source.
        characters: number of characters.
    """

    source: Data | None
    first: int
    last: int | None
    characters: int

    def pieces(self) -> Iterator[str]:
        """Yields the text in pieces."""
        return pieces(self.source, self.first, self.last)


@dataclasses.dataclass(frozen=True)
class TextSplits:
    """A text for training and one for validation."""

    train: Text
    valid: Text


def split_text(
    data: Data | None, valid: Data | None, valid_fraction: float, max_valid: int | None = None
) -> TextSplits:
    """Finds the text and splits off its end for validation.

    Args:
        data: see `Text.source`.
        valid: validation text; None splits off the last `valid_fraction` of `data`.
        max_valid: maximum number of characters for validation; None: no limit.

    Raises:
        UserError: a text cannot be read, or is too short to split.
    """
    source, count = paths.shown(data), characters(data)
    if valid:
        size = characters(valid)
        last = None if max_valid is None or size <= max_valid else max_valid
        splits = TextSplits(Text(data, 0, None, count), Text(valid, 0, last, last or size))
    else:
        cut = int(count * (1 - valid_fraction))
        if max_valid is not None:
            cut = max(cut, count - max_valid)
        splits = TextSplits(Text(data, 0, cut, cut), Text(data, cut, None, count - cut))
    for part, name in ((splits.train, source), (splits.valid, paths.shown(valid) if valid else source)):
        if not part.characters:
            raise UserError(
                f"{name} is empty"
                if not count or valid
                else f"{name} is too short to split: give validation text with --valid"
            )
    return splits


def characters(data: Data | None) -> int:
    """Returns the number of characters of a text. Reads all of it, and so finds out whether it can be read."""
    return sum(len(piece) for piece in pieces(data))


def pieces(data: Data | None, first: int = 0, last: int | None = None) -> Iterator[str]:
    """Yields the characters `first` to `last` (excluded) of a text, in pieces.

    Args:
        data: see `Text.source`.

    Raises:
        UserError: the file does not exist, is binary, damaged, or not UTF-8.
    """
    position = 0
    for piece in _all_pieces(data):
        start, end = max(first - position, 0), len(piece) if last is None else min(last - position, len(piece))
        position += len(piece)
        if start < end:
            yield piece[start:end]
        if last is not None and position >= last:
            return


def lines(data: Data | None) -> Iterator[str]:
    """Yields the lines of a text, without their ends. For errors see `pieces`."""
    rest = ""
    for piece in pieces(data):
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def chunks(pieces: Iterable[str]) -> Iterator[str]:
    """Yields the same text in strings of at most `_CHUNK` characters, cut after white space where there is some."""
    rest = ""
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start > _CHUNK:
            window = rest[start : start + _CHUNK]
            cut = max(window.rfind("\n"), window.rfind(" ")) + 1 or _CHUNK
            yield window[:cut]
            start += cut
        rest = rest[start:]
    if rest:
        yield rest


def _all_pieces(data: Data | None) -> Iterator[str]:
    if data is None:
        yield sample_text()
        return
    if isinstance(data, tuple):
        for each in data:
            piece = ""
            for piece in _all_pieces(each):  # noqa: B007 (the last one is needed below)
                yield piece
            if not piece.endswith("\n"):  # the next file starts on a new line
                yield "\n"
        return
    path = corpora.fetch(data) if corpora.named(data, "text") else corpora.existing(data, "text")
    if path.is_dir():
        raise UserError(f"{data} is a folder: give a text file")
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as file:
            if b"\0" in file.peek(_BYTES_TO_CHECK)[:_BYTES_TO_CHECK]:
                raise UserError(f"{path} is not text (it has zero bytes): give a text file in UTF-8")
            text = io.TextIOWrapper(file, encoding="utf-8-sig")  # also converts all line ends to "\n"
            while piece := text.read(_PIECE):
                yield piece
    except UnicodeDecodeError as error:
        context = error.object[max(0, error.start - 20) : error.start].decode("utf-8", "replace")
        raise UserError(
            f"{path} is not UTF-8 (after {context!r}): convert it, for example with `iconv -f latin1 -t utf-8`"
        ) from error
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if path.suffix not in _OPENERS:
            raise
        raise UserError(f"{path} is damaged ({error}): get it again") from error
