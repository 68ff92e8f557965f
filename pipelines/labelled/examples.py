"""Example texts: for the command that users try first, and for reports."""

import shlex
from collections.abc import Iterable


def text_to_try(texts: Iterable[str]) -> str:
    """Returns a text as an argument of a shell command: the first of `texts` that is short and of one line.

    If there is none, it is the start of the first text.
    """
    texts = list(texts)
    short = (text for text in texts if 3 <= len(text.split()) <= 15 and len(text) <= 80 and text.isprintable())
    chosen = next(short, None) or " ".join(texts[0].split()[:12])
    usual = all(character.isalnum() or character in " .,;:?()'-" for character in chosen)
    return f'"{chosen}"' if usual else shlex.quote(chosen)


def excerpt(text: str, max_characters: int) -> str:
    """Returns the start of a text on one line, for reports."""
    text = " ".join(text.replace("<br />", " ").split())
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0] + " ..."
