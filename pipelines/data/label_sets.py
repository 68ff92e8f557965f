"""Several labels per text: from the cells of a table to sets of labels, and from those to ids of classes."""

import collections

import numpy as np
import pandas as pd

from pipelines.data.labels import in_order, require_repeated
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR
from pipelines.support.errors import UserError

_YES, _NO = ("1", "1.0", "true"), ("0", "0.0", "false")
_USUAL_SEPARATORS = ("|", ",", ";", "/", "+", " ")
_MAX_SHOWN = 40


def split_cells(cells: np.ndarray, separator: str) -> np.ndarray:
    """Returns the labels of each cell, without surrounding space, empty labels and repetitions.

    Args:
        cells: object [n] of str, such as "news|sport"; an empty cell has no label.

    Returns:
        Object [n] of tuples of str.
    """
    names = ([name.strip() for name in cell.split(separator)] for cell in cells)
    return _array(tuple(dict.fromkeys(filter(None, row))) for row in names)


def from_columns(path, table: pd.DataFrame, columns: tuple[str, ...]) -> np.ndarray:
    """Returns the labels of each row of a table with one column of 0 and 1 per label.

    Args:
        path: of the table, for messages.
        columns: the columns, which are the names of the labels.

    Returns:
        Object [n] of tuples of str.

    Raises:
        UserError: a cell is neither 0 nor 1.
    """
    has_label = np.zeros((len(table), len(columns)), bool)
    for i, name in enumerate(columns):
        cells = table[name].str.strip().str.lower()
        has_label[:, i] = cells.isin(_YES)
        others = ~cells.isin((*_YES, *_NO))
        if others.any():
            row = int(np.flatnonzero(others)[0])
            value = repr(table[name].iloc[row][:_MAX_SHOWN]) if table[name].iloc[row] else "an empty cell"
            raise UserError(
                f"{path}: the column {name!r} of --label-columns has {value} in row {row + 1}: each cell must be 0 or "
                f"1 (cells that are neither: {others.sum():,})"
            )
    return _array(tuple(name for name, has in zip(columns, row, strict=True) if has) for row in has_label)


def classes_of(
    sets: np.ndarray, source: str, separator: str | None = None, columns: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Returns the classes in `sets`: in the order of `columns`, or in that of `labels.in_order`.

    Args:
        sets: object [n] of tuples of str.
        source: name of the data for messages.
        separator: that of --labels-separator, if the labels have one.
        columns: those of --label-columns, if the labels have columns.

    Raises:
        UserError: there are fewer than two classes, nearly every label occurs once, no cell has the separator, or a
            column has no 1.
    """
    counts = collections.Counter(label for row in sets for label in row)
    if separator is not None and counts and max(len(row) for row in sets) < 2:
        raise UserError(f"{source}: no label has the separator {separator!r}, {_hint(counts)}")
    if len(counts) < 2:
        found = f"the only label is {next(iter(counts))!r}" if counts else "no text has a label"
        raise UserError(f"{source}: {found}; at least two classes are needed")
    without = [name for name in columns if name not in counts]
    if without:
        names = ", ".join(map(repr, without))
        raise UserError(
            f"{source}: no text has the label {names} of --label-columns, so it cannot be learned: leave it out, or "
            "add texts that have it"
        )
    require_repeated(len(counts), counts.total(), source)
    return columns or in_order(set(counts))


def indicators(sets: np.ndarray, classes: tuple[str, ...]) -> tuple[np.ndarray, collections.Counter]:
    """Returns which classes each text has, and the labels that are none of `classes`.

    Args:
        sets: object [n] of tuples of str.

    Returns:
        (int32 [n, classes] of 0 and 1, unknown label -> number of texts).
    """
    index = {name: i for i, name in enumerate(classes)}
    found, unknown = np.zeros((len(sets), len(classes)), np.int32), collections.Counter()
    for row, names in enumerate(sets):
        found[row, [index[name] for name in names if name in index]] = 1
        unknown.update(name for name in names if name not in index)
    return found, unknown


def are_sets(labels: np.ndarray) -> bool:
    """Whether labels, object [n], are tuples: several labels per text."""
    return bool(labels.size) and isinstance(labels[0], tuple)


def joined(sets: np.ndarray, polarity: bool = False) -> np.ndarray:
    """Returns the labels of each text as one str, object [n]; as `labels.normalize_labels`, without polarity."""
    return np.array([DEFAULT_LABELS_SEPARATOR.join(sorted(row)) or "no label" for row in sets], dtype=object)


def rarest(has_label: np.ndarray) -> np.ndarray:
    """Returns the index of the rarest label of each text, int [n]; the number of classes for a text without a label.

    Args:
        has_label: int [n, classes] of 0 and 1.
    """
    counts = np.append(has_label.sum(axis=0), has_label.size + 1)
    with_none = np.concatenate([has_label, np.ones((len(has_label), 1), np.int32)], axis=1)
    return np.where(with_none == 1, counts, has_label.size + 2).argmin(axis=1)


def _hint(counts: collections.Counter) -> str:
    """What to do if no cell has the separator: use another one that the labels have, or none."""
    likely = [separator for separator in _USUAL_SEPARATORS if any(separator in label for label in counts)]
    example = next((label for label in counts if likely and likely[0] in label), next(iter(counts)))
    shown = example if len(example) <= _MAX_SHOWN else example[:_MAX_SHOWN] + "..."
    remedy = f"give --labels-separator {likely[0]!r}" if likely else "leave out --labels-separator"
    return f"only labels such as {shown!r}: {remedy}, or name another column with --label-column"


def _array(rows) -> np.ndarray:
    """Returns tuples as an object array [n]; NumPy makes a table of tuples of equal length otherwise."""
    return np.fromiter(rows, dtype=object)
