"""Tables with a token and its tag in each row, and a column that tells sentences apart."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import token_columns
from pipelines.data.conllu import NO_TAG, Fields
from pipelines.data.table_options import TableOptions
from pipelines.data.token_columns import Row
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet")
_NOT_IN_NAMES = re.compile(r"[^a-z]+")
_KINDS = "(?:id|idx|index|no|nr|num|number|name)?"
_SENTENCE = re.compile(f"(?:sentence|sent|sentences){_KINDS}")
_DOCUMENT = re.compile(f"(?:document|doc|file|article){_KINDS}")
_CHUNK_ROWS = 10_000
_EMPTY = "rows without a token"


class _Columns(NamedTuple):
    """Indices of columns; `sentence` and `document` are None where there are none."""

    token: int
    tag: int
    sentence: int | None
    document: int | None


def has_tokens(names: Iterable[str]) -> bool:
    """Whether a table with these columns has a token and its tag in each row."""
    return token_columns.are_names([name.strip().lower() for name in names])


def has_sentences(names: list[str]) -> bool:
    """Whether a table with these columns has tokens, tags, and sentences or documents."""
    return has_tokens(names) and any(_is(_SENTENCE, name) or _is(_DOCUMENT, name) for name in names)


def sentences(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of a table.

    A sentence starts where the cell of its column differs from the last one; an empty cell is that of the row before,
    as in a table that has `Sentence: 1` in the first row of a sentence only. Without such a column, each document is a
    sentence.

    Args:
        dropped: reason -> number of rows; those that are left out are added.

    Raises:
        UserError: the table cannot be read, a column does not exist, or there are no sentences.
    """
    from pipelines.data import tables  # takes half a second that files of other formats do not need

    table_options = TableOptions(encoding=options.encoding, separator=options.cell_separator())
    first_rows = tables.columns(path, table_options)
    columns = _find(path, list(first_rows), first_rows.iloc[0].tolist(), options)
    rows = _rows(path, tables.named_chunks(path, _CHUNK_ROWS, table_options, list(first_rows)), dropped)
    tokens: list[str] = []
    tags: list[str] = []
    sentence = document = ""
    number = 0
    for row in rows:
        sentence_here, document_here = (
            before if index is None else row[index].strip() or before
            for index, before in ((columns.sentence, sentence), (columns.document, document))
        )
        if tokens and (sentence_here, document_here) != (sentence, document):
            yield tokens, tags, " ".join(tokens), number
            tokens, tags = [], []
            number += document_here != document
        sentence, document = sentence_here, document_here
        token = row[columns.token].strip()
        if token:
            tokens.append(token)
            tags.append(row[columns.tag].strip() or NO_TAG)
        else:
            dropped[_EMPTY] = dropped.get(_EMPTY, 0) + 1
    if not tokens and not number:
        raise UserError(f"{path} has no sentences: give a table with a token and its tag in each row")
    if tokens:
        yield tokens, tags, " ".join(tokens), number


def _rows(path: Path, chunks, dropped: dict[str, int]) -> Iterator[Row]:
    for frame, left_out in chunks:
        for reason, count in left_out.items():
            dropped[reason] = dropped.get(reason, 0) + count
        yield from frame.values.tolist()


def _find(path: Path, names: list[str], first_row: Row, options: TokenOptions) -> _Columns:
    """Finds the columns: see `token_columns.find`. Without --column the tag is in the last one with a usual name."""
    sentence, document = (
        next((i for i, name in enumerate(names) if _is(kind, name)), None) for kind in (_SENTENCE, _DOCUMENT)
    )
    column = options.column
    if column is None:
        usual = [i for i, name in enumerate(names) if token_columns.is_tag_name(name.strip())]
        column = str(usual[-1] + 1)
    rows = [[name.strip() for name in names], first_row]
    found = token_columns.find(path, lambda: iter([rows]), column, options.token_column)
    return _Columns(found.token, found.tag, sentence, document)


def _is(kind: re.Pattern, name: str) -> bool:
    return bool(kind.fullmatch(_NOT_IN_NAMES.sub("", name.lower())))


def first_names(line: str, separator: str | None) -> list[str]:
    """Returns the cells of the first line of a file of text, as far as quotes do not matter."""
    found = separator or next((sign for sign in ("\t", ";", ",", "|") if sign in line), ",")
    return [cell.strip().strip('"') for cell in line.split(found)]
