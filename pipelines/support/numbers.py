"""Numbers and lists in sentences."""

from collections.abc import Collection

_MAX_NAMED = 10


def counted(number: int, noun: str) -> str:
    """Returns `1 trial`, `2 trials`, `1,200 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Collection[str]) -> str:
    """Returns the first names, and the number of the others, such as `a, b and 3 more`."""
    others = len(names) - _MAX_NAMED
    return ", ".join(list(names)[:_MAX_NAMED]) + (f" and {others:,} more" if others > 0 else "")
