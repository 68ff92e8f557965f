"""CSV and TSV files, plain or compressed."""

import collections
import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import encodings, quotes, table_rows
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import Format, Row
from pipelines.support.errors import UserError

_USUAL_SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = tuple(_USUAL_SEPARATORS)
_OTHER_SEPARATORS = (",", ";", "\t", "|")
_START = 2**20  # characters by which the separator and the quotes are found
_MAX_SNIFFED_LINES = 20
# Why a row is left out.
TOO_MANY = "too many cells in the row"
TOO_FEW = "too few cells in the row"
OPEN_QUOTE = "a quote opens a cell and is not closed"


def rows(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a file, every cell as str, or why a row is left out: see `tables.named_chunks`.

    A row may lack its last cells where none of `names` is among them: without `names` they are empty.
    """
    if path.stat().st_size == 0:
        raise _empty(path)
    opened = {"encoding": options.encoding, "errors": options.encoding_errors, "newline": ""}
    start, is_cut = _start(path, opened)
    separator = options.separator or _separator(path, start, options.quote)
    quote = quotes.find(path, start, is_cut, separator) if options.quote is None else options.quote
    # Who gives --quote knows that the quotes are right.
    known = quotes.known_cells(path, start, separator, quote) if quote and options.quote is None else None
    with encodings.opened_text(path, **opened) as lines:
        records = quotes.Records(path, lines, separator, quote, known)
        columns = _columns(path, records, options, start, separator, quote)
        index = {name: i for i, name in enumerate(columns)}
        # The cell of the group may be missing: it is empty then.
        needed = [index[name] for name in names or () if name in index and name != options.group_column]
        num_needed = max(needed, default=-1) + 1
        num_read, problems, first = 0, collections.Counter(), None
        for cells in records:
            row = _row(cells, columns, num_needed)
            if row is None:
                continue
            if isinstance(row, str):
                problems[row] += 1
                first = first or f"line {records.number:,}{f' has {len(cells)} cells' if cells else ' is the first'}"
            else:
                num_read += 1
            yield row
    if problems and not num_read:
        raise _no_row(path, problems, len(columns), first, options)


def separator_of(path: Path, options: TableOptions) -> str:
    """Returns the character between the cells of a file.

    Raises:
        UserError: it cannot be read, or the separator cannot be found.
    """
    opened = {"encoding": options.encoding, "errors": options.encoding_errors, "newline": ""}
    return options.separator or _separator(path, _start(path, opened)[0], options.quote)


def _start(path: Path, opened: dict) -> tuple[str, bool]:
    """Returns the first whole lines of a file, and whether it has more."""
    with encodings.opened_text(path, **opened) as file:
        start = file.read(_START)
    is_cut = len(start) == _START
    return start[: start.rfind("\n") + 1] or start if is_cut else start, is_cut


def _row(cells: list[str] | None, columns: list[str], num_needed: int) -> Row | None:
    """Returns the cells by their names, or why they are no row; None for a blank line."""
    if cells is None:
        return OPEN_QUOTE
    if len(cells) < 2 and not "".join(cells).strip():
        return None
    if len(cells) > len(columns) and any(map(str.strip, cells[len(columns) :])):
        return TOO_MANY
    if len(cells) < num_needed:
        return TOO_FEW
    cells += [""] * (len(columns) - len(cells))
    return dict(zip(columns, cells, strict=False))


def _columns(
    path: Path, records: quotes.Records, options: TableOptions, start: str, separator: str, quote: str
) -> list[str]:
    """Returns the names of the columns, from the first row; without a header numbers, as many as most rows have cells.

    Raises:
        UserError: there is no row, or the first one has an open quote.
    """
    if options.header:
        header = next((cells for cells in records if cells is None or "".join(cells).strip()), ())
        if header is None:
            raise UserError(
                f"{path}: a quote opens a cell in its first line and is not closed: close it, or, if quotes are a part "
                "of the text, give --quote none"
            )
        columns = table_rows.header_names(header)
    else:
        sizes = collections.Counter(_row_sizes(start, separator, quote))
        columns = [str(i) for i in range(1, sizes.most_common(1)[0][0] + 1)] if sizes else []
    if not columns:
        raise _empty(path)
    table_rows.check_columns(path, columns)
    return columns


def _empty(path: Path) -> UserError:
    return UserError(f"{path} is empty: expected a header line and rows of text and label")


def _no_row(path: Path, problems: collections.Counter, size: int, first: str, options: TableOptions) -> UserError:
    """Returns the error for a file in which all rows are left out.

    Args:
        problems: reason -> rows.
        size: number of columns.
        first: the first of the rows.
    """
    reasons = ", ".join(f"{reason} ({count:,})" for reason, count in problems.items())
    expected = f"the header has {size}" if options.header else f"most of its first rows have {size}"
    return UserError(
        f"{path}: none of its {problems.total():,} rows can be read: {reasons}; {expected}, {first}. Put quotes around "
        "cells that have the separator in them, or name the right characters with --separator and --quote"
    )


def _separator(path: Path, text: str, quote: str | None) -> str:
    """Returns the character between the cells of a row.

    It is the usual one of the suffix, unless the header has only one cell with it and several with another one, and
    most of the next rows have as many cells as the header.

    Args:
        text: the start of the file.
        quote: the character around cells, if it was given.
    """
    usual = _USUAL_SEPARATORS[encodings.suffix(path)]
    quote = quotes.QUOTE if quote is None else quote
    sizes = {each: _row_sizes(text, each, quote) for each in {usual, *_OTHER_SEPARATORS} if each != quote}
    if not sizes.get(usual) or sizes[usual][0] > 1:
        return usual
    fitting = {each: found[0] for each, found in sizes.items() if found and found[0] > 1 and _is_regular(found)}
    return max(fitting, key=fitting.get) if fitting else usual


def _row_sizes(text: str, separator: str, quote: str) -> list[int]:
    """Returns the number of cells of the first rows."""
    quoted = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, **quoted)
    return [len(row) for row, _ in zip(rows, range(_MAX_SNIFFED_LINES), strict=False) if row]


def _is_regular(sizes: list[int]) -> bool:
    return sum(size == sizes[0] for size in sizes) > len(sizes) / 2


FORMAT = Format(SUFFIXES, rows, frozenset({"encoding", "separator", "quote", "header"}))
