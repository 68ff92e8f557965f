"""What a person sees while something runs. All of it goes to stderr; stdout is for results."""

import sys

from tqdm import tqdm


def say(message: str) -> None:
    """One line on stderr, above a progress bar if there is one."""
    tqdm.write(message, file=sys.stderr)


def bar(total: int | None, unit: str, description: str = "", initial: int = 0) -> tqdm:
    """A progress bar with rate and time left on a terminal; silent where stderr is a file or a pipe."""
    return tqdm(
        total=total, unit=f" {unit}", desc=description, initial=initial, file=sys.stderr, dynamic_ncols=True, leave=False,
        disable=not sys.stderr.isatty(), mininterval=0.2,
    )  # fmt: skip
