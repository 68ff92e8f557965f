"""What a user can mend."""

import errno


class UserError(Exception):
    """A mistake that a user can mend: `main.py` prints its one line and ends with status 2, without a traceback.

    The message names the thing and the mend.
    """


def is_disk_full(error: BaseException) -> bool:
    """True where `error` says that the disk is full: Python's own error or one that TensorFlow's C++ raised."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in str(error)
