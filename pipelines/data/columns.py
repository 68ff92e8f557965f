"""Files of tokens and tags: one token per line in columns, and a blank line between sentences, as in CoNLL-2003."""

import collections
import re
from pathlib import Path

from pipelines.support.errors import UserError

_Row = list[str]  # cells of a line
_DOCUMENT = re.compile(r"-DOCSTART-(?:\s|$)")
_MAY_BE_COMMENT = re.compile(r"#(?:\s|$)")
_IS_COMMENT = re.compile(r"#\s+(?:\w+\s+=\s|newdoc\b|newpar\b)")  # such as "# sent_id = 12"
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")
_MIN_COLUMNS_WITH_NUMBERS = 3  # number, token and tag
_NUM_SHOWN = 40  # characters of a line in an error


def read(path: Path, text: str, column: str | None) -> tuple:
    """Reads tokens and tags.

    Tabs divide the columns, or spaces if fewer than half of the lines have a tab. The token is in the first column; or
    in the second one if the first one numbers the tokens of each sentence from 1. A line that starts with "# " is a
    comment unless it has as many columns as the other lines. A line that starts with -DOCSTART- starts a document.

    Args:
        path: for error messages.
        text: the content of the file.
        column: number of the column with the tag, from 1; None is the last one.

    Returns:
        The fields of `TaggedSentences`. The source has no raw text: the tokens are joined with spaces.

    Raises:
        UserError: a line has only one column or another number of columns than the other lines; there is no such
            column, or it has the tokens; or there are no sentences.
    """
    lines = text.split("\n")
    separator, num_columns = _layout(lines)
    sentences, documents = _sentences(path, lines, separator, num_columns)
    token = 1 if num_columns >= _MIN_COLUMNS_WITH_NUMBERS and _has_numbers(sentences) else 0
    rows = [[cells for cells in sentence if cells[token]] for sentence in sentences]
    without_token = sum(map(len, sentences)) - sum(map(len, rows))
    documents = [document for document, sentence in zip(documents, rows) if sentence]
    rows = [sentence for sentence in rows if sentence]
    if not rows:
        raise UserError(
            f"{path} has no sentences: expected one token and its tag per line, and a blank line between sentences"
        )
    tag = _tag_column(path, column, num_columns, token)
    tokens = [[cells[token] for cells in sentence] for sentence in rows]
    tags = [[cells[tag] for cells in sentence] for sentence in rows]
    dropped = {"lines without a token": without_token} if without_token else {}
    return tokens, tags, [" ".join(each) for each in tokens], documents, dropped


def _layout(lines: list[str]) -> tuple[str, int]:
    """Returns what divides the columns, and the number of columns that most lines have; 0 if all lines are blank."""
    with_columns = [
        line for line in lines if line.strip() and not _MAY_BE_COMMENT.match(line) and not _DOCUMENT.match(line)
    ]
    num_with_tabs = sum("\t" in line for line in with_columns)
    separator = "\t" if num_with_tabs and 2 * num_with_tabs >= len(with_columns) else " "
    sizes = collections.Counter(len(_cells(line, separator)) for line in with_columns)
    return separator, sizes.most_common(1)[0][0] if sizes else 0


def _sentences(path: Path, lines: list[str], separator: str, num_columns: int) -> tuple[list[list[_Row]], list[int]]:
    """Returns (the rows of each sentence, the number of each sentence's document)."""
    sentences, documents, rows, document = [], [], [], 0
    for number, line in enumerate([*lines, ""], 1):
        cells = _cells(line, separator)
        is_comment = _is_comment(line, cells, num_columns)
        starts_document = _DOCUMENT.match(line) or (is_comment and _NEW_DOCUMENT.match(line))
        if rows and (starts_document or not line.strip()):
            sentences.append(rows)
            documents.append(document)
            rows = []
        if starts_document:
            document += bool(documents) and documents[-1] == document
        elif line.strip() and not is_comment:
            if len(cells) != num_columns or num_columns < 2:
                raise _wrong_columns(path, number, line, separator, len(cells), num_columns)
            rows.append(cells)
    return sentences, documents


def _cells(line: str, separator: str) -> _Row:
    if separator == "\t":
        return [cell.strip() for cell in line.rstrip(" \t").split("\t")]
    cells = [cell for cell in line.split(" ") if cell]
    return ["", *cells] if line.startswith(" ") else cells  # the token of the line is white space


def _is_comment(line: str, cells: _Row, num_columns: int) -> bool:
    if not _MAY_BE_COMMENT.match(line):
        return False
    return len(cells) != num_columns or bool(_IS_COMMENT.match(line))


def _has_numbers(sentences: list[list[_Row]]) -> bool:
    """Whether the first cells number the rows of each sentence."""
    return all(cells[0] == str(number) for rows in sentences for number, cells in enumerate(rows, 1))


def _tag_column(path: Path, column: str | None, num_columns: int, token: int) -> int:
    """Returns the index of the column with the tag.

    Args:
        token: index of the column with the token.
    """
    if column is None:
        return num_columns - 1
    first = token + 2  # both counted from 1
    allowed = f"a number from {first} to {num_columns}" if first < num_columns else str(num_columns)
    if not column.isdecimal():
        raise UserError(f"--column {column}: {path} is not CoNLL-U, so its columns have numbers: give {allowed}")
    if int(column) > num_columns or int(column) < 1:
        raise UserError(f"--column {column}: {path} has {num_columns} columns: give {allowed}")
    if int(column) < first:
        raise UserError(f"--column {column}: the tokens of {path} are in column {token + 1}: give {allowed}")
    return int(column) - 1


def _wrong_columns(path: Path, number: int, line: str, separator: str, size: int, num_columns: int) -> UserError:
    shown = repr(line if len(line) <= _NUM_SHOWN else f"{line[:_NUM_SHOWN]}...")
    name = "tab" if separator == "\t" else "space"
    if size == 1:
        return UserError(f"{path}, line {number}: only one column ({shown}): expected a token, a {name} and its tag")
    remedy = "fix the line"
    if separator == " ":
        remedy = "give one token and its tag per line, and divide them with tabs if a token has spaces"
    return UserError(f"{path}, line {number}: {size} columns ({shown}), but most lines have {num_columns}: {remedy}")
