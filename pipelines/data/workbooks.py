"""Reads the first sheet of Excel files (.xlsx)."""

import functools
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import encodings, table_rows
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import Format, Row
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted

_MAX_CELL, _MAX_ROW, _MAX_OTHERS = 2**24, 2**26, 2**28  # bytes of XML; _MAX_OTHERS: of all parts but the sheets
_BLOCK = 2**20


def excel(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of the first sheet that are not empty: see `tables.named_chunks`.

    Cells right of the header have the names that `table_rows.header_names` gives to columns without one.
    """
    header: list[str] | None = None if options.header else []
    for cells in _sheet(path):
        if header is None:
            header = table_rows.header_names(cells)
        elif any(cell is not None for cell in cells):
            more = range(len(header), len(cells))
            header += [f"Unnamed: {i}" if options.header else str(i + 1) for i in more]
            yield dict(zip(header, cells, strict=False))


def _sheet(path: Path) -> Iterator[list]:
    """Yields the cells of each row of the first sheet; rows that the file leaves out are left out here, too.

    `openpyxl`'s own iteration adds empty rows up to any number that the file states, and skips rows that are not in
    order.
    """
    import openpyxl
    from openpyxl.worksheet._reader import WorkSheetParser

    book = None
    try:
        _check_sizes(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        _say_which(path, tuple(each.title for each in book.worksheets if each is sheet or (each.max_row or 2) > 1))
        with sheet._get_source() as source:
            parser = WorkSheetParser(
                source,
                sheet._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            for _, row in parser.parse():
                cells = [None] * max((cell["column"] for cell in row), default=0)
                for cell in row:
                    cells[cell["column"] - 1] = cell["value"]
                yield cells
    except (UserError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise anything inside openpyxl
        if encodings.is_of_system(error):
            raise
        raise UserError(
            f"{path} is damaged, or no Excel file (.xlsx): get the file again, or save it as CSV"
        ) from error
    finally:
        if book is not None:
            book.close()


@functools.cache  # a file is read several times
def _say_which(path: Path, titles: tuple[str, ...]) -> None:
    """Says that the first one of several sheets with rows is read."""
    if len(titles) > 1:
        console.say(
            f"note: {path} has {counted(len(titles), 'sheet')}, and the first one, {titles[0]!r}, is read: save "
            f"another one as a file of its own"
        )


def _check_sizes(path: Path) -> None:
    """Raises a UserError if a part of a workbook would need much memory: compressed, it may be small."""
    with zipfile.ZipFile(path) as archive:
        parts = [info for info in archive.infolist() if info.filename.lower().endswith((".xml", ".rels"))]
        sheets = [info for info in parts if "worksheets/" in info.filename]
        others = sum(info.file_size for info in parts if info not in sheets)
        if others > _MAX_OTHERS:
            raise _too_large(path, f"{others // 2**20:,} MiB of strings and formats", _MAX_OTHERS)
        for part in parts:
            with archive.open(part) as file:
                _check_part(path, file, is_sheet=part in sheets)


def _check_part(path: Path, file, is_sheet: bool) -> None:
    in_cell = in_row = 0
    while block := file.read(_BLOCK):
        in_cell = _bytes_since(block, b"<", in_cell)
        in_row = _bytes_since(block, b"row", in_row) if is_sheet else 0
        if in_cell > _MAX_CELL:
            raise _too_large(path, "a cell", _MAX_CELL)
        if in_row > _MAX_ROW:
            raise _too_large(path, "a row", _MAX_ROW)


def _bytes_since(block: bytes, mark: bytes, before: int) -> int:
    found = block.rfind(mark)
    return before + len(block) if found < 0 else len(block) - found


def _too_large(path: Path, what: str, limit: int) -> UserError:
    return UserError(f"{path} has {what}, and at most {limit // 2**20} MiB are read: shorten it, or save it as CSV")


EXCEL = Format((".xlsx",), excel, frozenset({"header"}), can_grow=True)
