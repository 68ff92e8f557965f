"""Messages and progress bars. They go to stderr; stdout is for results."""

import sys

from tqdm import tqdm


def say(message: str) -> None:
    """Prints one line on stderr, above the progress bar if there is one."""
    tqdm.write(message, file=sys.stderr)


def bar(total: int | None, unit: str, description: str = "", initial: int = 0) -> tqdm:
    """Returns a progress bar with rate and remaining time. It is invisible where stderr is not a terminal."""
    return tqdm(
        total=total,
        unit=f" {unit}",
        desc=description,
        initial=initial,
        file=sys.stderr,
        dynamic_ncols=True,
        leave=False,
        disable=not sys.stderr.isatty(),
        mininterval=0.2,
    )
