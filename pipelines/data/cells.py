"""Cells of tables: each is a str, which shows what the file has; those of typed files also remember their value."""

import datetime
import math
from typing import Any

from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR


class TypedCell(str):
    """A cell of a file whose cells have types, as text.

    Attributes:
        value: the cell in the file: a number, true or false, a list, an object, a date, or None.
    """

    __slots__ = ("value",)

    def __new__(cls, text: str, value=None):
        """Returns a cell that is equal to `text`."""
        cell = super().__new__(cls, text)
        cell.value = value
        return cell


class MissingCell(str):
    """The empty cell of a row that does not have the column."""

    __slots__ = ()


class Fraction(float):
    """A number with a point or an exponent, which is shown as the file spells it."""

    __slots__ = ("spelling",)

    def __new__(cls, spelling: str):
        """Returns the number that `spelling` states."""
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number

    def __repr__(self) -> str:
        return self.spelling

    def __reduce__(self):
        return Fraction, (self.spelling,)


MISSING = MissingCell()
_DATE = "date of a typed file"  # the key of an object of JSON that stands for a date


def parse_fraction(spelling: str) -> Fraction | str:
    """Returns the number, or its spelling if it is too large for a float: JSON has no infinity."""
    number = Fraction(spelling)
    return number if math.isfinite(number) else spelling


def to_cell(value) -> str:
    """Returns a value of a typed file as a cell: a str, or a `TypedCell` for anything else."""
    return value if isinstance(value, str) else TypedCell(shown(value), value)


def shown(value) -> str:
    """Returns a cell as text: a missing value is empty, true and false are in lower case, 3.0 of Excel is 3.

    A list has | between its values.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and not isinstance(value, Fraction):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return DEFAULT_LABELS_SEPARATOR.join(map(shown, value))
    return value if isinstance(value, str) else str(value)


def to_json(value, keeps_dates: bool = False):
    """Returns a cell, or a value in one, as JSON has it. What JSON has no type for, such as a date, is text.

    Args:
        keeps_dates: whether to write a date as an object, which `from_json` turns back into a date; else it is text.
    """
    if isinstance(value, TypedCell):
        value = value.value
        if keeps_dates and isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None:
            return {_DATE: value.isoformat()}
        return to_json(value)
    if isinstance(value, dict):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return shown(value)


def from_json(value: dict[str, Any]) -> dict[str, Any] | datetime.datetime:
    """Returns the date that an object of JSON stands for (see `to_json`); any other object stays."""
    return datetime.datetime.fromisoformat(value[_DATE]) if value.keys() == {_DATE} else value
