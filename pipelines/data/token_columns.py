"""Which columns of a file of tokens and tags have the tokens and the tags."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.support.errors import UserError
from pipelines.support.numbers import counted

Row = list[str]  # cells of a line
Sentences = Callable[[], Iterator[list[Row]]]  # the rows of each sentence, each time from the start

_TOKEN_NAMES = frozenset(("token", "tokens", "word", "words", "form"))
_TAG_NAMES = frozenset(("tag", "tags", "label", "labels", "pos", "upos", "xpos", "ner", "chunk"))
_TAG_NAMES |= {f"{kind}_{name}" for kind in ("pos", "ner", "chunk") for name in ("tag", "tags", "label", "labels")}
_NUM_JUDGED = 1000  # sentences of the start of a file from which a column is judged
_MIN_COLUMNS_WITH_OTHERS = 3  # number or name, token and tag
_NUMBER = re.compile(r"[0-9]{1,18}")
_LIKE_NUMBER = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_ORDINALS = ("first", "second")


class Columns(NamedTuple):
    """Indices of the columns.

    Attributes:
        token, tag: of the tokens and of the tags.
        has_names: whether the first line has the names of the columns.
    """

    token: int
    tag: int
    has_names: bool


def find(path: Path, sentences: Sentences, column: str | None, token_column: str | None) -> Columns:
    """Finds the columns.

    Without `token_column`, the tokens are in the column that the first line calls token or word, else in the first
    column, or in the second one if the first one has running numbers.

    Args:
        path: for error messages.
        sentences: all rows of the file have the same number of cells, at least two.
        column, token_column: number from 1 or name in the first line; None for the column of the tag is the last one
            that does not have the tokens.

    Raises:
        UserError: there is no such column, both are the same one, or the first column has hardly the tokens.
    """
    first_row = next(sentences(), [[]])[0]
    names = [cell.lower() for cell in first_row]
    num_columns = len(names)
    given = [name.lower() for name in (column, token_column) if name is not None and not name.isdecimal()]
    has_names = are_names(names) or any(name in names for name in given)

    def rows() -> Iterator[list[Row]]:
        return without_names(sentences()) if has_names else sentences()

    token = _given("--token-column", path, token_column, names, has_names, range(num_columns))
    is_given = token is not None
    if token is None and has_names:
        token = next((i for i, name in enumerate(names) if name in _TOKEN_NAMES), None)
        is_given = token is not None
    if token is None:
        token = _token(path, rows, num_columns)
    others = [i for i in range(num_columns) if i != token and (is_given or i > token)]
    tag = _given("--column", path, column, names, has_names, others or [num_columns - 1], token)
    if tag is None and others:
        tag = others[-1]
    return Columns(token, num_columns - 1 if tag is None else tag, has_names)


def without_names(sentences: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """Yields the rows of the sentences but the first row."""
    sentences = iter(sentences)
    first = next(sentences, [])[1:]
    return itertools.chain([first] if first else [], sentences)


def are_names(names: list[str]) -> bool:
    """Whether the first line has the names of the columns: a usual one of tokens, and a usual one of tags."""
    return any(name in _TOKEN_NAMES for name in names) and any(name in _TAG_NAMES for name in names)


def is_tag_name(name: str) -> bool:
    """Whether a column with this name usually has tags."""
    return name.lower() in _TAG_NAMES


def _given(option: str, path: Path, value: str | None, names: list[str], has_names: bool, allowed, token=None):
    """Returns the index of a column that the user names; None for None.

    Args:
        names: of the columns, if `has_names`.
        allowed: indices of columns.
        token: index of the column with the tokens; None: not known yet.

    Raises:
        UserError: there is no such column, or it is not allowed.
    """
    if value is None:
        return None
    first, last = allowed[0] + 1, allowed[-1] + 1
    remedy = f"give a number from {first} to {last}" if first < last else f"give {last}"
    if has_names and value.lower() in names:
        index = names.index(value.lower())
    elif not value.isdecimal():
        if has_names or option == "--token-column":
            raise UserError(f"{option} {value}: the first line of {path} has no such name: {remedy}")
        raise UserError(f"{option} {value}: {path} is not CoNLL-U, so its columns have numbers: {remedy}")
    elif not 1 <= int(value) <= len(names):
        raise UserError(f"{option} {value}: {path} has {counted(len(names), 'column')}: {remedy}")
    else:
        index = int(value) - 1
    if index not in allowed:
        remedy = f"give another one from {first} to {last}" if token not in (None, 0) and token > first - 1 else remedy
        raise UserError(f"{option} {value}: the tokens of {path} are in column {token + 1}: {remedy}")
    return index


def _token(path: Path, sentences: Sentences, num_columns: int) -> int:
    """Returns the index of the column with the tokens.

    Raises:
        UserError: the column that would have them has numbers, names of documents, or hardly a cell.
    """
    if num_columns < _MIN_COLUMNS_WITH_OTHERS:
        return 0
    token = 1 if _has_running_numbers(rows for rows in sentences()) else 0
    if num_columns - token < _MIN_COLUMNS_WITH_OTHERS:
        return token
    judged = list(itertools.islice(sentences(), _NUM_JUDGED))
    doubt = _doubt(judged, token)
    if doubt is None:
        return token
    remedy = "name the one with the tokens with --token-column"
    likely = next((i for i in range(token + 1, num_columns - 1) if _doubt(judged, i) is None), None)
    if likely is not None:
        remedy += f", such as --token-column {likely + 1} ({_shown(judged, likely)})"
    raise UserError(f"{path}: the {_ORDINALS[token]} column {doubt} ({_shown(judged, token)}): {remedy}")


def _has_running_numbers(sentences: Iterable[list[Row]]) -> bool:
    """Whether the first cells count the rows of each sentence: each time from the same number, or ever on."""
    first = last = None
    for rows in sentences:
        cells = [cells[0] for cells in rows]
        if not all(map(_NUMBER.fullmatch, cells)):
            return False
        start = int(cells[0])
        first = start if first is None else first
        if cells != [str(number) for number in range(start, start + len(rows))]:
            return False
        if start != first and start <= last:
            return False
        last = start + len(rows) - 1
    return True


def _doubt(sentences: list[list[Row]], column: int) -> str | None:
    """Returns why a column hardly has the tokens, as the end of a sentence; None if it may have them."""
    cells = [[row[column] for row in rows] for rows in sentences]
    flat = list(itertools.chain.from_iterable(cells))
    if 10 * sum(bool(_LIKE_NUMBER.fullmatch(cell)) for cell in flat) >= 9 * len(flat) > 0:
        return "has numbers"
    if 2 * flat.count("") > len(flat):
        return "is mostly empty"
    pairs = [pair for each in cells for pair in itertools.pairwise(each)]
    if 2 * sum(a == b for a, b in pairs) > len(pairs):
        return "mostly repeats the line before"
    return None


def _shown(sentences: list[list[Row]], column: int) -> str:
    """Returns the first cell of a column that is not empty."""
    cells = (row[column] for rows in sentences for row in rows if row[column])
    return repr(next(cells, "")[:40])
