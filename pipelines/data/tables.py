"""Tables of texts and labels in files: read completely for training, in chunks for prediction."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import delimited, encodings, typed_tables
from pipelines.support.errors import UserError

TEXT_NAMES = ("text", "review", "sentence", "comment", "content", "body", "document", "tweet")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "category", "target", "stars", "rating", "score")
GROUP_NAME = "url"
# Suffix -> function that reads chunks.
READERS = {
    **dict.fromkeys(delimited.SUFFIXES, delimited.chunks),
    ".jsonl": typed_tables.json_lines,
    ".ndjson": typed_tables.json_lines,
    ".parquet": typed_tables.parquet,
    ".xlsx": typed_tables.excel,
}
FORMATS = "a .csv, .tsv, .jsonl, .parquet or .xlsx file"


def is_table(path: Path) -> bool:
    """Whether the file's name is that of a table, with or without the suffix of a compression."""
    return encodings.suffix(path) in READERS


def chunks(path: Path, rows: int) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads `path` in chunks, every cell as str.

    Args:
        path: a file with a suffix in READERS; those of text also with the suffix of a compression.
        rows: maximum number of rows per chunk.

    Yields:
        (chunk, number of rows that were skipped in it because they cannot be read).

    Raises:
        UserError: the file is not a table, empty, not UTF-8 or damaged, or has quotes that are never closed.
    """
    if not is_table(path):
        raise UserError(
            f"{path}: expected {FORMATS} (the first three also .gz, .xz, .bz2, .zip) or a folder of .txt files"
        )
    try:
        yield from READERS[encodings.suffix(path)](path, rows)
    except (*encodings.DAMAGED, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # such as a missing permission: its message is clear
            raise
        raise UserError(f"{path} is damaged, or its name has the wrong suffix ({error}): get the file again") from error


def find_column(path: Path, names: list[str], wanted: str | None, candidates: tuple[str, ...], flag: str) -> str:
    """Returns `wanted`, or the first of `candidates` that is in `names`, in upper or lower case.

    Args:
        path: of the table, for messages.
        names: columns of the table.
        wanted: column that the user named; None if the user named none.
        candidates: usual names of such a column.
        flag: with which the user can name it.

    Raises:
        UserError: there is no such column; the message lists the columns and the flag.
    """
    if wanted is not None:
        if wanted not in names:
            raise UserError(f"{path} has no column {wanted!r}; its columns are: {', '.join(names)}")
        return wanted
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    for candidate in candidates:
        if candidate in by_lower:
            return by_lower[candidate]
    raise UserError(
        f"{path}: no column has a usual name ({', '.join(candidates)}): name one of {', '.join(names)} with {flag}"
    )


def column_names(path: Path) -> list[str]:
    """Returns the columns of a table.

    Raises:
        UserError: the table cannot be read, or has no rows.
    """
    for frame, _ in chunks(path, rows=1):
        if len(frame):
            return [str(name) for name in frame.columns]
    raise UserError(f"{path} has a header but no rows: add rows below the header")


def read(path: Path, text_column: str | None, label_column: str | None) -> tuple:
    """Returns the fields of `LabelledTexts`: texts, labels, groups (None without a `url` column), dropped.

    Raises:
        UserError: the table cannot be read, or has no such column.
    """
    names = column_names(path)
    text = find_column(path, names, text_column, TEXT_NAMES, "--text-column")
    label = find_column(path, names, label_column, LABEL_NAMES, "--label-column")
    group = GROUP_NAME if GROUP_NAME in names else None
    table, dropped = _columns(path, [name for name in (text, label, group) if name])
    groups = table[group].to_numpy(object) if group else None
    return table[text].to_numpy(object), table[label].to_numpy(object), groups, dropped


def _columns(path: Path, names: list[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Returns the columns `names` of all rows, and reason -> number of dropped rows."""
    frames, num_skipped = [], 0
    for frame, skipped in chunks(path, rows=10_000):
        frames.append(frame[names])
        num_skipped += skipped
    return pd.concat(frames, ignore_index=True), {"too many cells in the row": num_skipped} if num_skipped else {}


def read_texts(path: Path, text_column: str | None) -> tuple[np.ndarray, np.ndarray | None, dict[str, int]]:
    """Returns (texts, groups, dropped) of a table whose labels are not needed; rows with an empty text are dropped.

    Returns:
        (object array [n] of str, object array [n] of str or None without a `url` column, reason -> number of dropped
        rows).
    """
    names = column_names(path)
    text = find_column(path, names, text_column, TEXT_NAMES, "--text-column")
    has_groups = GROUP_NAME in names
    table, dropped = _columns(path, [text, GROUP_NAME] if has_groups else [text])
    empty = table[text].str.strip() == ""
    if empty.any():
        dropped["empty text"] = int(empty.sum())
    table = table[~empty]
    return table[text].to_numpy(object), table[GROUP_NAME].to_numpy(object) if has_groups else None, dropped
