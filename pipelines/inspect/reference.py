"""Texts of a file, whose states are compared with those of the text that is looked at."""

from pathlib import Path

from pipelines.support.errors import UserError

MAX_LINES = 300
_PIECES, _PIECE = 24, 250  # of a text of characters
_MAX_CHARACTERS = 500


def read_lines(path: Path, count: int = MAX_LINES) -> list[str]:
    """Returns at most `count` lines with text, evenly spread over a file in UTF-8, each cut to 500 characters.

    Raises:
        UserError: the file has no text, or is not UTF-8.
    """
    from pipelines.data.encodings import read_text

    lines = [line.strip()[:_MAX_CHARACTERS] for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise UserError(f"--data {path}: it has no text")
    step = max(1, len(lines) // count)
    return lines[::step][:count]


def read_pieces(path: Path | None) -> list[str]:
    """Returns pieces of 250 characters, one after the other, of a file in UTF-8, or of the embedded sample.

    Raises:
        UserError: the file has no text, or is not UTF-8.
    """
    from pipelines.data.encodings import read_text
    from pipelines.data.sample_text import sample_text

    text = (read_text(path) if path else sample_text())[: _PIECES * _PIECE]
    if not text.strip():
        raise UserError(f"--data {path}: it has no text")
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
