"""Which columns of a table probably have the text and the label, by their cells, whatever the language."""

import shlex
from collections.abc import Iterable, Sequence

from pipelines.data.cells import TypedCell

_MAX_SHARE_OF_LABELS = 0.5  # different cells of a column of labels, of all its cells
_MIN_SHARE_OF_TEXTS = 0.5  # different cells of a column of texts
_MAX_LISTED = 3  # columns that may have the label
_MIN_WORDS = 3  # on average, of texts that may be a pair
_MIN_SHARE_OF_LENGTH = 0.5  # length of a second column of texts, of the longest one


def flags(table, wanted: Iterable[str]) -> str:
    """Returns flags to copy that name the columns, such as `--text-column Frage --label-column Thema`.

    Args:
        table: the first rows, a frame of str.
        wanted: "text" and "label", or one of them.

    Returns:
        "" if one of them is not found.
    """
    text = text_column(table)
    found = {"text": text, "label": None if text is None else label_column(table, text)}
    if any(found[name] is None for name in wanted):
        return ""
    return " ".join(f"--{name}-column {shlex.quote(str(found[name]))}" for name in wanted)


def text_column(table) -> str | None:
    """Returns the column with the longest cells, of those that are no numbers and mostly differ; None if there is none.

    Of objects in JSON, the longest text in them counts, with a dotted name such as data.text.
    """
    lengths = _lengths_of_texts(table)
    return max(lengths, key=lambda name: lengths[name], default=None)


def several_texts(table) -> str:
    """Returns what to do with two columns of texts of about the same length; "" if there are not exactly two."""
    lengths = _lengths_of_texts(table)
    longest = max(lengths.values(), default=0)
    alike = [name for name, length in lengths.items() if name in table and length >= _MIN_SHARE_OF_LENGTH * longest]
    alike = [name for name in alike if table[name].str.split().str.len().mean() >= _MIN_WORDS]
    if len(alike) != 2 or any("," in name for name in alike):
        return ""
    both = shlex.quote(",".join(alike))
    return f"--pair-columns {both} compares the two texts, --text-column {both} reads both"


def _lengths_of_texts(table) -> dict[str, int]:
    """Returns the columns that may have texts, each with the characters in its cells."""
    lengths = {}
    for column in table.columns:
        for name, cells in _with_fields(column, table[column].tolist()):
            if not _are_numbers(cells) and len(set(cells)) >= _MIN_SHARE_OF_TEXTS * len(cells):
                lengths[name] = sum(map(len, cells))
    return lengths


def label_column(table, text: str) -> str | None:
    """Returns the column with the fewest different cells, at least two; None if there is none.

    One with names counts before those with numbers.
    """
    return next(iter(_label_columns(table, text)), None)


def other_labels(table) -> str:
    """Returns what to do if the label is in another column than `flags` says; "" if no other one may have it."""
    text = text_column(table)
    others = [] if text is None else _label_columns(table, text)[1:]
    if not others:
        return ""
    return f"the label may also be in {', '.join(shlex.quote(str(name)) for name in others[:_MAX_LISTED])}"


def _label_columns(table, text: str) -> list[str]:
    """Returns the columns that may have the label, the likeliest first."""
    found = {}
    for column in table.columns:
        cells = [cell for cell in table[column].tolist() if cell.strip()]
        different = len(set(cells))
        if column != text and 2 <= different <= max(2, _MAX_SHARE_OF_LABELS * len(cells)):
            found[column] = (_are_numbers(cells), different)
    return sorted(found, key=lambda name: found[name])


def _with_fields(column: str, cells: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    """Yields the name and the cells of a column; in place of objects those of their fields that are texts."""
    values = [cell.value if isinstance(cell, TypedCell) else cell for cell in cells]
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) < len(cells):
        yield column, list(cells)
        return
    for name in objects[0]:
        fields = [value.get(name) for value in objects]
        if all(isinstance(field, str) for field in fields):
            yield f"{column}.{name}", fields


def _are_numbers(cells: Iterable[str]) -> bool:
    def is_number(cell: str) -> bool:
        try:
            float(cell)
        except ValueError:
            return not cell.strip()
        return True

    return all(map(is_number, cells))
