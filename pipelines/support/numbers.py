"""Numbers in sentences."""


def counted(number: int, noun: str) -> str:
    """Returns `1 trial`, `2 trials`, `1,200 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
