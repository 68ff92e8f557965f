"""Example texts: for the command that users try first, and for reports."""

import itertools
import shlex
from collections.abc import Iterable

_MAX_CHARACTERS = 80
_MAX_EXAMPLE, _READ = 300, 1000  # characters of a text on a model card; texts among which it is chosen
_START, _WORDS = 2000, 3  # characters that are read of a text to continue, and words of its start


def text_to_try(texts: Iterable[str]) -> str:
    """Returns a text as an argument of a shell command: the first of `texts` that is short and of one line.

    If there is none, it is the start of the first text.
    """
    texts = list(texts)
    short = (
        text for text in texts if 3 <= len(text.split()) <= 15 and len(text) <= _MAX_CHARACTERS and text.isprintable()
    )
    return _argument(next(short, None) or " ".join(texts[0].split()[:12]))


def start_to_try(text: str) -> str:
    """Returns a text to continue as an argument of a shell command: the first three words of a line of `text`."""
    long = (line for line in starting_lines(text) if len(line.split()) > _WORDS)
    return _argument(" ".join(next(long, text[:_START]).split()[:_WORDS]))


def starting_lines(text: str) -> list[str]:
    """Returns lines at the start of a text. The first one comes last: it may be the end of a longer one."""
    lines = text[:_START].splitlines()
    return [*lines[1:], *lines[:1]]


def example_text(texts: Iterable[str]) -> str:
    """Returns a text for the model card: the first of some words that has at most 300 characters.

    If there is none among the first 1,000, it is the start of the first text; of no texts, it is "".
    """
    read = list(itertools.islice(texts, _READ))
    usual = (text for text in read if len(text) <= _MAX_EXAMPLE and len(text.split()) > _WORDS)
    return _short(next(usual, None) or next(iter(read), ""))


def example_row(rows: Iterable[dict[str, str | float]]) -> dict[str, str | float]:
    """Returns a row, column -> cell, for the model card: the first of the first 1,000 whose texts are short.

    If there is none, it is the first row with the starts of its texts; of no rows, it is {}.
    """
    read = list(itertools.islice(rows, _READ))
    usual = (row for row in read if all(len(str(cell)) <= _MAX_EXAMPLE for cell in row.values()))
    chosen = next(usual, None) or next(iter(read), {})
    return {name: _short(cell) if isinstance(cell, str) else cell for name, cell in chosen.items()}


def _short(text: str) -> str:
    return text[:_MAX_EXAMPLE].encode("utf-8", "replace").decode()  # halves of surrogate pairs are no UTF-8


def _argument(text: str) -> str:
    chosen = text[:_MAX_CHARACTERS]
    usual = all(character.isalnum() or character in " .,;:?()'-" for character in chosen)
    return f'"{chosen}"' if usual else shlex.quote(chosen)


def excerpt(text: str, max_characters: int) -> str:
    """Returns the start of a text on one line, for reports."""
    text = " ".join(text.replace("<br />", " ").split())
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0] + " ..."
