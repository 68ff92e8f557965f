"""Parquet files and Excel sheets, made from the lines of JSON of the same rows."""

import datetime
import io
import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from pipelines.data import cells
from pipelines.support.errors import UserError

_BATCH = 10_000  # rows in memory
MAX_SHEET_ROWS, MAX_CELL = 1_048_576, 32_767  # of Excel; characters of a cell
_DAY, _DAY_AND_TIME = "mm-dd-yy", "m/d/yy h:mm"  # the two formats of Excel that follow the user's language
Write = Callable[[BinaryIO, BinaryIO], None]


def converted(write: Write, content: bytes) -> bytes:
    """Returns lines of JSON in another form."""
    target = io.BytesIO()
    write(io.BytesIO(content), target)
    return target.getvalue()


def convert_in_place(write: Write, file: BinaryIO) -> None:
    """Replaces the lines of JSON in an open file by the same rows in another form."""
    with tempfile.TemporaryFile() as lines:
        file.seek(0)
        shutil.copyfileobj(file, lines)
        lines.seek(0)
        file.seek(0)
        file.truncate()
        write(lines, file)


def write_parquet(columns: Sequence[str], source: BinaryIO, target: BinaryIO) -> None:
    """Writes a Parquet file: numbers as numbers, dates as dates, texts as texts; a column of several kinds is text.

    Args:
        columns: of the rows, in order.
        source: lines of JSON, an object each.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds: dict[str, set[type]] = {name: set() for name in columns}
    for row in _rows(source):
        for name, value in row.items():
            if value is not None:
                kinds[name].add(type(value))
    typed = {frozenset([bool]): pa.bool_(), frozenset([int]): pa.int64(), frozenset([float]): pa.float64()}
    typed[frozenset([int, float])] = pa.float64()
    typed[frozenset([datetime.datetime])] = pa.timestamp("us")
    types = {name: typed.get(frozenset(found), pa.string()) for name, found in kinds.items()}
    schema = pa.schema(list(types.items()))
    source.seek(0)
    rows = _rows(source)
    with pq.ParquetWriter(target, schema) as writer:
        while batch := list(itertools.islice(rows, _BATCH)):
            values = {
                name: [_text(row.get(name)) if kind == pa.string() else row.get(name) for row in batch]
                for name, kind in types.items()
            }
            writer.write_table(pa.table(values, schema=schema))


def write_sheet(columns: Sequence[str], source: BinaryIO, target: BinaryIO) -> None:
    """Writes an Excel sheet. Texts are written as texts, also those that begin with "=", which would be formulas.

    Dates have the format that Excel shows as those of the user's language.

    Args:
        columns: of the rows, in order.
        source: lines of JSON, an object each.

    Raises:
        UserError: there are more rows, or longer cells, than a sheet may have.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    _check_sheet(source)  # before: an abandoned sheet of openpyxl cannot be closed
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell(value: Any):
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, datetime.datetime):
            made = WriteOnlyCell(sheet, value)
            made.number_format = _DAY if value.time() == datetime.time() else _DAY_AND_TIME
            return made
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", _text(value) or ""))
        made.data_type = "s"
        return made

    sheet.append(list(map(cell, columns)))
    for row in _rows(source):
        sheet.append([cell(row.get(name)) for name in columns])
    book.save(target)


WRITERS: Mapping[str, Callable[[Sequence[str], BinaryIO, BinaryIO], None]] = {
    ".parquet": write_parquet,
    ".xlsx": write_sheet,
}


def _check_sheet(source: BinaryIO) -> None:
    """Raises a UserError if a sheet cannot have the rows; leaves the file at its start."""
    for number, row in enumerate(_rows(source), 1):
        if number >= MAX_SHEET_ROWS:
            raise UserError(f"an .xlsx sheet has at most {MAX_SHEET_ROWS:,} rows: write .csv or .parquet")
        for name, value in row.items():
            size = len(_text(value) or "")
            if size > MAX_CELL:
                raise UserError(
                    f"row {number:,}: the cell of {name!r} has {size:,} characters, and in .xlsx a cell has at most "
                    f"{MAX_CELL:,}: write .csv or .parquet"
                )
    source.seek(0)


def _rows(source: BinaryIO) -> Iterator[dict[str, Any]]:
    return (json.loads(line, object_hook=cells.from_json) for line in source)


def _text(value: Any) -> str | None:
    """Returns a value as text: what is no text, such as a list, as JSON."""
    if isinstance(value, datetime.datetime):
        return cells.shown(value)
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
