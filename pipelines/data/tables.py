"""CSV and TSV files, plain or compressed, read by pandas: whole for training, in chunks for prediction."""

import gzip
import lzma
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.errors import UserError

TEXT_NAMES = ("text", "review", "sentence", "comment", "content", "body", "document", "tweet")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "category", "target", "stars", "rating", "score")
GROUP_NAME = "url"
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zip", ".zst")

_DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile, EOFError)


def is_table(path: Path) -> bool:
    return _separator(path) is not None


def _separator(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return {".csv": ",", ".tsv": "\t"}.get(suffixes[-1]) if suffixes else None


def chunks(path: Path, rows: int) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads `path` piece by piece, every cell as str.

    Args:
        path: a file whose name ends in .csv or .tsv, with or without a compression's suffix.
        rows: rows per piece.

    Yields:
        (the piece, the number of rows skipped in it because they have too many cells).

    Raises:
        UserError: not a table, empty, not UTF-8, damaged, or with quotes that never close.
    """
    separator = _separator(path)
    if separator is None:
        raise UserError(f"{path}: expected a .csv or .tsv file (also .gz, .xz, .bz2, .zip) or a folder of .txt files")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty: expected a header line and rows of text and label")
    try:
        with pd.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, index_col=False, chunksize=rows, on_bad_lines="warn"
        ) as reader:
            while True:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", pd.errors.ParserWarning)
                    try:
                        frame = next(reader)
                    except StopIteration:
                        return
                skipped = sum(len(re.findall(r"Skipping line", str(warning.message))) for warning in caught)
                yield frame.fillna(""), skipped
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UserError(
            f"{path} is not UTF-8 (byte 0x{byte:02x}): convert it, for example with iconv -f latin1 -t utf-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise UserError(f"{path} is empty: expected a header line and rows of text and label") from error
    except pd.errors.ParserError as error:
        raise UserError(f"{path} cannot be read as a table: {str(error).strip().splitlines()[-1]}") from error
    except (*_DAMAGED, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # permission, a device error: says itself what is wrong
            raise
        raise UserError(f"{path} is damaged or not what its name says ({error}): get the file again") from error


def find_column(path: Path, names: list[str], wanted: str | None, candidates: tuple[str, ...], flag: str) -> str:
    """The column called `wanted`, or the first of `candidates` that `names` has (in any case).

    Raises:
        UserError: there is none; the message lists the columns and the flag that names one.
    """
    if wanted is not None:
        if wanted not in names:
            raise UserError(f"{path} has no column {wanted!r}; its columns are: {', '.join(names)}")
        return wanted
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    for candidate in candidates:
        if candidate in by_lower:
            return by_lower[candidate]
    raise UserError(f"{path}: no column has a usual name ({', '.join(candidates)}): name one of {', '.join(names)} with {flag}")


def column_names(path: Path) -> list[str]:
    for frame, _ in chunks(path, rows=1):
        if len(frame):
            return [str(name) for name in frame.columns]
    raise UserError(f"{path} has a header but no rows: add some reviews below it")


def read(path: Path, text_column: str | None, label_column: str | None) -> tuple:
    """Texts, labels, groups (None without a `url` column) and counts of dropped rows; the fields of `Reviews`."""
    names = column_names(path)
    text = find_column(path, names, text_column, TEXT_NAMES, "--text-column")
    label = find_column(path, names, label_column, LABEL_NAMES, "--label-column")
    group = GROUP_NAME if GROUP_NAME in names else None
    table, dropped = _columns(path, [name for name in (text, label, group) if name])
    groups = table[group].to_numpy(object) if group else None
    return table[text].to_numpy(object), table[label].to_numpy(object), groups, dropped


def _columns(path: Path, names: list[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """These columns of all rows, and counts of dropped rows."""
    frames, skipped = [], 0
    for frame, bad in chunks(path, rows=10_000):
        frames.append(frame[names])
        skipped += bad
    return pd.concat(frames, ignore_index=True), {"too many cells in the row": skipped} if skipped else {}


def read_texts(path: Path, text_column: str | None) -> tuple[np.ndarray, np.ndarray | None, dict[str, int]]:
    """Texts without their labels, groups (None without a `url` column): object [n]; counts of dropped rows, the empty ones among them."""
    names = column_names(path)
    text = find_column(path, names, text_column, TEXT_NAMES, "--text-column")
    columns = [text, GROUP_NAME] if GROUP_NAME in names else [text]
    table, dropped = _columns(path, columns)
    empty = table[text].str.strip() == ""
    if empty.any():
        dropped["empty text"] = int(empty.sum())
    table = table[~empty]
    return table[text].to_numpy(object), table[GROUP_NAME].to_numpy(object) if len(columns) == 2 else None, dropped
