"""The errors of the Python interface."""

import contextlib
from collections.abc import Iterator

from pipelines.support import errors


class UserError(errors.UserError, ValueError):
    """A mistake that the user can fix. Its message is one line that names the cause and the remedy."""


UserError.__module__ = "unroll"  # where users find it, and what a traceback shows


@contextlib.contextmanager
def user_errors(names: dict[str, str] | None = None) -> Iterator[None]:
    """Raises a mistake that the user can fix as the `UserError` of the Python interface.

    It is a user error of the block, a full disk, or a name that is too long for a file.

    Args:
        names: text -> its replacement in the message, such as the path of a temporary file -> "the data".
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        for text, name in (names or {}).items():
            message = message.replace(text, name)
        raise UserError(message) from None


def _message(error: Exception) -> str | None:
    """Returns the line for a mistake that the user can fix; None for another error."""
    if isinstance(error, errors.UserError):
        return str(error)
    return "the disk is full: free some space" if errors.is_disk_full(error) else errors.too_long_name(error)
