"""How the process of the server allocates and returns memory."""

import ctypes
import os

_M_ARENA_MAX = -8  # malloc.h of glibc


def limit_arenas() -> bool:
    """Limits the areas in which glibc's malloc allocates to one for each core, and at least 2.

    By default glibc adds areas for new threads, up to eight for each core. Each keeps the memory that was freed in it,
    so what one request needed at its peak stays in many of them, and the memory of a server with many threads grows for
    hours. Call this before other threads start. The environment variable MALLOC_ARENA_MAX takes precedence.

    Returns:
        Whether the limit was set. It cannot be set with other C libraries.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    return bool(mallopt(_M_ARENA_MAX, max(2, os.cpu_count() or 1)))


def return_freed() -> None:
    """Gives memory that was freed back to the operating system.

    Loading and warming up a model needs several times the memory that its requests need later. What is freed then stays
    with glibc's malloc, between blocks that are in use. Other C libraries are left alone.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
