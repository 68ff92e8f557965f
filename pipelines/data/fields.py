"""Several columns as one text: what a model of several columns reads.

Each column is a field of the text. Fields are divided by FIELD_MARK, so that a model can tell them apart. A number
becomes words, one for each limit that it reaches, so that a model of words knows which of two numbers is larger.
"""

import dataclasses
import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipelines.data import pair_fields
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support.errors import UserError, suggestion
from pipelines.text.invisible import is_blank
from pipelines.text.special_tokens import FIELD_MARK

TEXT, NUMBER = "text", "number"
_MAX_LIMITS = 20
_MAX_COLUMNS = 200  # each is an input of the export
BETWEEN = f" {FIELD_MARK} "  # two fields
MISSING, _BELOW = "missing", "below"  # words of a number
_MIN_DIFFERENT = 3  # numbers of a column of numbers; fewer are names


@dataclasses.dataclass(frozen=True)
class Field:
    """A column that a model reads.

    Attributes:
        name: of the column, and of the input of the export.
        kind: TEXT or NUMBER; or, of a pair of texts, one of `pair_fields`, which no column has.
        limits: of a number, ascending, float32.
        is_read: whether the column itself is a field of the text.
    """

    name: str
    kind: str = TEXT
    limits: tuple[float, ...] = ()
    is_read: bool = True

    @property
    def is_column(self) -> bool:
        """Whether it is a column, and an input of the export."""
        return self.kind in (TEXT, NUMBER)

    @property
    def input(self) -> str:
        """The name of the input of the export: that of the column, with _ for what no name of an input may have."""
        return re.sub(r"\W", "_", self.name, flags=re.ASCII).strip("_") or "column"

    def to_json(self) -> dict:
        """Returns what the model card has."""
        return {**dataclasses.asdict(self), "input": self.input}

    def words(self) -> list[str]:
        """Returns the words of numbers: those below all limits, those that reach one limit, two limits, ..."""
        names = [f"n{chr(ord('a') + i)}" for i in range(len(self.limits))]
        return [_BELOW, *(" ".join(names[: i + 1]) for i in range(len(names)))]

    def ranges(self) -> list[str]:
        """Returns what `words` and, as the last one, MISSING mean: "price < 2", "price >= 2", ..., "price missing"."""
        limits = [f"{limit:.6g}" for limit in self.limits]
        reached = [f"{self.name} >= {limit}" for limit in limits]
        return [f"{self.name} < {limits[0]}", *reached, f"{self.name} {MISSING}"]


class ComposedText(str):
    """A text that is made of columns which it does not have itself.

    Attributes:
        cells: the columns: name -> cell.
    """

    __slots__ = ("cells",)

    def __new__(cls, text: str, cells: dict[str, str] | None = None):
        """Returns a text that is equal to `text`."""
        composed = super().__new__(cls, text)
        composed.cells = cells or {}
        return composed


def of_table(
    path, table: pd.DataFrame, texts: Sequence[str], features: Sequence[str], options: TableOptions = DEFAULTS
) -> tuple[Field, ...]:
    """Returns the fields of a training table.

    Args:
        path: for messages.
        texts: columns of --text-column.
        features: columns of --feature-column. One whose cells are all numbers is one of numbers.
        options: whether the texts are a pair.

    Raises:
        UserError: the table has no such column, or one is named twice.
    """
    names = [*texts, *features]
    check(path, table, names)
    if len(names) > _MAX_COLUMNS:
        raise UserError(f"--text-column and --feature-column name {len(names):,} columns: name at most {_MAX_COLUMNS}")
    if len(set(names)) < len(names):
        raise UserError(f"--text-column and --feature-column name {_repeated(names)!r} twice: name each column once")
    read = [Field(name) for name in texts]
    if options.pair_columns:
        first, second = options.pair_columns
        read = list(of_pair(first, second, options.is_symmetric))
    found = (*read, *(_of_feature(name, table[name]) for name in features))
    inputs = [field.input for field in found if field.is_column]
    if len(set(inputs)) < len(inputs):
        raise UserError(
            f"{path}: two columns have names that only signs tell apart ({_repeated(inputs)!r}): rename one"
        )
    return found


