"""Errors that a user can fix."""

import difflib
import errno
from collections.abc import Iterable

_MAX_NAME = 60  # characters of a name that is too long, in a message
_MAX_MESSAGE = 300  # characters of another library's error


class UserError(Exception):
    """A mistake that the user can fix. The message names the cause and the remedy.

    `main.py` prints it as one line, without a traceback, and exits with status 2.
    """


def is_disk_full(error: BaseException) -> bool:
    """Whether `error` reports a full disk: Python's own error, or one that TensorFlow's C++ code raised."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in str(error)


def too_long_name(error: BaseException) -> str | None:
    """Returns the message for a path that is too long for any file, such as a text in its place; None otherwise."""
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG:
        return None
    return f"{str(error.filename)[:_MAX_NAME]}... is too long for the name of a file: give the path of a file or folder"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean ...?" with the known name that is most similar in any case of letters; "" if none is."""
    found = most_similar(name, known)
    return "" if found is None else f"; did you mean {found}?"


def most_similar(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that is most similar in any case of letters; None if none is."""
    by_lower = {each.lower(): each for each in known}
    similar = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[similar[0]] if similar else None


def shortened(error: BaseException) -> str:
    """Returns the message of another library's error for one of ours: on one line, its name where it has no words."""
    text = " ".join(str(error).split())
    if " " not in text:  # such as KeyError('serving_default')
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} ..."
