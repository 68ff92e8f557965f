"""Errors that a user can fix."""

import difflib
import errno
from collections.abc import Iterable

_MAX_NAME = 60  # characters of a name that is too long, in a message


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
    """Returns "; did you mean ...?" with the known name that is most similar; "" if none is similar."""
    similar = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {similar[0]}?" if similar else ""