def of_pair(first: str, second: str, is_symmetric: bool) -> tuple[Field, ...]:
    """Returns the fields of two columns: both texts and what they have in common; of a symmetric pair the latter."""
    kinds = pair_fields.SYMMETRIC if is_symmetric else pair_fields.DIRECTED
    limits = {pair_fields.SHARED: pair_fields.LIMITS}
    derived = [Field(kind, kind, limits.get(kind, ())) for kind in kinds]
    return (*(Field(name, is_read=not is_symmetric) for name in (first, second)), *derived)


def columns_of(fields: Sequence[Field]) -> list[str]:
    """Returns the names of the columns."""
    return [field.name for field in fields if field.is_column]


def read_fields(fields: Sequence[Field]) -> list[Field]:
    """Returns the fields that the text has, in its order."""
    return [field for field in fields if field.is_read]


def readable(fields: Sequence[Field], texts: Sequence[str]) -> list[str]:
    """Returns composed texts for people: fields with their names, numbers as the highest limit that they reach.

    What two texts have in common is only there where the texts themselves are not known. Without fields, texts stay.
    """
    read = read_fields(fields)

    def readable_text(text):
        if isinstance(text, ComposedText):
            return "; ".join(f"{name}: {cell}" for name, cell in text.cells.items())
        return _readable(read, text) if fields else text

    return [readable_text(text) for text in texts]


def cells_of(fields: Sequence[Field], text: str) -> dict[str, str | float]:
    """Returns the columns of a composed text, as far as it has or remembers them: name -> cell.

    A number is one that the model reads in the same way; one that is missing is left out.
    """
    cells: dict[str, str | float] = dict(text.cells) if isinstance(text, ComposedText) else {}
    for field, part in zip(read_fields(fields), text.split(BETWEEN), strict=True):
        if field.kind == TEXT:
            cells[field.name] = part
        elif field.kind == NUMBER and part != MISSING:
            cells[field.name] = _short_number(field.limits, field.words().index(part))
    return cells


def _short_number(limits: Sequence[float], reached: int) -> float:
    """Returns a number that is at least as large as the first `reached` limits and below the next one.

    Of such numbers, it is one with few digits: it is an example for people.
    """
    if not reached:
        return limits[0] - 1.0
    low, high = (*limits, math.inf)[reached - 1 : reached + 1]
    rounded = (float(f"{low:.{digits}g}") for digits in range(1, 9))
    return next((number for number in rounded if low <= number < high), low)


def _readable(read: Sequence[Field], text: str) -> str:
    has_columns = any(field.is_column for field in read)
    shown = []
    for field, part in zip(read, text.split(BETWEEN), strict=True):
        if field.is_column or not has_columns:
            ranges = dict(zip([*field.words(), MISSING], field.ranges(), strict=True)) if field.limits else {}
            shown.append(ranges.get(part, f"{field.name}: {part}"))
    return "; ".join(shown)


