"""Limits the threads of NumPy's and SciPy's matrix products."""

import contextlib
import functools

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    """The libraries that are loaded; to find them takes some milliseconds."""
    return ThreadpoolController()


def one_thread() -> contextlib.AbstractContextManager:
    """Within the block, matrix products have one thread.

    OpenBLAS starts one for each core that it sees, and they wait for each other by spinning. For a solver, which
    computes thousands of small products, that takes many times as long as the products where other programs use the
    cores, or where a container may use few of them.
    """
    return _controller().limit(limits=1, user_api="blas")
