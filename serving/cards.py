"""What the server takes from a model_card.json: only names for people, so a wrong card is as good as none."""

import json
from pathlib import Path

CARD = "model_card.json"
_MAX_BYTES = 1_000_000


def class_names(folder: Path) -> tuple[str, ...]:
    """Returns the names of a classifier's classes in the order of its probabilities, or () if its card has none.

    Args:
        folder: of the version.
    """
    try:
        path = folder / CARD
        if path.stat().st_size > _MAX_BYTES:
            return ()
        names = json.loads(path.read_text(encoding="utf-8"))["classes"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    is_usable = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_usable else ()
