"""Many short texts, each with a beginning and an end: lines of a text, files, those of a folder, or rows of a table."""

import array
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pipelines.data import encodings, tables, text_chunks, texts
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.data.texts import TextSplits
from pipelines.support import console, paths
from pipelines.support.errors import UserError
from pipelines.support.files import with_home
from pipelines.support.numbers import counted
from pipelines.support.paths import Data
from pipelines.text.invisible import is_blank

Kind = Literal["line", "file", "row"]
_SUFFIX = ".txt"  # of the files of a folder, which may be compressed


@dataclasses.dataclass(frozen=True)
class Documents:
    """The documents `first` to `last` (excluded) of a source.

    Attributes:
        source: see `texts.Text.source`; for rows a table, or several with the same columns; for files also a folder.
        kind: what a document is. Empty ones are left out.
        last: None is the end of the source.
        characters: number of characters of the documents.
        options: the encoding of the files, and the column of a table with the text.
    """

    source: Data | None
    kind: Kind
    first: int
    last: int | None
    characters: int
    options: TableOptions = DEFAULTS

    def pieces(self) -> Iterator[str]:
        """Yields the documents."""
        return itertools.islice(read(self.source, self.kind, self.options), self.first, self.last)


def split_documents(
    data: Data | None,
    valid: Data | None,
    kind: Kind,
    valid_fraction: float,
    max_valid: int | None = None,
    options: TableOptions = DEFAULTS,
) -> TextSplits:
    """Finds the documents and holds out the last ones for validation.

    Args:
        valid: documents for validation; None holds out the last `valid_fraction` of `data`.
        max_valid: maximum number of characters for validation, but for one document; None: no limit.
        options: see `Documents`.

    Raises:
        UserError: a source cannot be read, or has too few documents.
    """
    sizes = _sizes(data, kind, options)
    if valid:
        valid_sizes = _sizes(valid, kind, options)
        _require(valid_sizes, 1, valid, kind)
        _require(sizes, 1, data, kind)
        last = None
        if max_valid is not None and sum(valid_sizes) > max_valid:
            last = max(1, _num_within(valid_sizes, max_valid))
            valid_sizes = valid_sizes[:last]
        return TextSplits(
            Documents(data, kind, 0, None, sum(sizes), options),
            Documents(valid, kind, 0, last, sum(valid_sizes), options),
        )
    _require(sizes, 2, data, kind)
    cut = min(max(int(len(sizes) * (1 - valid_fraction)), 1), len(sizes) - 1)
    if max_valid is not None:
        cut = max(cut, len(sizes) - max(1, _num_within(reversed(sizes), max_valid)))
    return TextSplits(
        Documents(data, kind, 0, cut, sum(sizes[:cut]), options),
        Documents(data, kind, cut, None, sum(sizes[cut:]), options),
    )


def _sizes(data: Data | None, kind: Kind, options: TableOptions) -> array.array:
    """Returns the number of characters of each document, in 8 bytes each."""
    num_skipped: list[int] = []
    sizes = array.array("Q", map(len, read(data, kind, options, num_skipped)))
    if sum(num_skipped):
        console.say(f"note: left out, {counted(sum(num_skipped), 'row')} that cannot be read")
    return sizes


def _num_within(sizes: Iterable[int], limit: int) -> int:
    """Returns how many of the first documents have at most `limit` characters together."""
    return sum(total <= limit for total in itertools.accumulate(sizes))


def read(
    data: Data | None, kind: Kind, options: TableOptions = DEFAULTS, num_skipped: list[int] | None = None
) -> Iterator[str]:
    """Yields the documents of a source that are not empty.

    Args:
        options: see `Documents`.
        num_skipped: gets the numbers of rows of tables that cannot be read.

    Raises:
        UserError: it cannot be read.
    """
    return (document for document in _read(data, kind, options, num_skipped) if not is_blank(document))


def _read(data: Data | None, kind: Kind, options: TableOptions, num_skipped: list[int] | None) -> Iterator[str]:
    if kind == "line":
        yield from texts.lines(data, options.encoding)
    elif kind == "file":
        for each in [None] if data is None else _files(data):
            yield "".join(texts.pieces(each, encoding=options.encoding))
    elif data is None:
        raise UserError("--documents row: the embedded sample is no table: give one with --data")
    else:
        for path in paths.each(data):
            if not tables.is_table(Path(path)):
                raise UserError(f"--documents row: {path} is not a table: give a CSV or TSV file, or --documents line")
        for chunk in text_chunks.read(data, options):
            if num_skipped is not None:
                num_skipped.append(chunk.num_skipped)
            yield from map(str, chunk.rows[chunk.column])


def _files(data: Data) -> Iterator[str]:
    """Yields the paths of files; of a folder, those of its text files and of the folders in it, by name."""
    for each in paths.each(data):
        folder = with_home(each)
        if not folder.is_dir():
            yield each
            continue
        files = sorted(path for path in folder.rglob("*") if encodings.suffix(path) == _SUFFIX and path.is_file())
        if not files:
            raise UserError(f"{each} has no {_SUFFIX} files: give a pattern of other names, such as '{each}/*.md'")
        yield from map(str, files)


def _require(sizes: Sequence[int], count: int, data: Data | None, kind: Kind) -> None:
    if len(sizes) < count:
        found = f"{len(sizes)} {kind}{'s' * (len(sizes) != 1)} with text"
        hint = ": give validation documents with --valid" if len(sizes) else ""
        raise UserError(f"{paths.shown(data)} has {found}{hint}")
