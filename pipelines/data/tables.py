"""Tables of texts and labels in files: read completely for training, in chunks for prediction."""

import collections
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import dataset_folders, delimited, encodings, label_sets, table_rows, typed_tables, workbooks
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.data.table_rows import Format
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank

TEXT_NAMES = ("text", "review", "sentence", "comment", "content", "body", "document", "tweet")
LABEL_NAMES = ("label", "labels", "sentiment", "polarity", "class", "category", "target", "stars", "rating", "score")
GROUP_NAME = "url"
FORMATS = (
    delimited.FORMAT,
    typed_tables.JSON_LINES,
    typed_tables.PARQUET,
    workbooks.EXCEL,
    dataset_folders.FORMAT,
)
SUFFIXES = tuple(suffix for each in FORMATS for suffix in each.suffixes)
_NUM_FIRST_ROWS = 100
_CHUNK_ROWS = 10_000
_MAX_WORDS_OF_A_NAME = 5
_MAX_SHOWN = 40
EXPECTED = "a .csv, .tsv, .jsonl, .parquet or .xlsx file"


def format_of(path: Path) -> Format | None:
    """Returns the format of a table by the suffix of its name, with or without that of a compression; of a folder by
    its files. None: it is no table.
    """
    path = Path(path)
    if path.is_dir():
        return next((each for each in FORMATS if each.is_folder and each.is_folder(path)), None)
    suffix = encodings.suffix(path)
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def is_table(path: Path) -> bool:
    """Whether the file or folder is a table."""
    return format_of(path) is not None


def chunks(path: Path, rows: int, options: TableOptions = DEFAULTS) -> Iterator[tuple[pd.DataFrame, int]]:
    """Reads `path` in chunks with all columns, every cell as str.

    Args:
        path: a table of one of FORMATS; those of text also with the suffix of a compression.
        rows: maximum number of rows per chunk.

    Yields:
        (chunk, number of rows that were left out in it because they cannot be read).

    Raises:
        UserError: the file is not a table, empty, in another encoding or damaged; or an option does not fit its format.
    """
    for frame, left_out in named_chunks(path, rows, options):
        yield frame, sum(left_out.values())


def named_chunks(
    path: Path, rows: int, options: TableOptions = DEFAULTS, names: Collection[str] | None = None
) -> Iterator[tuple[pd.DataFrame, dict[str, int]]]:
    """Reads `path` in chunks, every cell as str, as `chunks` does.

    Args:
        names: of the columns to read; None: all. A column that a row does not have is empty, but a row of a CSV or TSV
            file that is too short for it is left out.

    Yields:
        (chunk, reason -> number of rows that were left out in it).
    """
    yield from table_rows.chunks(path, _rows(path, options, names), rows, names)


def all_names(path: Path, options: TableOptions = DEFAULTS) -> list[str] | None:
    """Returns the columns of all rows if later rows may have others than the first ones, which takes a pass; else None.

    Raises:
        UserError: as `chunks`.
    """
    found = format_of(path)
    if found is None or not found.can_grow:
        return None
    names: dict[str, None] = {}
    for row in _rows(path, options):
        if not isinstance(row, str) and not row.keys() <= names.keys():
            names |= dict.fromkeys(row)
            table_rows.check_columns(path, names)
    return list(names)


