"""Tables whose cells have types: JSON lines, Parquet and Excel. Every cell is read as str, as the file shows it."""

import io
import itertools
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipelines.data import encodings
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, TableOptions
from pipelines.support.errors import UserError


def json_lines(path: Path, rows: int, options: TableOptions) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads a file with one JSON object per line: see `tables.chunks`. Other lines are skipped."""
    file, encoding = encodings.open_text(path, options.encoding)
    columns: dict[str, None] = {}  # of all objects so far, in their order
    found, skipped = [], 0
    try:
        with io.TextIOWrapper(file, encoding, options.encoding_errors) as lines:
            for number, line in enumerate(lines, 1):
                row = _object(line)
                if row is None and number == 1:
                    raise UserError(
                        f'{path}: expected a JSON object on each line, such as {{"text": "...", "label": "..."}}'
                    )
                if row is None:
                    skipped += bool(line.strip())
                    continue
                columns |= dict.fromkeys(row)
                found.append(row)
                if len(found) == rows:
                    yield _frame(found, columns), skipped
                    found, skipped = [], 0
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(path, error) from error
    if found or skipped:
        yield _frame(found, columns), skipped


def parquet(path: Path, rows: int, options: TableOptions) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads a Parquet file: see `tables.chunks`."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows):
                yield _frame(_rows(batch, options), dict.fromkeys(batch.schema.names)), 0
    except pyarrow.ArrowException as error:
        raise UserError(f"{path} is damaged, or no Parquet file ({error}): get the file again") from error


def _rows(batch, options: TableOptions) -> list[dict]:
    """Returns the rows of a record batch. Not all programs that write Parquet check that strings are UTF-8."""
    import pyarrow

    try:
        return batch.to_pylist()
    except UnicodeDecodeError:
        errors = "replace" if options.encoding_errors == "strict" else options.encoding_errors
        columns = {}
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type):
                cells = values.cast(pyarrow.large_binary()).to_pylist()
                columns[name] = [None if cell is None else cell.decode("utf-8", errors) for cell in cells]
            else:
                columns[name] = values.to_pylist()
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def excel(path: Path, rows: int, options: TableOptions) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads the first sheet of an Excel file (.xlsx): see `tables.chunks`."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise UserError(
            f"{path} is damaged, or no Excel file (.xlsx): get the file again, or save it as CSV"
        ) from error
    try:
        cells = book.worksheets[0].iter_rows(values_only=True)
        first = next(cells, ())
        if not options.header:
            cells = itertools.chain([first], cells)
        header = [_shown(name) if options.header else str(i) for i, name in enumerate(first, 1)]
        found = []
        for row in cells:
            if any(cell is not None for cell in row):
                found.append(dict(zip(header, row, strict=False)))
            if len(found) == rows:
                yield _frame(found, dict.fromkeys(header)), 0
                found = []
        yield _frame(found, dict.fromkeys(header)), 0
    finally:
        book.close()


def _object(line: str) -> dict | None:
    """Returns the JSON object of a line; None if it is something else. Fractions stay as spelled; NaN is missing."""
    try:
        value = json.loads(line, parse_float=str, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _frame(rows: list[dict], columns: dict[str, None]) -> pd.DataFrame:
    cells = [{name: _shown(value) for name, value in row.items()} for row in rows]
    return pd.DataFrame(cells, columns=list(columns), dtype=object).fillna("")


def _shown(value) -> str:
    """Returns a cell as text: a missing value is empty, true and false are in lower case, 3.0 of Excel is 3.

    A list has | between its values.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return DEFAULT_LABELS_SEPARATOR.join(map(_shown, value))
    return value if isinstance(value, str) else str(value)