def check(path, table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raises a UserError if the table lacks a column."""
    missing = [name for name in names if name not in table]
    if missing:
        known = [str(name) for name in table.columns]
        like = suggestion(missing[0], known)
        raise UserError(f"{path} has no column {missing[0]!r}; its columns are: {', '.join(known)}{like}")


def composed(fields: Sequence[Field], table: pd.DataFrame, path="") -> np.ndarray:
    """Returns the text of each row, object [n] of str. It remembers the columns that it does not have, for `readable`.

    Raises:
        UserError: a cell of a column of numbers is no number.
    """
    first, second = (_of_texts(table[field.name]) for field in fields[:2]) if _is_pair(fields) else ((), ())
    pairs = [pair_fields.compared(*pair) for pair in zip(first, second, strict=True)]
    columns = []
    for field in fields:
        if field.kind == NUMBER:
            columns.append(_words_of([_number(cell, field, path) for cell in table[field.name]], field))
        elif field.kind == pair_fields.SHARED:
            columns.append(_words_of([each[field.kind] for each in pairs], field))
        elif not field.is_column:
            columns.append([str(each[field.kind]) for each in pairs])
        elif field.is_read:
            columns.append(_of_texts(table[field.name]))
    rows = zip(*columns, strict=True)
    return _with_unread(fields, table, np.fromiter(map(BETWEEN.join, rows), object, len(table)))


def _with_unread(fields: Sequence[Field], table: pd.DataFrame, texts: np.ndarray) -> np.ndarray:
    unread = [field.name for field in fields if not field.is_read]
    if not unread:
        return texts
    cells = zip(*(_of_texts(table[name]) for name in unread), strict=True)
    remembered = (dict(zip(unread, each, strict=True)) for each in cells)
    return np.fromiter(map(ComposedText, texts, remembered), object, len(texts))


def without_side(fields: Sequence[Field], table: pd.DataFrame) -> np.ndarray:
    """Returns which rows are a pair with an empty side, bool [n]: there is nothing to compare."""
    if not _is_pair(fields):
        return np.zeros(len(table), bool)
    sides = [[is_blank(text) for text in _of_texts(table[field.name])] for field in fields[:2]]
    return np.any(sides, axis=0)


def has_empty_side(fields: Sequence[Field], text: str) -> bool:
    """Whether a composed text is a pair with an empty side."""
    if not _is_pair(fields):
        return False
    cells = cells_of(fields, text)
    return any(is_blank(str(cells[field.name])) for field in fields[:2] if field.name in cells)


def without_order(fields: Sequence[Field], texts: np.ndarray) -> np.ndarray:
    """Returns what is equal for pairs of the same two texts in either order, object [n] of str; other texts stay."""
    if not _is_pair(fields) or not fields[0].is_read:  # a symmetric pair has no order
        return texts
    sides = (sorted(text.split(BETWEEN, 2)[:2]) for text in texts)
    return np.fromiter(map(BETWEEN.join, sides), object, len(texts))


def of_cells(fields: Sequence[Field], cells: Sequence[str], path="the command line") -> list[str]:
    """Returns the texts of cells that follow each other: those of the first row, of the second row, ...

    Args:
        path: for messages.

    Raises:
        UserError: the last row has too few, or one of a column of numbers is no number.
    """
    return composed(fields, _table_of(columns_of(fields), cells), path).tolist()


def values_of_cells(fields: Sequence[Field], cells: Sequence[str], path="the command line") -> list[list]:
    """Returns the values of each column, str or float (NaN is missing); for the arguments and errors see `of_cells`.

    Args:
        fields: columns alone.
    """
    table = _table_of(columns_of(fields), cells)
    return [
        [_number(cell, field, path) if field.kind == NUMBER else cell for cell in table[field.name]] for field in fields
    ]


def _table_of(names: list[str], cells: Sequence[str]) -> pd.DataFrame:
    if len(cells) % len(names):
        raise UserError(
            f"the model reads {len(names)} columns, {', '.join(names)}: give a text for each, in this order"
        )
    rows = [cells[i : i + len(names)] for i in range(0, len(cells), len(names))]
    return pd.DataFrame(rows, columns=names, dtype=object)


def from_card(columns: Sequence[dict] | None) -> tuple[Field, ...]:
    """Returns the fields in a model card; () of a model of one text."""
    return tuple(Field(each["name"], each["kind"], tuple(each["limits"]), each["is_read"]) for each in columns or ())


def _of_texts(cells: pd.Series) -> list[str]:
    return [cell.replace(FIELD_MARK, " ") for cell in cells]


def _is_pair(fields: Sequence[Field]) -> bool:
    return not all(field.is_column for field in fields)


def _words_of(numbers: Sequence[float], field: Field) -> list[str]:
    values = _float32(numbers)
    words, index = field.words(), np.searchsorted(np.array(field.limits, np.float32), values, side="right")
    return [MISSING if np.isnan(value) else words[i] for value, i in zip(values, index, strict=True)]


def _number(cell: str, field: Field, path) -> float:
    if not cell.strip():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise UserError(
            f"{path}: the column {field.name!r} has numbers, and one cell is {cell[:40]!r}: write it as a number, or "
            "leave it empty"
        ) from None


def _float32(numbers: Sequence[float]) -> np.ndarray:
    """Returns the numbers as the export takes them; those that are too large are infinite."""
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float32)


def _of_feature(name: str, cells: pd.Series) -> Field:
    try:
        numbers = _float32([float(cell) for cell in cells if cell.strip()])
    except ValueError:
        return Field(name)
    numbers = numbers[np.isfinite(numbers)]
    different = np.unique(numbers)
    if len(different) < _MIN_DIFFERENT:
        return Field(name)
    if len(different) <= _MAX_LIMITS:
        limits = different
    else:
        limits = np.unique(np.quantile(numbers, np.arange(1, _MAX_LIMITS + 1) / (_MAX_LIMITS + 1)).astype(np.float32))
    return Field(name, NUMBER, tuple(map(float, limits)))


def _repeated(names: list[str]) -> str:
    return next(name for i, name in enumerate(names) if name in names[:i])
