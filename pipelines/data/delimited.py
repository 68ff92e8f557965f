"""CSV and TSV files, plain or compressed, read by pandas in chunks."""

import csv
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipelines.data import encodings
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

_USUAL_SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = tuple(_USUAL_SEPARATORS)
_OTHER_SEPARATORS = (",", ";", "\t", "|")
_NUM_SNIFFED_BYTES = 2**16
_MAX_SNIFFED_LINES = 20


def chunks(path: Path, rows: int, options: TableOptions) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads a file in chunks, every cell as str: see `tables.chunks`."""
    if path.stat().st_size == 0:
        raise _empty(path)
    try:
        file, encoding = encodings.open_text(path, options.encoding)
        with (
            file,
            pd.read_csv(
                file,
                sep=options.separator or _separator(path, file.peek(_NUM_SNIFFED_BYTES), encoding),
                encoding=encoding,
                encoding_errors=options.encoding_errors,
                header=0 if options.header else None,
                dtype=str if options.encoding_errors == "strict" else object,  # str has valid Unicode alone
                keep_default_na=False,
                index_col=False,
                chunksize=rows,
                on_bad_lines="warn",
            ) as reader,
        ):
            while True:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", pd.errors.ParserWarning)
                    try:
                        frame = next(reader)
                    except StopIteration:
                        return
                skipped = sum(len(re.findall(r"Skipping line", str(warning.message))) for warning in caught)
                if not options.header:
                    frame.columns = [str(number) for number in range(1, len(frame.columns) + 1)]
                yield frame.fillna(""), skipped
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(path, error) from error
    except UnicodeError as error:  # UTF-16 without a byte order mark
        raise UserError(
            f"{path} is not {options.encoding} ({error}): give its encoding with --encoding, or leave it out"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise _empty(path) from error
    except pd.errors.ParserError as error:
        raise _not_a_table(path, str(error)) from error


def _empty(path: Path) -> UserError:
    return UserError(f"{path} is empty: expected a header line and rows of text and label")


def _not_a_table(path: Path, message: str) -> UserError:
    """Returns the error for a file that pandas cannot read, from its message."""
    opened = re.search(r"EOF inside string starting at row (\d+)", message)
    if opened:
        return UserError(
            f"{path}: the quote that starts in row {opened[1]} is never closed: close it, or write two quotes for one "
            "that is a part of the text"
        )
    return UserError(f"{path} cannot be read as a table: {message.strip().splitlines()[-1]}")


def _separator(path: Path, start: bytes, encoding: str) -> str:
    """Returns the character between the cells of a row.

    It is the usual one of the suffix, unless the header has only one cell with it and several with another one, and
    most of the next rows have as many cells as the header.
    """
    usual = _USUAL_SEPARATORS[encodings.suffix(path)]
    text = start.decode(encoding, errors="ignore")
    sizes = {each: _row_sizes(text, each) for each in {usual, *_OTHER_SEPARATORS}}
    if not sizes[usual] or sizes[usual][0] > 1:
        return usual
    fitting = {each: found[0] for each, found in sizes.items() if found[0] > 1 and _is_regular(found)}
    return max(fitting, key=fitting.get) if fitting else usual


def _row_sizes(text: str, separator: str) -> list[int]:
    """Returns the number of cells of the first rows."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [len(row) for row, _ in zip(rows, range(_MAX_SNIFFED_LINES), strict=False) if row]
    except csv.Error:  # such as a cell of more than 128 KiB
        return [1]


def _is_regular(sizes: list[int]) -> bool:
    return sum(size == sizes[0] for size in sizes) > len(sizes) / 2
