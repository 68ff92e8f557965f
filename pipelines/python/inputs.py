"""What users give the Python interface: texts and labels as lists, pandas and NumPy objects, or `tf.data.Dataset`."""

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.data import fields
from pipelines.data.fields import Field
from pipelines.python.errors import UserError

LABEL_TYPES = {"str": str, "bool": bool, "int": int, "float": float}  # names in the config -> types


def texts(values, name: str = "X") -> list[str]:
    """Returns texts as a list of str.

    Args:
        values: list, tuple, pandas Series, table of one column, NumPy array or `tf.data.Dataset` of str or UTF-8 bytes.
        name: of the argument, for messages.

    Raises:
        UserError: `values` is something else, or one of the texts is missing or no text.
    """
    return [_text(value, name, i) for i, value in enumerate(_items(values, name))]


def require_texts(values, name: str = "X") -> list[str]:
    """Returns texts as `texts` does, at least one."""
    found = texts(values, name)
    if not found:
        raise UserError(f"{name} has no texts: give at least one")
    return found


def cells_of_columns(X, columns: Sequence[Field]) -> list[str]:
    """Returns the cells of a table for a model of several columns: of the first row, of the second row, ...

    Raises:
        UserError: X is no table, or has no such column.
    """
    names = fields.columns_of(columns)
    if not hasattr(X, "columns"):
        raise UserError(f"the model reads the columns {', '.join(names)}: give X as a table that has them")
    fields.check("X", X, names)
    rows = zip(*(X[name] for name in names), strict=True)
    return ["" if _is_missing(cell) else str(cell) for row in rows for cell in row]


def _is_missing(cell) -> bool:
    return cell is None or cell != cell  # NaN


def texts_and_labels(values, labels) -> tuple[list[str], list]:
    """Returns texts and labels as lists of the same length, at least 1.

    Args:
        values: as in `texts`; or a `tf.data.Dataset` of pairs (text, label), with `labels` None.
        labels: list, Series or array of str, int, float or bool, all of one type.

    Raises:
        UserError: the errors of `texts`; or a label is missing, or the labels are of different types or another number.
    """
    if labels is None:
        values, labels = _pairs(values, "y", "the labels")
    found, classes = texts(values), [_label(label, i) for i, label in enumerate(_items(labels, "y"))]
    require_equal_lengths(found, classes, "texts", "labels")
    _require_one_type(classes)
    return found, classes


def label_lists(labels) -> tuple[list[list], list] | None:
    """Returns the labels of each text, and all labels in the order of the columns, if a text may have several labels.

    Args:
        labels: one list, tuple, set or array of labels for each text; or an array, sparse matrix or table of 0 and 1
            with a column for each label, whose names are those of the table, or 0, 1, 2, ...

    Returns:
        None if `labels` has one label for each text.

    Raises:
        UserError: a value is neither 0 nor 1, a label is missing, or no text has more than one label.
    """
    if hasattr(labels, "toarray"):  # a sparse matrix, without an import of SciPy
        labels = labels.toarray()
    if hasattr(labels, "columns") and labels.shape[1] > 1:
        names, indicators = [_label(name, 0) for name in labels.columns], labels.to_numpy()
    elif isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.shape[1] > 1:
        names, indicators = list(range(labels.shape[1])), labels
    else:
        is_column = isinstance(labels, np.ndarray) and labels.ndim == 2
        if is_column or labels is None or is_path(labels) or _is_dataset(labels):
            return None
        found = list(labels)
        if not found or not all(isinstance(each, list | tuple | set | frozenset | np.ndarray) for each in found):
            return None
        rows = [[_label(label, i) for label in each] for i, each in enumerate(found)]
        _require_one_type(label for row in rows for label in row)
        return _with_several(rows, "give one label, and no list, for each text"), sorted(set().union(*rows))
    if not np.isin(indicators, (0, 1)).all():
        raise UserError("y has several columns: each value must be 0 or 1, whether the text has the column's label")
    rows = [[names[i] for i in np.flatnonzero(row)] for row in indicators]
    return _with_several(rows, "give one label for each text, such as y.argmax(axis=1)"), names


def _require_one_type(labels: Iterable) -> None:
    """Raises a UserError if labels are of different types."""
    types = sorted({type(label).__name__ for label in labels})
    if len(types) > 1:
        raise UserError(f"y has labels of different types ({', '.join(types)}): convert them to one, such as str")


def _with_several(rows: list[list], remedy: str) -> list[list]:
    """Returns the labels of each text; raises a UserError if no text has several."""
    if all(len(row) < 2 for row in rows):
        raise UserError(f"y has no text with more than one label: {remedy}")
    return rows


def text_pairs(sources, targets) -> tuple[list[str], list[str]]:
    """Returns sentences and their translations as lists of the same length, at least 1.

    Args:
        sources: as in `texts`; or a `tf.data.Dataset` of pairs (source, target), with `targets` None.
        targets: as in `texts`.

    Raises:
        UserError: the errors of `texts`, or the numbers differ.
    """
    if targets is None:
        sources, targets = _pairs(sources, "y", "the translations")
    found, translations = texts(sources), texts(targets, "y")
    require_equal_lengths(found, translations, "sentences", "translations")
    return found, translations


