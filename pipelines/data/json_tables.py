"""Tables in JSON: an object on each line, an array of objects, or the forms that pandas writes.

    lines      {"text": "a", "label": "x"}
    array      [{"text": "a", "label": "x"}, ...], also as the only array in an object, such as {"data": [...]}
    columns    {"text": {"0": "a", ...}, "label": {"0": "x", ...}}, or with a list for each column
    split      {"columns": ["text", "label"], "data": [["a", "x"], ...]}

The columns of objects in objects have dotted names, such as data.text, where an option names them.
"""

import io
import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipelines.data import encodings
from pipelines.data.cells import parse_fraction
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import SURROGATES, Format, Row, without_surrogates
from pipelines.support.errors import UserError

NO_OBJECT = "the line is no JSON object"  # why a row is left out
NO_ROW = "the item is no JSON object"
TRANSLATION = "translation"  # Hugging Face's column of {language: text}
_ARRAYS = (".json",)  # suffixes of files that may be one value, on one long line, too
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_STARTS = re.compile(r"\s*[\[{]")


def rows(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a file: see `tables.named_chunks`.

    Raises:
        UserError: it is no JSON with rows.
    """
    may_be_one_line = encodings.suffix(path) in _ARRAYS
    file, encoding = encodings.open_text(path, options.encoding, limits_lines=not may_be_one_line)
    is_strict = options.encoding_errors == "strict"
    nested = [name for name in names or _wanted(options) if "." in name]
    try:
        with io.TextIOWrapper(file, encoding, options.encoding_errors) as text:
            lines = (line for line in text if line.strip())
            first, second = next(lines, ""), next(lines, None)
            value = _parsed(first, is_strict)
            if isinstance(value, dict) and (second is not None or not may_be_one_line):
                yield _row(value, nested)
                for line in itertools.chain([second] if second else [], lines):
                    value = _parsed(line, is_strict)
                    yield _row(value, nested) if isinstance(value, dict) else NO_OBJECT
                return
            if value is None and _STARTS.match(first):
                value = _parsed(first + (second or "") + text.read(), is_strict)
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(path, error) from error
    found = _rows_of(value)
    if found is None:
        raise UserError(
            f'{path}: expected a JSON object on each line, such as {{"text": "...", "label": "..."}}, or one array of '
            "objects"
        )
    for each in found:
        yield _row(each, nested) if isinstance(each, dict) else NO_ROW


def _wanted(options: TableOptions) -> list[str]:
    """Returns the columns that options name."""
    named = (options.text_column, options.label_column, options.trained_text_column, options.trained_label_column)
    return [*filter(None, named), *options.label_columns]


def _rows_of(value: Any) -> Iterable[Any] | None:
    """Returns the rows in one value of JSON; None if it has none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value:
        return None
    cells = list(value.values())
    if set(value) <= {"columns", "data", "index", "schema"} and all(isinstance(each, list) for each in cells):
        names = value.get("columns")
        if names and all(isinstance(row, list) for row in value["data"]):
            return (dict(zip(map(str, names), row, strict=False)) for row in value["data"])
    arrays = [each for each in cells if isinstance(each, list) and each and isinstance(each[0], dict)]
    if len(arrays) == 1:
        return arrays[0]
    if all(isinstance(each, dict) and each.keys() == cells[0].keys() for each in cells):
        cells = [list(each.values()) for each in cells]
    if all(isinstance(each, list) and len(each) == len(cells[0]) for each in cells):
        return (dict(zip(value, row, strict=True)) for row in zip(*cells, strict=True))
    return [value]


def _row(value: dict[str, Any], nested: Iterable[str]) -> dict[str, Any]:
    """Returns a row with the columns `nested` of objects in it, and a column for each language of translations."""
    for name in nested:
        if name not in value:
            found: Any = value
            for key in name.split("."):
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                value[name] = found
    return with_languages(value)


def with_languages(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with a column for each language in place of the column of translations, if it has that."""
    texts = row.get(TRANSLATION)
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        return row
    return {name: cell for name, cell in row.items() if name != TRANSLATION} | texts


def _without_halves(value, in_cells: bool):
    """A value of JSON with U+FFFD in place of lone halves of pairs: in its keys and, if asked for, its cells."""
    if isinstance(value, dict):
        return {without_surrogates(name): _without_halves(cell, in_cells) for name, cell in value.items()}
    if isinstance(value, list):
        return [_without_halves(each, in_cells) for each in value]
    return without_surrogates(value) if in_cells and isinstance(value, str) else value


def _parsed(text: str, is_strict: bool) -> Any:
    """Returns a value of JSON; None if it is none. Fractions stay as spelled; NaN is missing.

    Args:
        is_strict: whether its cells must be valid Unicode: programs that cut strings write lone halves of pairs.
    """
    try:
        value = json.loads(text, parse_float=parse_fraction, parse_constant=lambda name: None)
        if _HALF.search(text) or not is_strict and SURROGATES.search(text):
            value = _without_halves(value, is_strict)
    except (ValueError, RecursionError):
        return None
    return value


LINES_OR_ARRAY = Format((".jsonl", ".ndjson", ".json"), rows, frozenset({"encoding"}), can_grow=True)
