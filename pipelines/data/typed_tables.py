"""Tables whose cells have types: JSON lines and Parquet. For Excel see workbooks.py."""

import io
import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import encodings, table_rows
from pipelines.data.cells import parse_fraction
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import SURROGATES, Format, Row, without_surrogates
from pipelines.support.errors import UserError

NO_OBJECT = "the line is no JSON object"  # why a row is left out
_BATCH_ROWS = 1000
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def json_lines(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a file with one JSON object per line: see `tables.named_chunks`."""
    file, encoding = encodings.open_text(path, options.encoding)
    is_strict = options.encoding_errors == "strict"
    try:
        with io.TextIOWrapper(file, encoding, options.encoding_errors) as lines:
            for number, line in enumerate(lines, 1):
                row = _object(line, is_strict)
                if row is not None:
                    yield row
                elif number == 1:
                    raise UserError(
                        f'{path}: expected a JSON object on each line, such as {{"text": "...", "label": "..."}}'
                    )
                elif line.strip():
                    yield NO_OBJECT
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(path, error) from error


def parquet(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a Parquet file: see `tables.named_chunks`."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            table_rows.check_columns(path, columns)
            if len(set(columns)) < len(columns):
                raise UserError(f"{path} has several columns of one name: give each column another name")
            read = None if names is None else [name for name in columns if name in names]
            for batch in file.iter_batches(_BATCH_ROWS, columns=read):
                yield from batch_rows(batch, options)
    except (pyarrow.ArrowException, OSError) as error:
        if encodings.is_of_system(error):
            raise
        raise encodings.damaged(path, "no Parquet file", error) from error


def batch_rows(batch, options: TableOptions) -> list[dict]:
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


def _without_halves(value, in_cells: bool):
    """A value of JSON with U+FFFD in place of lone halves of pairs: in its keys and, if asked for, its cells."""
    if isinstance(value, dict):
        return {without_surrogates(name): _without_halves(cell, in_cells) for name, cell in value.items()}
    if isinstance(value, list):
        return [_without_halves(each, in_cells) for each in value]
    return without_surrogates(value) if in_cells and isinstance(value, str) else value


def _object(line: str, is_strict: bool) -> dict | None:
    """Returns the JSON object of a line; None if it is something else. Fractions stay as spelled; NaN is missing.

    Args:
        is_strict: whether its cells must be valid Unicode: programs that cut strings write lone halves of pairs.
    """
    try:
        value = json.loads(line, parse_float=parse_fraction, parse_constant=lambda name: None)
        if _HALF.search(line) or not is_strict and SURROGATES.search(line):
            value = _without_halves(value, is_strict)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


JSON_LINES = Format((".jsonl", ".ndjson"), json_lines, frozenset({"encoding"}), can_grow=True)
PARQUET = Format((".parquet",), parquet)