def require_equal_lengths(first: list, second: list, first_name: str, second_name: str) -> None:
    """Raises a UserError if two lists are empty or of different lengths."""
    if len(first) != len(second):
        raise UserError(f"{len(first):,} {first_name} and {len(second):,} {second_name}: give one for each")
    if not first:
        raise UserError(f"there are no {first_name}: give at least one")


def weights(values) -> list[float]:
    """Returns weights of texts.

    Raises:
        UserError: one is no number of at least 0, or all are 0.
    """
    try:
        found = [float(value) for value in _items(values, "sample_weight")]
    except (TypeError, ValueError) as error:
        raise UserError(f"sample_weight has a value that is no number: {error}") from error
    if not all(math.isfinite(value) and value >= 0 for value in found) or not any(found):
        raise UserError("sample_weight: each weight must be a number of at least 0, and one above 0")
    return found


def is_path(values) -> bool:
    """Whether `values` names a file, folder or corpus instead of holding texts."""
    return isinstance(values, str | Path)


def class_names(labels: Iterable) -> dict[str, Any]:
    """Returns name -> label, sorted by label. A name is what stands in reports and in the export.

    Raises:
        UserError: a label is empty, or two labels have the same name.
    """
    names: dict[str, Any] = {}
    for label in sorted(set(labels)):
        name = str(label).strip()
        if not name:
            raise UserError(f"y has the empty label {label!r}: give it a name, or leave out its rows")
        if name in names:
            raise UserError(f"y has the labels {names[name]!r} and {label!r}: remove the spaces around them")
        names[name] = label
    return names


def _items(values, name: str) -> Iterable:
    """Returns the rows of a one-dimensional collection."""
    if isinstance(values, str | bytes | Path):
        raise UserError(f"{name} is one text: give a list of texts, such as [{_short(values)}]")
    if values is None or isinstance(values, dict | set | frozenset) or not isinstance(values, Iterable):
        raise UserError(f"{name} is of the type {type(values).__name__}: give a list, a Series or an array")
    if _is_dataset(values):
        return _dataset_items(values, name)
    if hasattr(values, "columns") and hasattr(values, "iloc"):  # a DataFrame, without an import of pandas
        columns = list(values.columns)
        if len(columns) != 1:
            listed = ", ".join(map(str, columns))
            raise UserError(
                f"{name} is a table with the columns {listed}: give one of them, such as df[{columns[0]!r}]"
            )
        return values.iloc[:, 0]
    if isinstance(values, np.ndarray):
        if values.ndim == 2 and values.shape[1] == 1:
            return values[:, 0]
        if values.ndim != 1:
            raise UserError(f"{name} is an array of the shape {values.shape}: give one of the shape (n,)")
    return values


def _is_dataset(values) -> bool:
    """Whether `values` is a tf.data.Dataset; if TensorFlow is not loaded, it is none."""
    return "tensorflow" in sys.modules and isinstance(values, sys.modules["tensorflow"].data.Dataset)


def _dataset_items(dataset, name: str) -> Iterable:
    for element in dataset.as_numpy_iterator():
        if isinstance(element, tuple | dict):
            raise UserError(f"{name} is a Dataset of several components: give one of them with dataset.map")
        yield from np.ravel(element) if isinstance(element, np.ndarray) else [element]  # a batch, or one row


def _pairs(values, name: str, missing: str) -> tuple[list, list]:
    """Returns the two columns of a Dataset of pairs, batched or not."""
    if not _is_dataset(values):
        raise UserError(f"{name} is missing: give {missing}, one for each text")
    first, second = [], []
    for element in values.as_numpy_iterator():
        if not isinstance(element, tuple) or len(element) != 2:
            raise UserError(f"the Dataset has no pairs: give one of (text, label), or give {missing} as {name}")
        for column, part in zip((first, second), element):
            column.extend(np.ravel(part) if isinstance(part, np.ndarray) else [part])
    return first, second


def _text(value, name: str, row: int) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if _is_missing(value):
        raise UserError(f"{name} has no text at position {row} ({value}): leave out the rows without a text")
    raise UserError(
        f"{name} has {_short(value)} at position {row}, of the type {type(value).__name__}: a text is a str"
    )


def _label(value, row: int):
    """Returns a label as a str, bool, int or float of Python."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return str(value)
    if _is_missing(value):
        raise UserError(f"y has no label at position {row} ({value}): leave out the rows without a label")
    if not isinstance(value, bool | int | float):
        kind = type(value).__name__
        raise UserError(f"y has {_short(value)} at position {row}, of the type {kind}: a label is a str, int or bool")
    return value


def _is_missing(value) -> bool:
    """Whether `value` is None, NaN, or pandas' NA or NaT."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _short(value) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