def _rows(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[table_rows.Row]:
    """Yields the rows of a table; for what is raised, see `chunks`."""
    found = format_of(path)
    if found is None:
        raise UserError(
            f"{path}: expected {EXPECTED} (the first three also .gz, .xz, .bz2, .zip) or a folder of .txt files"
        )
    for field in dict.fromkeys(option for each in FORMATS for option in sorted(each.options)):
        value = getattr(options, field)
        if value != getattr(DEFAULTS, field) and field not in found.options:
            name = "--no-header" if field == "header" else f"--{field} {value}"
            suffixes = [suffix for each in FORMATS if field in each.options for suffix in each.suffixes]
            raise UserError(f"{name} has no effect: {path} is not {' or '.join(suffixes)}")
    with encodings.reading(path):
        yield from found.rows(path, options, names)


def columns(path: Path, options: TableOptions = DEFAULTS) -> pd.DataFrame:
    """Returns the first rows of a table, with all its columns.

    Raises:
        UserError: the table cannot be read, or has no rows.
    """
    for frame, _ in chunks(path, _NUM_FIRST_ROWS, options):
        if len(frame):
            return frame
    raise UserError(f"{path} has a header but no rows: add rows below the header")


def text_column(path: Path, first_rows: pd.DataFrame, options: TableOptions) -> str:
    """Returns the column with the text.

    It is that of the options, else that of the training, else one with a usual name, else, without a header, the one
    with the longest cells.

    Raises:
        UserError: there is none, or it has numbers; the message lists the columns and the flag.
    """
    if options.text_column is None and not options.header:
        return max(first_rows.columns, key=lambda name: first_rows[name].str.len().sum())
    trained = options.trained_text_column
    name = _find(path, first_rows, options.text_column, trained, TEXT_NAMES, "--text-column", options.header)
    if pd.to_numeric(first_rows[name], errors="coerce").notna().all():
        raise UserError(
            f"{path}: the column {name!r} has numbers, such as {first_rows[name].iloc[0]}, and not text: name another "
            f"one with --text-column ({_listed(list(first_rows.columns))})"
        )
    return name


def label_column(path: Path, first_rows: pd.DataFrame, options: TableOptions, text: str) -> str:
    """Returns the column with the label.

    It is that of the options, else that of the training, else one with a usual name, else, without a header, the other
    one of two columns.

    Args:
        text: the column with the text.

    Raises:
        UserError: there is none, or it is the column with the text; the message lists the columns and the flag.
    """
    others = [name for name in first_rows.columns if name != text]
    if options.label_column is None and not options.header and len(others) == 1:
        return others[0]
    trained = options.trained_label_column
    name = _find(path, first_rows, options.label_column, trained, LABEL_NAMES, "--label-column", options.header)
    if name == text:
        raise UserError(f"{path}: the column {name!r} is the one with the text: name another one with --label-column")
    return name


def _find(
    path: Path,
    first_rows: pd.DataFrame,
    wanted: str | None,
    trained: str | None,
    candidates: tuple[str, ...],
    flag: str,
    header: bool,
) -> str:
    names = list(first_rows.columns)
    if wanted is not None:
        if wanted not in names:
            raise UserError(f"{path} has no column {wanted!r}; its columns are: {_listed(names)}")
        return wanted
    if trained in names:
        return trained
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    for candidate in candidates:
        if candidate in by_lower:
            return by_lower[candidate]
    separator = _possible_separator(first_rows)
    if separator:
        raise UserError(
            f"{path} has only one column, {_listed(names)}: if {separator!r} is between its cells, give --separator "
            f"'{separator}'"
        )
    if header and _looks_like_a_row(first_rows):
        raise UserError(f"{path}: its first line looks like a row and not like a header: add a header, or --no-header")
    raise UserError(
        f"{path}: no column has a usual name ({', '.join(candidates)}): name one of {_listed(names)} with {flag}"
    )


def _possible_separator(first_rows: pd.DataFrame) -> str | None:
    """Returns the first sign in the name of the only column that is also in all its cells; None if there is none."""
    if len(first_rows.columns) > 1:
        return None
    name = first_rows.columns[0]
    signs = (sign for sign in re.findall(r"\w([^\w\s])(?=\w)", name))
    return next((sign for sign in signs if first_rows[name].str.contains(sign, regex=False).all()), None)


def _looks_like_a_row(first_rows: pd.DataFrame) -> bool:
    """Whether the names of the columns are a text, or occur as cells below."""
    names = first_rows.columns
    return any(len(name.split()) > _MAX_WORDS_OF_A_NAME or name in set(first_rows[name]) for name in names)


def _listed(names: list[str]) -> str:
    return ", ".join(name if len(name) <= _MAX_SHOWN else name[:_MAX_SHOWN] + "..." for name in names)


def read(files: Sequence[Path], options: TableOptions) -> tuple:
    """Returns the fields of `LabelledTexts`: texts, labels, groups (None without a `url` column), dropped, and so on.

    The labels are str, or tuples of str if the options allow several labels per text.

    Args:
        files: tables with the same columns.

    Raises:
        UserError: a table cannot be read, or has no such column, or other columns than the first one.
    """
    first_rows = columns(files[0], options)
    text = text_column(files[0], first_rows, options)
    label_names = _label_columns(files[0], first_rows, options, text)
    used = [text, *label_names]
    read_columns = [*used, *_weight_columns(files[0], first_rows, used, options)]
    table, dropped = _all_rows(files, first_rows, list(first_rows) if options.other_columns else read_columns, options)
    others = table[list(first_rows)].drop(columns=used) if options.other_columns else None
    weights = _weights(table[options.weight_column], options) if options.weight_column else None
    return *_fields(files[0], table, text, label_names, options), dropped, others, weights


def _weight_columns(path: Path, first_rows: pd.DataFrame, used: list[str], options: TableOptions) -> list[str]:
    """Returns the columns with weights, at most one.

    Raises:
        UserError: the table has no such column, or it is that of the text or of the label.
    """
    name = options.weight_column
    if name is None:
        return []
    if name not in first_rows or name in used:
        others = _listed([each for each in first_rows if each not in used])
        raise UserError(f"{path}: --weight-column {name}: it must be another column of the table ({others})")
    return [name]


def _weights(cells: pd.Series, options: TableOptions) -> np.ndarray:
    """Returns weights, float [n].

    Raises:
        UserError: one is no number of at least 0, or all are 0.
    """
    weights = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    is_wrong = ~(np.isfinite(weights) & (weights >= 0))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise UserError(
            f"--weight-column {options.weight_column}: {cells.iloc[row]!r} in row {row + 1:,} is no weight: give each "
            "row a number of at least 0"
        )
    if not weights.any():
        raise UserError(f"--weight-column {options.weight_column}: all weights are 0: give one row at least 1")
    return weights


def read_chunks(files: Sequence[Path], options: TableOptions) -> Iterator[tuple]:
    """Yields what `read` returns of all rows, for one chunk of rows after the other."""
    first_rows = columns(files[0], options)
    text = text_column(files[0], first_rows, options)
    label_names = _label_columns(files[0], first_rows, options, text)
    for table, dropped in _chunks_of_all(files, first_rows, [text, *label_names], options):
        yield *_fields(files[0], table, text, label_names, options), dropped


def _fields(path: Path, table: pd.DataFrame, text: str, label_names: list[str], options: TableOptions) -> tuple:
    """Returns the texts, labels and groups of a table."""
    groups = table[options.group_column].to_numpy(object) if options.group_column in table else None
    if options.label_columns:
        labels = label_sets.from_columns(path, table, options.label_columns)
    else:
        labels = table[label_names[0]].to_numpy(object)
    if options.labels_separator is not None:
        labels = label_sets.split_cells(labels, options.labels_separator)
    return table[text].to_numpy(object), labels, groups


def _label_columns(path: Path, first_rows: pd.DataFrame, options: TableOptions, text: str) -> list[str]:
    """Returns the columns of --label-columns, or the one column with the label."""
    missing = [name for name in options.label_columns if name not in first_rows]
    if missing:
        raise UserError(
            f"{path} has no column {missing[0]!r} (--label-columns); its columns are: "
            f"{_listed(list(first_rows.columns))}"
        )
    if text in options.label_columns:
        raise UserError(f"{path}: the column {text!r} is the one with the text: leave it out of --label-columns")
    return list(options.label_columns) or [label_column(path, first_rows, options, text)]


def check_columns(path: Path, first_rows: pd.DataFrame, first: Path, names: Collection[str]) -> None:
    """Checks that a table has the same columns as the first one, in any order.

    Args:
        first_rows: of the table `path`.
        first: path of the first table.
        names: its columns.

    Raises:
        UserError: it does not; the message names the columns that differ.
    """
    missing = [name for name in names if name not in first_rows]
    added = [name for name in first_rows if name not in set(names)]
    if missing or added:
        differences = [f"no column {_listed(missing)}"] * bool(missing) + [f"also {_listed(added)}"] * bool(added)
        raise UserError(
            f"{path} has {', and '.join(differences)}, unlike {first}: several files must have the same columns"
        )


def _all_rows(
    files: Sequence[Path], first_rows: pd.DataFrame, names: list[str], options: TableOptions
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Returns all that `_chunks_of_all` yields: (all rows, reason -> dropped rows)."""
    frames, dropped = [], collections.Counter()
    for frame, dropped_here in _chunks_of_all(files, first_rows, names, options):
        frames.append(frame)
        dropped.update(dropped_here)
    return pd.concat(frames, ignore_index=True), dict(dropped)


def _chunks_of_all(
    files: Sequence[Path], first_rows: pd.DataFrame, names: list[str], options: TableOptions
) -> Iterator[tuple[pd.DataFrame, dict[str, int]]]:
    """Yields (the columns `names`, and that of groups if there is one; reason -> dropped rows) of all rows in chunks.

    Args:
        first_rows: of the first file.
    """
    group = options.group_column
    names = [*names, group] if group in first_rows and group not in names else names
    for path in files:
        if path != files[0]:
            check_columns(path, columns(path, options), files[0], list(first_rows))
        yield from named_chunks(path, _CHUNK_ROWS, options, names)


def read_texts(
    files: Sequence[Path], options: TableOptions
) -> Iterator[tuple[np.ndarray, np.ndarray | None, dict[str, int]]]:
    """Yields (texts, groups, dropped) of tables whose labels are not needed, for one chunk of rows after the other.

    Rows with an empty text are dropped.

    Args:
        files: tables with the same columns.

    Yields:
        (object array [n] of str, object array [n] of str or None without a `url` column, reason -> number of dropped
        rows).
    """
    first_rows = columns(files[0], options)
    text = text_column(files[0], first_rows, options)
    for table, dropped in _chunks_of_all(files, first_rows, [text], options):
        empty = table[text].map(is_blank)
        if empty.any():
            dropped["empty text"] = int(empty.sum())
        table = table[~empty]
        groups = table[GROUP_NAME].to_numpy(object) if GROUP_NAME in table else None
        yield table[text].to_numpy(object), groups, dropped
