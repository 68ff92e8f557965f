"""What the server takes from a model_card.json: only words for people, so a wrong card is as good as none."""

import json
import math
from pathlib import Path
from typing import NamedTuple

CARD = "model_card.json"
_MAX_BYTES = 1_000_000
_MAX_EXAMPLE = 300  # characters


class Words(NamedTuple):
    """What the live page says about a model.

    Attributes:
        class_names: the names of a classifier's classes in the order of its probabilities.
        example: a text to try; "" if the card has none.
        example_row: a row to try of a model of several columns: column -> cell; {} if the card has none.
        generation: option of generation -> its default.
    """

    class_names: tuple[str, ...] = ()
    example: str = ""
    example_row: dict[str, str | float] = {}
    generation: dict[str, str | float] = {}


def read(folder: Path) -> Words:
    """Returns the words of the card; those that it does not have, or not in their form, are empty.

    Args:
        folder: of the version.
    """
    try:
        path = folder / CARD
        if path.stat().st_size > _MAX_BYTES:
            return Words()
        card = json.loads(path.read_text(encoding="utf-8"))
        names, example, row, options = (
            card.get(field) for field in ("classes", "example_text", "example_row", "generation_defaults")
        )
    except (OSError, ValueError, AttributeError, RecursionError):
        return Words()
    are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return Words(
        tuple(names) if are_names else (),
        example[:_MAX_EXAMPLE] if isinstance(example, str) else "",
        _cells(row) if isinstance(row, dict) else {},
        _cells(options) if isinstance(options, dict) else {},
    )


def _cells(row: dict) -> dict[str, str | float]:
    texts = {name: cell[:_MAX_EXAMPLE] for name, cell in row.items() if isinstance(cell, str)}
    numbers = {name: cell for name, cell in row.items() if type(cell) in (int, float) and math.isfinite(cell)}
    return texts | numbers
