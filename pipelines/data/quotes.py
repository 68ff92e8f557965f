"""Quotes around the cells of a CSV or TSV file: whether a file has them, and quotes that open a cell by mistake."""

import collections
import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipelines.support.errors import UserError

QUOTE = '"'
NO_QUOTE = ""
MAX_CELL = 2**24  # characters of a cell over several lines
_MAX_VALUES = 100  # of a column whose values are remembered
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
# A table of tabs in which each cell that has a quote is quoted as a whole, and its own quotes are doubled.
_CELL = r'"(?:[^"]++|"")*+"(?=[\t\r\n]|\Z)|[^"\t\r\n]*+(?=[\t\r\n]|\Z)'
_QUOTED_TABLE = re.compile(rf"(?:(?:{_CELL})(?:[\t\r\n]|\Z))*+")
_QUOTED_CELL = re.compile(r'(?:^|\t)"', re.MULTILINE)
_OPEN_CELL = re.compile(r'"(?:[^"]++|"")*+')

# The usual limit of a cell, 128 KiB, is below the length of real documents. `_Lines` and the reader of files bound it.
csv.field_size_limit(2**31 - 1)


class KnownCells:
    """The cells of rows of one line each, by which other lines can be recognized as rows.

    Args:
        rows: cells of each row; those of another size than most are not used.
        separator: the character between the cells.
    """

    def __init__(self, rows: Iterable[list[str]], separator: str):
        rows = list(rows)
        self._separator = separator
        self._size = collections.Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
        columns = zip(*(row for row in rows if len(row) == self._size), strict=True)
        cells = [{cell.strip() for cell in column} - {""} for column in columns]
        self._values = [each if len(each) <= _MAX_VALUES else set() for each in cells]
        self._numbers = [bool(each) and all(map(_NUMBER.fullmatch, each)) for each in cells]

    def are_rows(self, lines: list[str]) -> bool:
        """Whether lines are rows of their own: all have as many cells as a row, and known ones in one column at least.

        A label occurs in many rows, and a number is like other numbers; a text that only has line breaks and commas
        does not look like that.
        """
        if self._size < 2:
            return False
        columns = range(self._size)
        for line in filter(str.strip, lines):
            cells = [cell.strip().strip(QUOTE) for cell in line.strip("\r\n").split(self._separator)]
            if len(cells) != self._size:
                return False
            columns = [i for i in columns if self._is_known(i, cells[i])]
            if not columns:
                return False
        return True

    def _is_known(self, column: int, cell: str) -> bool:
        return cell in self._values[column] or self._numbers[column] and bool(_NUMBER.fullmatch(cell))


class _Feeder:
    """Gives lines to `csv.reader`, and keeps those of the present record.

    Attributes:
        record: the lines of the present record.
        number: number of lines so far.
        at_end: whether there was no further line for the present record.
    """

    def __init__(self, path: Path, lines: Iterable[str]):
        self._path, self._lines = path, iter(lines)
        self._again: collections.deque[str] = collections.deque()
        self.record: list[str] = []
        self.number, self.at_end, self._length = 0, False, 0

    def __iter__(self):
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines, None)
        if line is None:
            self.at_end = True
            raise StopIteration
        self.record.append(line)
        self.number += 1
        self._length += len(line)
        if self._length > MAX_CELL and len(self.record) > 1:
            raise UserError(
                f"{self._path}: the quote that opens a cell in line {self.number - len(self.record) + 1:,} is not "
                f"closed within {MAX_CELL // 2**20} MiB: close it, or, if quotes are a part of the text, give "
                "--quote none"
            )
        return line

    def begin(self) -> None:
        self.record, self.at_end, self._length = [], False, 0

    def read_again(self) -> None:
        """Lets all lines of the record but the first one be read again."""
        self._again.extendleft(reversed(self.record[1:]))
        self.number -= len(self.record) - 1
        self.record = self.record[:1]


class Records:
    """Iterates over the records of a file: the cells of each; None for a line whose quote opens a cell by mistake.

    Nothing closes such a quote, or text follows the quote that closes it, in a later line, or it swallows lines that
    look like rows. Only its line is lost: the next ones are read as if it were not there.

    Args:
        path: of the file, for errors.
        lines: with their ends.
        separator: the character between the cells.
        quote: the character around cells that have a separator or a line break; NO_QUOTE: quotes are text.
        known: cells of usual rows; None: lines that a cell swallows are never taken for rows.

    """

    def __init__(self, path: Path, lines: Iterable[str], separator: str, quote: str, known: KnownCells | None = None):
        self._feeder, self._known = _Feeder(path, lines), known
        quoted = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
        self._dialect = {"delimiter": separator, **quoted}
        self._reader = csv.reader(self._feeder, strict=True, **self._dialect)

    def __iter__(self) -> Iterator[list[str] | None]:
        return self

    def __next__(self) -> list[str] | None:
        feeder = self._feeder
        feeder.begin()
        try:
            cells = next(self._reader)
        except csv.Error:
            if len(feeder.record) == 1 and not feeder.at_end:  # text after a quote: nothing is swallowed
                return next(csv.reader(feeder.record, **self._dialect))
            cells = None
        if cells is not None and self._known and not self.is_single and self._known.are_rows(feeder.record):
            cells = None
        if cells is None:
            feeder.read_again()
        return cells

    @property
    def number(self) -> int:
        """Number of the line with which the present record begins, from 1."""
        return self._feeder.number - len(self._feeder.record) + 1

    @property
    def is_single(self) -> bool:
        """Whether the present record is one line."""
        return len(self._feeder.record) == 1


def known_cells(path: Path, start: str, separator: str, quote: str) -> KnownCells:
    """Returns the cells of the rows of one line each at the start of a file."""
    records = Records(path, io.StringIO(start, newline=""), separator, quote)
    rows = [cells for cells in records if cells and records.is_single]
    return KnownCells(rows[1:], separator)  # without the header


def find(path: Path, start: str, is_cut: bool, separator: str) -> str:
    """Returns the character around cells: none if there are tabs between them, unless all cells with quotes are quoted.

    Args:
        start: whole lines from the start of the file.
        is_cut: whether the file has more.
    """
    return QUOTE if separator != "\t" or _are_quoted(path, start, is_cut) else NO_QUOTE


def _are_quoted(path: Path, start: str, is_cut: bool) -> bool:
    end = _QUOTED_TABLE.match(start).end()
    if not _QUOTED_CELL.search(start[:end]):
        return False
    if start[end:] and not (is_cut and _OPEN_CELL.fullmatch(start, end)):
        return False
    known = known_cells(path, start[:end], "\t", QUOTE)
    return None not in Records(path, io.StringIO(start[:end], newline=""), "\t", QUOTE, known)
