"""Tables of sentences and their translations: which columns have them, and the rows."""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.data import languages, texts
from pipelines.data.pair_options import PairOptions
from pipelines.support.errors import UserError

Row = list[str] | str  # the cells of a row, or why it cannot be read

NO_TAB = "no tab"
_SOURCE_NAMES = frozenset(("source", "src", "source_text", "source_sentence", "input", "original"))
_TARGET_NAMES = frozenset(("target", "tgt", "trg", "target_text", "target_sentence", "translation", "output"))
_NUM_JUDGED = 100  # first rows from which a column is judged
_MIN_ROWS_OF_CONSTANT = 10
_CHUNK_ROWS = 10_000
_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)?")
_ID = re.compile(r"(?:[^\W\d]|[-_.:/#])*[0-9]+")


class Columns(NamedTuple):
    """Indices of the columns.

    Attributes:
        source, target: of the sentences and of the translations.
        has_names: whether the first row has the names of the columns.
        pair: languages such as "en-de" that the names state; None if they state none.
    """

    source: int
    target: int
    has_names: bool
    pair: str | None


def read(
    path: Path, pair: str | None, options: PairOptions, names: Sequence[str] | None = None
) -> tuple[Columns, Iterator[Row]]:
    """Reads a table; a file whose name is that of no table has tabs between its cells.

    Args:
        pair: languages such as "en-de"; None for those of the names of the columns.
        names: of the columns, if they are known.

    Returns:
        (the columns, the rows without the names of the columns).

    Raises:
        UserError: the file cannot be read, or it is unclear which columns have the pairs.
    """
    found, rows = _rows(path, options)
    names = names or found
    first = list(itertools.islice(rows, _NUM_JUDGED))
    judged = [row for row in first if not isinstance(row, str)]
    if not first:
        raise UserError(f"{path} is empty")
    chosen = _choose(path, names, judged, pair, options)
    rows = itertools.chain(first, rows)
    return chosen, (itertools.islice(rows, 1, None) if chosen.has_names and names is None else rows)


def state_sides(names: Sequence[str]) -> bool:
    """Whether names of columns state two sides: two languages, or source and target."""
    return len([name for name in names if languages.code(name)]) > 1 or _by_role(list(names)) is not None


def _rows(path: Path, options: PairOptions) -> tuple[list[str] | None, Iterator[Row]]:
    """Returns (the names of the columns, if the format states them; all rows)."""
    from pipelines.data import delimited, encodings, tables  # take half a second that other files do not need

    if not tables.is_table(path):
        separator = options.table_options().separator or "\t"
        return None, (line.split(separator) for line in texts.lines(str(path), options.encoding))
    has_names = encodings.suffix(path) not in (*delimited.SUFFIXES, ".xlsx")
    table_options = options.table_options(has_names)
    return list(tables.columns(path, table_options)) if has_names else None, _cells(path, table_options)


def _cells(path: Path, table_options) -> Iterator[Row]:
    from pipelines.data import tables

    for frame, left_out in tables.named_chunks(path, _CHUNK_ROWS, table_options):
        for reason, count in left_out.items():
            yield from itertools.repeat(reason, count)
        yield from frame.to_numpy(object).tolist()


def _choose(
    path: Path, names: Sequence[str] | None, rows: list[list[str]], pair: str | None, options: PairOptions
) -> Columns:
    """Chooses the columns.

    Args:
        names: of the columns, if the format states them.
        rows: the first ones of the table.
    """
    wanted = (options.source_column, options.target_column)
    first = [cell.strip() for cell in names or (rows[0] if rows else [])]
    has_names = names is not None or (not options.no_header and _are_names(first, rows[1:], pair, wanted))
    header = first if has_names else None
    below = rows[1:] if has_names and names is None else rows
    num_columns = max([len(first), *map(len, rows)], default=0)
    if num_columns < 2:
        raise UserError(
            f"{path} has no tabs: each line needs a sentence, a tab and its translation (or give --target)"
            if header is None
            else f"{path} has one column, {header[0]}: a sentence and its translation need two (or give --target)"
        )
    given = [
        _given(flag, path, value, header, num_columns)
        for flag, value in zip(("--source-column", "--target-column"), wanted, strict=True)
    ]
    source, target = given if None not in given else _found(path, header, below, pair, num_columns, given)
    if source == target:
        raise UserError(f"{path}: column {source + 1} has both sides: give another --source-column or --target-column")
    return Columns(source, target, has_names, _pair_of(header, source, target))


