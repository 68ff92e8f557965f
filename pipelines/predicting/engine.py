"""`predict --input` in this process: the files of a user are read, predicted and written, a chunk of rows at a time."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.data.text_chunks import Chunk, Columns
from pipelines.export.exported import Exported
from pipelines.predicting import input_files
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, predict_chunk
from pipelines.predicting.least_sure import least_sure_first
from pipelines.predicting.typed_files import convert_in_place
from pipelines.support import console, paths
from pipelines.support.errors import UserError
from pipelines.support.files import written_beside
from pipelines.support.paths import Data

_MAX_SHOWN = 5  # rows without outputs that are shown


class _Read(NamedTuple):
    """A chunk, and where its rows are.

    Attributes:
        path: of its file.
        num_before: number of rows of the file before it.
    """

    chunk: Chunk
    path: str
    num_before: int

    def columns(self) -> Columns:
        return Columns(list(self.chunk.rows), self.chunk.column, self.path)


def predict_files(
    exported: Exported, source: Data, target: Path | None, steps: FileSteps, limit: int | None = None
) -> dict:
    """Predicts the rows of files.

    Args:
        source: see `input_files.find`; "-" is stdin.
        target: the file to write, which appears when all rows are predicted. None writes to stdout.
        steps: of the task.
        limit: number of rows to write: the first ones, in the order of `FileSteps.uncertainty` if there is one.

    Returns:
        The counts of `FileSteps.write`, and "poisoned": number of rows without outputs of their own. The first of them
        are shown on stderr. Rows in order of their uncertainty also have the counts of `least_sure`.

    Raises:
        UserError: there is nothing to read or to write, or a file cannot be read.
    """
    chunks = _chunks(input_files.find(source), steps)
    first = next(chunks, None)
    if first is None:
        raise UserError(f"{paths.shown(source)} has no rows")
    steps = steps.bound(first.columns())
    predict = steps.load(exported)
    reads = _started(first, chunks)
    if limit and not steps.uncertainty:
        reads = _first_rows(reads, limit)
    counts: dict = {"rows": 0, "skipped": 0, "poisoned": 0}
    opened: Any = written_beside(target, "w+b") if target else contextlib.nullcontext(_Stdout(steps.encoding))
    with (
        opened as file,
        console.bar(None, "texts") as bar,
    ):
        head: Predicted | None = None
        all_predicted = _predicted(predict, reads, counts, bar)
        if steps.uncertainty:
            all_predicted = least_sure_first(all_predicted, steps.uncertainty, limit, counts)
        for predicted in all_predicted:
            content, added = steps.write([predicted], counts["rows"])
            if head is None:
                head = predicted
                file.write(steps.head(head, 0) if steps.head else b"")
            file.write(content)
            add_counts(counts, added)
        if head is None:
            raise UserError(f"{paths.shown(source)} has no text to label: all are empty, or have no prediction")
        if target and steps.head:
            file.seek(0)
            file.write(steps.head(head, counts["rows"]))
        if steps.convert:
            convert_in_place(steps.convert, file)
    return counts


def first_columns(files: list[input_files.InputFile], steps: FileSteps) -> Columns | None:
    """Returns the columns of the first file with rows, and so finds out whether it can be read; None if there is none.

    Raises:
        UserError: a file cannot be read.
    """
    first = next(_chunks(files, steps), None)
    return first.columns() if first else None


def _chunks(files: list[input_files.InputFile], steps: FileSteps) -> Iterator[_Read]:
    """Yields the rows of all files; those of further files have the columns of the first one."""
    first: Columns | None = None
    for file in files:
        num_before = 0
        with input_files.here(file.path) as path:
            for chunk in steps.read(path, first):
                read = _Read(chunk, file.path, num_before)
                yield read
                first = first or read.columns()
                num_before += len(chunk.rows)


def _started(first: _Read, others: Iterator[_Read]) -> Iterator[_Read]:
    yield first
    yield from others


def _first_rows(reads: Iterator[_Read], limit: int) -> Iterator[_Read]:
    """Yields the first rows, and reads no further."""
    for read in reads:
        yield read._replace(chunk=read.chunk._replace(rows=read.chunk.rows[:limit]))
        limit -= len(read.chunk.rows)
        if limit <= 0:
            return


def _predicted(predict: Callable, reads: Iterator[_Read], counts: dict, bar) -> Iterator[Predicted]:
    """Yields the chunks with their outputs, and adds the number of their poisoned rows to the counts."""
    for read in reads:
        predicted, reasons = predict_chunk(predict, read.chunk)
        _show_poisoned(read, reasons, counts["poisoned"])
        counts["poisoned"] += len(reasons)
        bar.update(len(predicted.poisoned))
        yield predicted


def _show_poisoned(read: _Read, reasons: dict[int, str], num_before: int) -> None:
    """Shows the first rows without outputs.

    Args:
        num_before: number of rows that were found before.
    """
    shown = sorted(reasons.items())[: max(0, _MAX_SHOWN - num_before)]
    for row, reason in shown:
        console.say(f"{paths.shown(read.path)}, row {read.num_before + row + 1:,} has no prediction: {reason}")


class _Stdout:
    """stdout as a file of bytes, which is written from start to end."""

    def __init__(self, encoding: str):
        self._encoding = encoding

    def write(self, content: bytes) -> None:
        sys.stdout.write(content.decode(self._encoding))
        sys.stdout.flush()
