"""The texts of files of any size, in chunks."""

import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipelines.data import encodings, fields, tables
from pipelines.data.table_options import TableOptions
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

# A file is read in chunks, so that it may be larger than memory.
CHUNK_ROWS = 2000  # of a table
CHUNK_BYTES = 2**22  # of lines


class Chunk(NamedTuple):
    """A part of a file.

    Attributes:
        rows: its rows with all their columns.
        column: name of the column with the text.
        num_skipped: number of rows that could not be read.
        composed: for a model of several columns, of which `column` is the first one: the texts, with the index of
            `rows`. It may have more rows than `rows`.
    """

    rows: pd.DataFrame
    column: str
    num_skipped: int
    composed: pd.Series | None = None

    def texts(self) -> list[str]:
        """Returns the text of each row: of several columns, they are one text."""
        texts = self.rows[self.column] if self.composed is None else self.composed.loc[self.rows.index]
        return texts.tolist()


class Columns(NamedTuple):
    """The columns of the first one of several files.

    Attributes:
        names: in their order.
        text: name of the column with the text.
        path: of the file.
    """

    names: list[str]
    text: str
    path: str


def read(source: Data, options: TableOptions) -> Iterator[Chunk]:
    """Yields the rows of all files. Those of further files have the columns of the first one, in its order.

    Args:
        source: a table (see data/tables.py), or several with the same columns; a file of any other name has one text
            per line; "-" is stdin, one text per line.
        options: how to read a table.

    Raises:
        UserError: a file does not exist, is empty, or cannot be read.
    """
    first = None
    for path in paths.each(source):
        for chunk in read_file(path, options, first):
            first = first or Columns(list(chunk.rows), chunk.column, path)
            yield chunk


def read_file(
    source: str, options: TableOptions, first: Columns | None = None, max_lines: int | None = None
) -> Iterator[Chunk]:
    """Yields the rows of one file.

    Args:
        source: path of a file, or "-".
        options: how to read a table.
        first: columns of the first one of several files. This file must have them, too; they get their order.
        max_lines: of a chunk of a file that is no table. By default as many as have about CHUNK_BYTES.

    Raises:
        UserError: the file does not exist, is empty, cannot be read, or has other columns.
    """
    for chunk in _read_file(source, options, max_lines):
        if first is None or source == first.path:
            yield chunk
        else:
            tables.check_columns(Path(source), chunk.rows, Path(first.path), first.names)
            yield chunk._replace(rows=chunk.rows[first.names], column=first.text)


def _read_file(source: str, options: TableOptions, max_lines: int | None) -> Iterator[Chunk]:
    path = Path(source)
    if source != "-":
        if not path.is_file() and not tables.is_table(path):
            raise UserError(f"no such file: {source}")
        if path.stat().st_size == 0:
            raise UserError(f"{source} is empty")
    if source != "-" and tables.is_table(path):
        first_rows = tables.columns(path, options)
        if options.fields:
            fields.check(path, first_rows, fields.columns_of(options.fields))
            column = tables.text_columns(path, first_rows, options)[0]
        else:
            column = tables.text_column(path, first_rows, options)
        names = tables.all_names(path, options)  # all chunks have the same columns
        for rows, left_out in tables.named_chunks(path, CHUNK_ROWS, options, names):
            if len(rows):
                composed = None
                if options.fields:
                    composed = pd.Series(fields.composed(options.fields, rows, path), rows.index, object)
                yield Chunk(rows, column, sum(left_out.values()), composed)
        return
    if options.fields:
        names = ", ".join(fields.columns_of(options.fields))
        raise UserError(f"{source} is no table: the model reads the columns {names}: give a .csv, .tsv or .jsonl file")
    if options.text_column or options.separator or options.quote is not None or not options.header:
        raise UserError(
            f"--text-column, --separator, --quote and --no-header have no effect: {source} has no columns, it is read "
            "line by line"
        )
    with encodings.reading(path):
        yield from _read_lines(path, options, max_lines)


def _read_lines(path: Path, options: TableOptions, max_lines: int | None) -> Iterator[Chunk]:
    is_stdin = str(path) == "-"
    if is_stdin:
        file, encoding = sys.stdin.buffer, options.encoding or "utf-8-sig"
    else:
        file, encoding = encodings.open_text(path, options.encoding)
    lines = io.TextIOWrapper(file, encoding, options.encoding_errors, newline="\n")
    try:
        while texts := list(itertools.islice(lines, max_lines)) if max_lines else lines.readlines(CHUNK_BYTES):
            yield Chunk(pd.DataFrame({"text": [line.rstrip("\r\n") for line in texts]}, dtype=object), "text", 0)
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(path, error) from error
    finally:
        lines.detach() if is_stdin else lines.close()  # stdin stays open
