"""The errors of the Python interface."""

import contextlib
from collections.abc import Iterator

from pipelines.support import errors


class UserError(errors.UserError, ValueError):
    """A mistake that the user can fix. Its message is one line that names the cause and the remedy."""


UserError.__module__ = "unroll"  # where users find it, and what a traceback shows


@contextlib.contextmanager
def user_errors(names: dict[str, str] | None = None) -> Iterator[None]:
    """Raises a user error of the block, or a full disk, as the `UserError` of the Python interface.

    Args:
        names: text -> its replacement in the message, such as the path of a temporary file -> "the data".
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if not isinstance(error, errors.UserError) and not errors.is_disk_full(error):
            raise
        message = str(error) if isinstance(error, errors.UserError) else "the disk is full: free some space"
        for text, name in (names or {}).items():
            message = message.replace(text, name)
        raise UserError(message) from None
