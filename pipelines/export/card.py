"""The model card, model_card.json: what users of an export need to know about it."""

import typing
from pathlib import Path
from typing import Any

from pipelines.settings.config import TrainingConfig
from pipelines.support.errors import UserError
from pipelines.support.files import read_json
from pipelines.support.run_result import FACTS, RunResult

CARD = "model_card.json"
_REMEDY = "train the model again"

_FIELDS = [
    "schema",
    "run",
    "task",
    "sample",
    "data",
    "rows",
    "notes",
    "vocabulary_size",
    "parameters",
    "precision",
    "scores",
    "versions",
]


def make_card(result: RunResult, config: TrainingConfig) -> dict:
    """Returns the card of a run's export, without paths of the machine; it has one validation text at most."""
    values = vars(result)
    settings = {name: value for name, value in result.config.items() if name not in ("data", *config.data_files())}
    for field, handle in config.module_handles().items():
        if "://" not in handle:
            settings[field] = Path(handle).name
    kept = {name: values[name] for name in _FIELDS if values[name] is not None}
    hidden = ("example_text", "example_row") if config.no_example_text else ()
    about = {name: value for name, value in result.about.items() if name not in hidden}
    return kept | about | {"config": settings}


class Card(dict):
    """A model card that was read. A field that is missing is a mistake of the file: a UserError."""

    def __init__(self, values: dict[str, Any], path: Path):
        super().__init__(values)
        self._path = path

    def __missing__(self, name: str):
        raise UserError(f"{self._path} is damaged, or of another version of Unroll (it has no {name!r}): {_REMEDY}")


def read_card(folder: Path) -> Card:
    """Reads the card of an export.

    Args:
        folder: of a version.

    Raises:
        UserError: there is no card, it is damaged, or a field has a value of another type.
    """
    path = folder / CARD
    try:
        values = read_json(path)
    except FileNotFoundError as error:
        raise UserError(f"{folder} has no {CARD}: it is no export of Unroll, or it is damaged: {_REMEDY}") from error
    except (OSError, ValueError, RecursionError) as error:  # no file, no JSON, no UTF-8
        raise UserError(f"{path} is damaged ({error}): {_REMEDY}") from error
    odd = "it is no JSON object" if not isinstance(values, dict) else _odd_field(values)
    if odd:
        raise UserError(f"{path} is damaged, or of another program ({odd}): {_REMEDY}")
    nested = {name: Card(values[name], path) for name in ("config", "generation_defaults") if values.get(name)}
    return Card(values | nested, path)


def _odd_field(values: dict[str, Any]) -> str | None:
    """Returns what is wrong with the types of a card; None if nothing is."""
    hints = {name: hint for name, hint in typing.get_type_hints(RunResult).items() if name in (*_FIELDS, "config")}
    odd = next(
        (name for name, hint in (hints | FACTS).items() if name in values and not _fits(values[name], hint)), None
    )
    return odd and f"{odd!r} has a value of another type"


def _fits(value, hint) -> bool:
    """Returns whether a value of JSON has the type of a field."""
    if hint is Any:
        return True
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(each, members[1]) for each in value.values())
    if origin is list:
        return isinstance(value, list) and all(_fits(each, members[0]) for each in value)
    if members:
        return any(_fits(value, each) for each in members)
    if hint in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if hint is float else hint)
