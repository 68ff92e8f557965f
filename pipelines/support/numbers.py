"""Numbers and lists in sentences."""

from collections.abc import Collection

_MAX_NAMED = 10
_SHORT = 60  # seconds; a shorter time is not worth a forecast


def counted(number: int, noun: str) -> str:
    """Returns `1 trial`, `2 trials`, `1,200 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def minutes(seconds: float) -> str:
    """Returns the time of a forecast, such as `3 min`; "" up to one minute."""
    return f"{round(seconds / 60):,} min" if seconds > _SHORT else ""


def listed(names: Collection[str]) -> str:
    """Returns the first names, and the number of the others, such as `a, b and 3 more`."""
    others = len(names) - _MAX_NAMED
    return ", ".join(list(names)[:_MAX_NAMED]) + (f" and {others:,} more" if others > 0 else "")
