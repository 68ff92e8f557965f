"""Messages and progress bars. They go to stderr; stdout is for results."""

import contextlib
import contextvars
import sys
import warnings
from collections.abc import Callable, Iterator

from tqdm import TqdmWarning

with warnings.catch_warnings():
    warnings.simplefilter("ignore", TqdmWarning)  # in a notebook without ipywidgets, the bars are text
    from tqdm.auto import tqdm

_silent = contextvars.ContextVar("silent", default=False)
_forward: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar("forward", default=None)


def say(message: str) -> None:
    """Prints one line on stderr, above the progress bar if there is one."""
    if _silent.get():
        return
    forward = _forward.get()
    if forward:
        forward(message)
    else:
        tqdm.write(message, file=sys.stderr)


def bar(total: int | None, unit: str, description: str = "", initial: int = 0) -> tqdm:
    """Returns a progress bar with rate and remaining time.

    It is invisible where stderr is neither a terminal nor a notebook.
    """
    return tqdm(
        total=total,
        unit=f" {unit}",
        desc=description,
        initial=initial,
        file=sys.stderr,
        dynamic_ncols=True,
        leave=False,
        disable=_silent.get() or not (sys.stderr.isatty() or _in_notebook()),
        mininterval=0.2,
    )


@contextlib.contextmanager
def silence(silent: bool = True) -> Iterator[None]:
    """Prints no messages and progress bars in the block."""
    token = _silent.set(silent)
    try:
        yield
    finally:
        _silent.reset(token)


@contextlib.contextmanager
def forwarded(say: Callable[[str], None]) -> Iterator[None]:
    """Gives the messages of the block to `say` instead of printing them."""
    token = _forward.set(say)
    try:
        yield
    finally:
        _forward.reset(token)


def _in_notebook() -> bool:
    """Whether the process is the kernel of a Jupyter notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config