def _are_names(first: list[str], below: list[list[str]], pair: str | None, wanted: tuple[str | None, ...]) -> bool:
    """Whether the first row has the names of the columns."""
    lower = [cell.lower() for cell in first]
    if any(name is not None and name.lower() in lower for name in wanted):
        return True
    if pair and set(pair.lower().split("-")) & set(lower):
        return True
    if len({languages.code(cell) for cell in first} - {None}) > 1:
        return True
    if set(lower) & _SOURCE_NAMES and set(lower) & _TARGET_NAMES:
        return True
    columns = ([row[i] for row in below if i < len(row)] for i in range(len(first)))
    return any(
        len(column) > 1 and not _NUMBER.fullmatch(name) and all(map(_NUMBER.fullmatch, column))
        for name, column in zip(first, columns, strict=True)
    )


def _given(flag: str, path: Path, value: str | None, header: list[str] | None, num_columns: int) -> int | None:
    """Returns the index of a column that the user names; None for None."""
    if value is None:
        return None
    lower = [name.lower() for name in header or ()]
    if value.lower() in lower:
        return lower.index(value.lower())
    if value.isdecimal() and 1 <= int(value) <= num_columns:
        return int(value) - 1
    listed = f"; its columns are: {', '.join(header)}" if header else f": give a number from 1 to {num_columns}"
    raise UserError(f"{flag} {value}: {path} has no such column{listed}")


def _found(
    path: Path,
    header: list[str] | None,
    rows: list[list[str]],
    pair: str | None,
    num_columns: int,
    given: list[int | None],
) -> list[int]:
    """Returns the indices of source and target. At most one of them is given; the other one is found.

    Raises:
        UserError: it is unclear which they are.
    """
    for found in (_by_language(path, header, pair), _by_role(header)) if header else ():
        if found:
            return [index if index is not None else other for index, other in zip(given, found, strict=True)]
    free = [i for i in range(num_columns) if i not in given]
    texts_only = [i for i in free if not _is_id(rows, i)]
    needed = given.count(None)
    chosen = texts_only if len(texts_only) >= needed else free
    shown = f"the columns {', '.join(header)}" if header else f"{num_columns} columns"
    remedy = f"{path} has {shown}: name those of the pairs with --source-column and --target-column"
    if header and len(chosen) > needed:
        raise UserError(remedy)
    constant = next((i for i in chosen[:needed] if _is_constant(rows, i)), None)
    if constant is not None and len(free) > needed:
        raise UserError(f"{remedy} (column {constant + 1} has {rows[0][constant]!r} in all rows)")
    others = iter(chosen)
    return [next(others) if index is None else index for index in given]


def _by_language(path: Path, header: list[str], pair: str | None) -> list[int] | None:
    """Returns the columns whose names are the languages of the pair, or the only two languages of the header."""
    lower = [name.lower() for name in header]
    codes = [languages.code(name) for name in header]
    if pair:
        found = []
        for language in pair.lower().split("-"):
            code = languages.code(language)
            names, name = (lower, language) if language in lower else (codes, code)
            found.append(names.index(name) if name and name in names else None)
        if None not in found:
            return found
        if any(codes) or found != [None, None]:
            raise UserError(f"--pair {pair}: {path} has the columns {', '.join(header)}")
        return None
    with_language = [i for i, code in enumerate(codes) if code]
    if len(with_language) > 2:
        raise UserError(f"{path} has the columns {', '.join(header)}: name two languages with --pair, such as en-de")
    return with_language if len(with_language) == 2 else None


def _by_role(header: list[str]) -> list[int] | None:
    """Returns the columns that are called source and target, or the like."""
    lower = [name.lower() for name in header]
    found = [
        next((i for i, name in enumerate(lower) if name in names), None) for names in (_SOURCE_NAMES, _TARGET_NAMES)
    ]
    return None if None in found else found


def _pair_of(header: list[str] | None, source: int, target: int) -> str | None:
    codes = [languages.code(header[i]) for i in (source, target)] if header else [None]
    return "-".join(codes) if all(codes) and codes[0] != codes[1] else None


def _is_id(rows: list[list[str]], column: int) -> bool:
    """Whether the cells of a column are numbers, or names of rows such as s1."""
    cells = [row[column].strip() for row in rows if column < len(row)]
    return bool(cells) and all(_NUMBER.fullmatch(cell) or _ID.fullmatch(cell) for cell in cells)


def _is_constant(rows: list[list[str]], column: int) -> bool:
    cells = [row[column] for row in rows if column < len(row)]
    return len(cells) >= _MIN_ROWS_OF_CONSTANT and len(set(cells)) == 1
