"""Errors that a user can fix."""

import difflib
import errno
from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can fix. The message names the cause and the remedy.

    `main.py` prints it as one line, without a traceback, and exits with status 2.
    """


def is_disk_full(error: BaseException) -> bool:
    """Whether `error` reports a full disk: Python's own error, or one that TensorFlow's C++ code raised."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in str(error)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean ...?" with the known name that is most similar; "" if none is similar."""
    similar = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {similar[0]}?" if similar else ""
