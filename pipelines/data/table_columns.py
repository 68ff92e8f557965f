"""Which column of a table has the text, and which one the label."""

import re
from pathlib import Path

import pandas as pd

from pipelines.data import column_guess
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError, suggestion

TEXT_NAMES = ("text", "review", "sentence", "comment", "content", "body", "document", "tweet")
LABEL_NAMES = ("label", "labels", "sentiment", "polarity", "class", "category", "target", "stars", "rating", "score")
_MAX_WORDS_OF_A_NAME = 5
_MAX_SHOWN = 40
# Cells of JSON with spans of characters, as they are joined: an object of each span, or its two numbers and its label.
_SPANS = re.compile(r"\{.*'start\w*': ?\d+,.*\}|(\d+\|\d+\|[^|\d][^|]*(\||$))+")


class UnknownColumn(UserError):
    """No column has a usual name.

    Attributes:
        flags: those that probably name the columns, such as `--text-column Frage`; "" if they are not known.
    """

    def __init__(self, message: str, flags: str):
        super().__init__(message)
        self.flags = flags


def text_column(path: Path, first_rows: pd.DataFrame, options: TableOptions, with_label: bool = False) -> str:
    """Returns the column with the text.

    It is that of the options, else that of the training, else one with a usual name, else, without a header, the one
    with the longest cells.

    Args:
        with_label: whether the label is needed, too: the message then names its flag.

    Raises:
        UserError: there is none, or it has numbers; the message lists the columns and the flag.
    """
    if options.text_column is None and not options.header:
        return max(first_rows.columns, key=lambda name: first_rows[name].str.len().sum())
    trained = options.trained_text_column
    missing = ("text", "label") if with_label and _has_no_label(first_rows, options) else ("text",)
    name = _find(path, first_rows, options.text_column, trained, TEXT_NAMES, missing, options.header)
    if pd.to_numeric(first_rows[name], errors="coerce").notna().all():
        raise UserError(
            f"{path}: the column {name!r} has numbers, such as {first_rows[name].iloc[0]}, and not text: name another "
            f"one with --text-column ({listed(list(first_rows.columns))})"
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
    try:
        name = _find(path, first_rows, options.label_column, trained, LABEL_NAMES, ("label",), options.header)
    except UnknownColumn:
        _refuse_spans(path, first_rows[others])
        raise
    _refuse_spans(path, first_rows[[name]])
    if name == text:
        raise UserError(f"{path}: the column {name!r} is the one with the text: name another one with --label-column")
    return name


def _refuse_spans(path: Path, columns: pd.DataFrame) -> None:
    """Raises a UserError if one of the columns has spans of characters with labels in place of labels."""
    for name in columns:
        cells = [cell for cell in columns[name] if isinstance(cell, str) and cell]
        if cells and all(_SPANS.fullmatch(cell) for cell in cells):
            raise UserError(
                f"{path}: the column {name!r} has labels of parts of the text, which `train tagging` learns: use that, "
                "or name a column with a label for each text with --label-column"
            )


def _find(
    path: Path,
    first_rows: pd.DataFrame,
    wanted: str | None,
    trained: str | None,
    candidates: tuple[str, ...],
    missing: tuple[str, ...],
    header: bool,
) -> str:
    """Returns the column that is wanted, that of the training, or the first one with one of the names `candidates`.

    Args:
        missing: what is missing if there is none: "text" or "label", or both.
    """
    names = list(first_rows.columns)
    if wanted is not None:
        if wanted not in names:
            raise UserError(
                f"{path} has no column {wanted!r}; its columns are: {listed(names)}{suggestion(wanted, names)}"
            )
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
            f"{path} has only one column, {listed(names)}: if {separator!r} is between its cells, give --separator "
            f"'{separator}'"
        )
    if header and _looks_like_a_row(first_rows):
        raise UserError(f"{path}: its first line looks like a row and not like a header: add a header, or --no-header")
    flags = " and ".join(f"--{name}-column" for name in missing)
    guessed = column_guess.flags(first_rows, missing)
    guess = f"; by their cells it is {guessed}" if guessed else ""
    if guessed and "label" in missing and (others := column_guess.other_labels(first_rows)):
        guess += f"; {others}"
    if guessed and len(missing) > 1 and (several := column_guess.several_texts(first_rows)):
        guess += f"; {several}"
    usual = ", ".join(candidates)
    message = f"{path}: no column has a usual name ({usual}): name one of {listed(names)} with {flags}{guess}"
    raise UnknownColumn(message, guessed)


def _has_no_label(first_rows: pd.DataFrame, options: TableOptions) -> bool:
    """Whether no option and no usual name says which column has the label."""
    given = options.label_column is not None or options.label_columns or options.trained_label_column in first_rows
    return not given and not {name.strip().lower() for name in first_rows} & set(LABEL_NAMES)


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


def listed(names: list[str]) -> str:
    """Returns names of columns for messages, long ones cut."""
    return ", ".join(name if len(name) <= _MAX_SHOWN else name[:_MAX_SHOWN] + "..." for name in names)
