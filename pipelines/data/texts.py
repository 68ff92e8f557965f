"""One long text: a file, a corpus or the embedded sample. It is read in pieces: it may be larger than memory."""

import dataclasses
from collections.abc import Iterable, Iterator

from pipelines.data import corpora, encodings
from pipelines.data.sample_text import sample_text
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

_PIECE = 2**20  # characters
_CHUNK = 4000  # characters; a long text is not tokenized as one string


@dataclasses.dataclass(frozen=True)
class Text:
    """The characters `first` to `last` (excluded) of a source.

    Attributes:
        source: a path, the name of a corpus, several paths, or None for the embedded sample.
        last: None is the end of the source.
        characters: number of characters.
        encoding: of the files; see `pieces`.
    """

    source: Data | None
    first: int
    last: int | None
    characters: int
    encoding: str | None = None

    def pieces(self) -> Iterator[str]:
        """Yields the text in pieces."""
        return pieces(self.source, self.first, self.last, self.encoding)


@dataclasses.dataclass(frozen=True)
class TextSplits:
    """A text for training and one for validation."""

    train: Text
    valid: Text


def split_text(
    data: Data | None,
    valid: Data | None,
    valid_fraction: float,
    max_valid: int | None = None,
    encoding: str | None = None,
) -> TextSplits:
    """Finds the text and splits off its end for validation.

    Args:
        data: see `Text.source`.
        valid: validation text; None splits off the last `valid_fraction` of `data`.
        max_valid: maximum number of characters for validation; None: no limit.
        encoding: of the files; see `pieces`.

    Raises:
        UserError: a text cannot be read, or is too short to split.
    """
    source, count = paths.shown(data), characters(data, encoding)
    if valid:
        size = characters(valid, encoding)
        last = None if max_valid is None or size <= max_valid else max_valid
        splits = TextSplits(Text(data, 0, None, count, encoding), Text(valid, 0, last, last or size, encoding))
    else:
        cut = int(count * (1 - valid_fraction))
        if max_valid is not None:
            cut = max(cut, count - max_valid)
        splits = TextSplits(Text(data, 0, cut, cut, encoding), Text(data, cut, None, count - cut, encoding))
    for part, name in ((splits.train, source), (splits.valid, paths.shown(valid) if valid else source)):
        if not part.characters:
            raise UserError(
                f"{name} is empty"
                if not count or valid
                else f"{name} is too short to split: give validation text with --valid"
            )
    return splits


def characters(data: Data | None, encoding: str | None = None) -> int:
    """Returns the number of characters of a text. Reads all of it, and so finds out whether it can be read."""
    return sum(len(piece) for piece in pieces(data, encoding=encoding))


def pieces(
    data: Data | None, first: int = 0, last: int | None = None, encoding: str | None = None, has_option: bool = True
) -> Iterator[str]:
    """Yields the characters `first` to `last` (excluded) of a text, in pieces.

    Args:
        data: see `Text.source`.
        encoding: of the user's own files; None is UTF-8, or what their byte order mark states.
        has_option: whether the command has --encoding, for error messages.

    Raises:
        UserError: the file does not exist, is binary, damaged, or in another encoding.
    """
    position = 0
    for piece in _all_pieces(data, encoding, has_option):
        start, end = max(first - position, 0), len(piece) if last is None else min(last - position, len(piece))
        position += len(piece)
        if start < end:
            yield piece[start:end]
        if last is not None and position >= last:
            return


def lines(data: Data | None, encoding: str | None = None, has_option: bool = True) -> Iterator[str]:
    """Yields the lines of a text, without their ends. For the arguments and errors see `pieces`."""
    rest = ""
    for piece in pieces(data, encoding=encoding, has_option=has_option):
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def chunks(pieces: Iterable[str], size: int | None = None) -> Iterator[str]:
    """Yields the same text in strings of at most `size` characters (None: 4,000), cut after white space where there
    is some.
    """
    size = size or _CHUNK
    rest = ""
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start > size:
            window = rest[start : start + size]
            cut = max(window.rfind("\n"), window.rfind(" ")) + 1 or size
            yield window[:cut]
            start += cut
        rest = rest[start:]
    if rest:
        yield rest


def _all_pieces(data: Data | None, encoding: str | None, has_option: bool) -> Iterator[str]:
    if data is None:
        yield sample_text()
        return
    if isinstance(data, tuple):
        for each in data:
            piece = ""
            for piece in _all_pieces(each, encoding, has_option):  # noqa: B007 (the last one is needed below)
                yield piece
            if not piece.endswith("\n"):  # the next file starts on a new line
                yield "\n"
        return
    is_corpus = corpora.named(data, "text")
    path = corpora.fetch(data) if is_corpus else corpora.existing(data, "text")
    if path.is_dir():
        raise UserError(f"{data} is a folder: give a text file")
    with encodings.opened_text(path, None if is_corpus else encoding, has_option, limits_lines=False) as text:
        while piece := text.read(_PIECE):
            yield piece
