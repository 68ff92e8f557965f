"""Rows of a table, one after the other, gathered to chunks of bounded size."""

import collections
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipelines.data.cells import MISSING, shown, to_cell
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

Row = dict[str, object] | str  # name of a column -> cell, or why a row is left out


class Format(NamedTuple):
    """A format of tables. `tables.FORMATS` lists them.

    Attributes:
        suffixes: of the names of its files, without that of a compression.
        rows: (path, options, names of the columns to read or None for all) -> the rows: see `tables.named_chunks`.
        options: the fields of `TableOptions` that it reads, of those that not every format does.
        can_grow: whether later rows can have other columns than the first ones.
        is_folder: whether a folder is a table of this format. None: its tables are files.
    """

    suffixes: tuple[str, ...]
    rows: Callable[[Path, TableOptions, Collection[str] | None], Iterator[Row]]
    options: frozenset[str] = frozenset()
    can_grow: bool = False
    is_folder: Callable[[Path], bool] | None = None


SURROGATES = re.compile("[\ud800-\udfff]")  # lone halves of pairs, and bytes that are in no encoding
TOO_DEEP = "a cell has lists in lists in lists"  # why a row is left out
MAX_COLUMNS = 2**15
_MAX_CELLS = 2**19  # of a chunk
_MAX_CHARACTERS = 2**24  # of a chunk


def header_names(cells: Iterable[object]) -> list[str]:
    """Returns a name for each column, from the cells of a header.

    An empty cell becomes `Unnamed: <index>`. A name that occurs again gets a number: text, text.1, text.2.
    """
    names: dict[str, None] = {}
    for i, cell in enumerate(cells):
        name = without_surrogates(shown(cell)) or f"Unnamed: {i}"
        spellings = (f"{name}.{number}" for number in range(1, i + 1))
        names[name if name not in names else next(each for each in spellings if each not in names)] = None
    return list(names)


def check_columns(path, names: Collection[str]) -> None:
    """Raises a UserError if a table has more columns than anybody reads."""
    if len(names) > MAX_COLUMNS:
        raise UserError(
            f"{path} has more than {MAX_COLUMNS:,} different names of columns: give a table with a name for each column"
        )


def chunks(
    path, rows: Iterable[Row], limit: int, names: Collection[str] | None = None
) -> Iterator[tuple[pd.DataFrame, dict[str, int]]]:
    """Yields (chunk of rows, every cell as str, reason -> number of rows that are left out in it).

    Args:
        path: of the table, for errors.
        limit: maximum number of rows per chunk. Rows with many or long cells come in smaller chunks.
        names: of the columns to read; None: all that rows have so far.

    Raises:
        UserError: there are more than MAX_COLUMNS columns.
    """
    columns = dict.fromkeys(names or ())
    found: list[dict[str, str]] = []
    left_out: collections.Counter = collections.Counter()
    characters = 0
    for row in rows:
        if isinstance(row, str):
            left_out[row] += 1
            continue
        # Rows that are left out after the last row of a chunk belong to it: it is complete when another row follows.
        if len(found) >= limit or characters >= _MAX_CHARACTERS or len(found) * len(columns) >= _MAX_CELLS:
            yield _frame(found, columns), dict(left_out)
            found, left_out, characters = [], collections.Counter(), 0
        wanted = row.items() if names is None else [(name, row[name]) for name in names if name in row]
        try:
            cells = {name: cell if isinstance(cell, str) else to_cell(cell) for name, cell in wanted}
        except RecursionError:
            left_out[TOO_DEEP] += 1
            continue
        if names is None and not cells.keys() <= columns.keys():
            columns |= dict.fromkeys(cells)
            check_columns(path, columns)
        found.append(cells)
        characters += sum(map(len, cells.values()))
    yield _frame(found, columns), dict(left_out)


def _frame(rows: list[dict[str, str]], columns: Collection[str]) -> pd.DataFrame:
    cells = np.array([[row.get(name, MISSING) for name in columns] for row in rows], object)  # [rows, columns]
    return pd.DataFrame(cells.reshape(len(rows), len(columns)), columns=list(columns), dtype=object)


def without_surrogates(text: str) -> str:
    """Returns a text with U+FFFD in place of what is not valid Unicode."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
