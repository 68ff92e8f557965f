"""Tables of texts and labels in files: read completely for training, in chunks for prediction."""

import collections
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import (
    dataset_folders,
    delimited,
    encodings,
    fields,
    json_tables,
    label_lines,
    label_sets,
    table_columns,
    table_rows,
    typed_tables,
    workbooks,
)
from pipelines.data.encodings import WrongEncoding
from pipelines.data.table_columns import UnknownColumn, listed
from pipelines.data.table_options import DEFAULTS, TableOptions, column_names
from pipelines.data.table_rows import Format
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank

GROUP_NAME = "url"
FORMATS = (
    delimited.FORMAT,
    json_tables.LINES_OR_ARRAY,
    typed_tables.PARQUET,
    workbooks.EXCEL,
    dataset_folders.FORMAT,
)
SUFFIXES = tuple(suffix for each in FORMATS for suffix in each.suffixes)
_NUM_FIRST_ROWS = 100
_CHUNK_ROWS = 10_000
text_column, label_column = table_columns.text_column, table_columns.label_column
TEXT_NAMES, LABEL_NAMES = table_columns.TEXT_NAMES, table_columns.LABEL_NAMES
EXPECTED = "a .csv, .tsv, .jsonl, .json, .parquet or .xlsx file"


def format_of(path: Path) -> Format | None:
    """Returns the format of a table by the suffix of its name, with or without that of a compression; of a folder by
    its files, and of lines with labels by the first one. None: it is no table.
    """
    path = Path(path)
    if path.is_dir():
        return next((each for each in FORMATS if each.is_folder and each.is_folder(path)), None)
    suffix = encodings.suffix(path)
    found = next((each for each in FORMATS if suffix in each.suffixes), None)
    return label_lines.FORMAT if found is None and label_lines.is_file(path) else found


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
            f"{path}: expected {EXPECTED} (the first four also .gz, .xz, .bz2, .zip) or a folder of .txt files"
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


def read(files: Sequence[Path], options: TableOptions) -> tuple:
    """Returns the fields of `LabelledTexts`: texts, labels, groups (None without a `url` column), dropped, and so on.

    The labels are str, or tuples of str if the options allow several labels per text.

    Args:
        files: tables with the same columns.

    Raises:
        UserError: a table cannot be read, or has no such column, or other columns than the first one.
    """
    first_rows, texts, label_names = _used_columns(files[0], options)
    text, features = texts[0], list(options.feature_columns)
    names = fields.columns_of(options.fields) or [*texts, *features]
    used = [*names, *label_names]
    read_columns = [*used, *_weight_columns(files[0], first_rows, used, options)]
    table, dropped = _all_rows(files, first_rows, list(first_rows) if options.other_columns else read_columns, options)
    without = label_names if len(names) > 1 else used  # the text of several columns has other names than these
    others = table[list(first_rows)].drop(columns=without) if options.other_columns else None
    weights = _weights(table[options.weight_column], options) if options.weight_column else None
    known = options.fields
    if len(names) > 1:
        known = known or fields.of_table(files[0], table, texts, features, options)
        composed = fields.composed(known, table, files[0])
        composed[fields.without_side(known, table)] = ""  # rows with an empty text are left out, and counted
        table = table.assign(**{text: pd.Series(composed, table.index, object)})
    return *_fields(files[0], table, text, label_names, options), dropped, others, weights, None, known


def _weight_columns(path: Path, first_rows: pd.DataFrame, used: list[str], options: TableOptions) -> list[str]:
    """Returns the columns with weights, at most one.

    Raises:
        UserError: the table has no such column, or it is that of the text or of the label.
    """
    name = options.weight_column
    if name is None:
        return []
    if name not in first_rows or name in used:
        others = listed([each for each in first_rows if each not in used])
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
    first_rows, (text, *others), label_names = _used_columns(files[0], options)
    if others or options.feature_columns or options.fields:
        raise UserError(
            f"{files[0]}: several columns are read of texts in memory, which are not prepared: name one --text-column, "
            "and no --feature-column"
        )
    for table, dropped in _chunks_of_all(files, first_rows, [text, *label_names], options):
        yield *_fields(files[0], table, text, label_names, options), dropped


def text_columns(path: Path, first_rows: pd.DataFrame, options: TableOptions, with_label: bool = False) -> list[str]:
    """Returns the columns with texts: one, those of --text-column, or that of a trained model.

    Raises:
        UserError: the table has no such column.
    """
    if options.fields:
        return [field.name for field in options.fields if field.kind == fields.TEXT]
    if options.pair_columns:
        fields.check(path, first_rows, options.pair_columns)
        return list(options.pair_columns)
    name = options.text_column
    if name is not None and "," in name and name not in first_rows:
        names = list(column_names(name))
        fields.check(path, first_rows, names)
        return names
    return [text_column(path, first_rows, options, with_label)]


def _used_columns(path: Path, options: TableOptions) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Returns the first rows, the columns with texts and those with the label.

    Raises:
        UserError: the table cannot be read, or has no such columns. Of a file in another encoding the message also has
            the flags of its columns, so that one more command mends both.
    """
    try:
        first_rows = columns(path, options)
    except WrongEncoding as error:
        try:
            if error.likely:
                _used_columns(path, dataclasses.replace(options, encoding=error.likely))
        except UnknownColumn as unknown:
            if unknown.flags:
                raise UserError(f"{error}; its columns are by their cells {unknown.flags}") from error
        except UserError:
            pass  # it is said when the encoding is right
        raise
    fields.check(path, first_rows, [*fields.columns_of(options.fields), *options.feature_columns])
    texts = text_columns(path, first_rows, options, with_label=True)
    return first_rows, texts, _label_columns(path, first_rows, options, texts[0])


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
            f"{listed(list(first_rows.columns))}"
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
        differences = [f"no column {listed(missing)}"] * bool(missing) + [f"also {listed(added)}"] * bool(added)
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
