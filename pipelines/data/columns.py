"""Files of tokens and tags: one token per line in columns, and a blank line between sentences, as in CoNLL-2003."""

import collections
import csv
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipelines.data import token_columns
from pipelines.data.conllu import Fields, Lines
from pipelines.data.token_columns import Row
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

_DOCUMENT = re.compile(r"-DOCSTART-(?:\s|$)")
_MAY_BE_COMMENT = re.compile(r"#(?:\s|$)")
_IS_COMMENT = re.compile(r"#\s+(?:\w+\s+=\s|newdoc\b|newpar\b)")  # such as "# sent_id = 12"
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")
NAMES = "lines with the names of the columns"
_NUM_SHOWN = 40  # characters of a line in an error


def sentences(
    path: Path, lines: Lines, options: TokenOptions, dropped: dict[str, int], separator: str | None = None
) -> Iterator[Fields]:
    """Yields the sentences of a file.

    The separator divides the columns; without it tabs, or spaces if fewer than half of the lines have a tab. The first
    line may have the names of the columns. A line that starts with "# " is a comment unless it has as many columns as
    the other lines. A line that starts with -DOCSTART- starts a document.

    Args:
        path: for error messages.
        lines: returns the lines of the file, each time from the start.
        options: the columns of tags and tokens; see `token_columns.find`.
        dropped: reason -> number of lines; those that are left out are added.
        separator: the character between the columns; None finds it.

    Yields:
        Tokens, tags, text and number of the document. The source has no raw text: the tokens are joined with spaces.

    Raises:
        UserError: a line has only one column or another number of columns than the other lines; the columns are not
            found; or there are no sentences.
    """
    separator, num_columns = _layout(lines(), separator)

    def all_rows() -> Iterator[list[Row]]:
        return (rows for rows, _ in _sentences(path, lines(), separator, num_columns))

    has_sentences = False
    token, tag, has_names = 0, 0, False
    if num_columns:
        token, tag, has_names = token_columns.find(path, all_rows, options.column, options.token_column)
    if has_names:
        dropped[NAMES] = dropped.get(NAMES, 0) + 1
    for number, (rows, document) in enumerate(_sentences(path, lines(), separator, num_columns)):
        rows = rows[has_names and not number :]
        kept = [cells for cells in rows if cells[token]]
        if len(kept) < len(rows):
            reason = "lines without a token"
            dropped[reason] = dropped.get(reason, 0) + len(rows) - len(kept)
        if kept:
            has_sentences = True
            tokens = [cells[token] for cells in kept]
            yield tokens, [cells[tag] for cells in kept], " ".join(tokens), document
    if not has_sentences:
        raise UserError(
            f"{path} has no sentences: expected one token and its tag per line, and a blank line between sentences"
        )


def _layout(lines: Iterable[str], given: str | None) -> tuple[str, int]:
    """Returns what divides the columns, and the number of columns that most lines have; 0 if all lines are blank."""
    sizes = {separator: collections.Counter() for separator in ([given] if given else ["\t", " "])}
    num_lines = num_with_tabs = 0
    for line in lines:
        if line.strip() and not _MAY_BE_COMMENT.match(line) and not _DOCUMENT.match(line):
            num_lines += 1
            num_with_tabs += "\t" in line
            for separator, counts in sizes.items():
                counts[len(_cells(line, separator))] += 1
    separator = given or ("\t" if num_with_tabs and 2 * num_with_tabs >= num_lines else " ")
    return separator, sizes[separator].most_common(1)[0][0] if num_lines else 0


def _sentences(path: Path, lines: Iterable[str], separator: str, num_columns: int) -> Iterator[tuple[list[Row], int]]:
    """Yields (the rows of a sentence, the number of its document)."""
    rows, document, has_sentences = [], 0, False
    for number, line in enumerate(itertools.chain(lines, [""]), 1):
        cells = _cells(line, separator)
        is_comment = _is_comment(line, cells, num_columns)
        starts_document = _DOCUMENT.match(line) or (is_comment and _NEW_DOCUMENT.match(line))
        if rows and (starts_document or not line.strip()):
            yield rows, document
            rows, has_sentences = [], True
        if starts_document:
            document += has_sentences
            has_sentences = False
        elif line.strip() and not is_comment:
            if len(cells) != num_columns or num_columns < 2:
                raise _wrong_columns(path, number, line, separator, len(cells), num_columns)
            rows.append(cells)


def _cells(line: str, separator: str) -> Row:
    if separator == "\t":
        return [cell.strip() for cell in line.rstrip(" \t").split("\t")]
    if separator != " ":
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    cells = [cell for cell in line.split(" ") if cell]
    return ["", *cells] if line.startswith(" ") else cells  # the token of the line is white space


def _is_comment(line: str, cells: Row, num_columns: int) -> bool:
    if not _MAY_BE_COMMENT.match(line):
        return False
    return len(cells) != num_columns or bool(_IS_COMMENT.match(line))


def _wrong_columns(path: Path, number: int, line: str, separator: str, size: int, num_columns: int) -> UserError:
    shown = repr(line if len(line) <= _NUM_SHOWN else f"{line[:_NUM_SHOWN]}...")
    name = {"\t": "tab", " ": "space"}.get(separator, f"sign {separator!r}")
    if size == 1:
        return UserError(f"{path}, line {number}: only one column ({shown}): expected a token, a {name} and its tag")
    remedy = "fix the line"
    if separator == " ":
        remedy = "give one token and its tag per line, and divide them with tabs if a token has spaces"
    return UserError(f"{path}, line {number}: {size} columns ({shown}), but most lines have {num_columns}: {remedy}")
