"""Example texts: for the command that users try first, and for reports."""

import shlex
from collections.abc import Iterable

_MAX_CHARACTERS = 80
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
    """Returns a text to continue as an argument of a shell command: the first three words of a line of `text`.

    The first line is not taken if there are others: it may be the end of a longer one.
    """
    lines = text[:_START].splitlines()
    long = (line for line in [*lines[1:], *lines] if len(line.split()) > _WORDS)
    return _argument(" ".join(next(long, text[:_START]).split()[:_WORDS]))


def _argument(text: str) -> str:
    chosen = text[:_MAX_CHARACTERS]
    usual = all(character.isalnum() or character in " .,;:?()'-" for character in chosen)
    return f'"{chosen}"' if usual else shlex.quote(chosen)


def excerpt(text: str, max_characters: int) -> str:
    """Returns the start of a text on one line, for reports."""
    text = " ".join(text.replace("<br />", " ").split())
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0] + " ..."
