"""What `predict --input` does with files, as steps that other processes can do, and with rows that no model reads.

    read    a file -> chunks of its rows
    load    a model -> a function of texts
    write   chunks with their outputs -> what a file of output has for them
    head    the start of a file of output, such as the names of its columns

`engine` runs these steps in one process; with --ray, `batch_prediction` runs them in many. The rows that they write are
the same. A task states its steps with `table_steps`, or with `row_files.row_steps` if it writes a row for each text.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from pipelines.data import encodings, text_chunks
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import SURROGATES
from pipelines.data.text_chunks import Chunk, Columns
from pipelines.export.exported import Exported
from pipelines.text.special_tokens import FIELD_MARK

NOT_UNICODE = "not valid Unicode"
_UNDECODED = re.compile("[\udc80-\udcff]")  # bytes that are not in the encoding, as `surrogateescape` keeps them
_MIN_UNDECODED = 5  # rows from which a file is taken to have another encoding


class Predicted(NamedTuple):
    """A chunk with its outputs.

    Attributes:
        chunk: rows of a file.
        outputs: what `FileSteps.load`'s function returned for their texts.
        poisoned: bool [rows], whether a row has no outputs of its own: those at its place are of an empty text.
    """

    chunk: Chunk
    outputs: Any
    poisoned: np.ndarray

    def texts(self) -> list[str]:
        """Returns the text of each row."""
        return self.chunk.texts()

    def take(self, rows: np.ndarray) -> "Predicted":
        """Returns the rows with these numbers, int [n], in this order."""
        chunk = self.chunk._replace(rows=self.chunk.rows.iloc[rows])
        return Predicted(chunk, _take(self.outputs, rows), self.poisoned[rows])


class FileSteps(NamedTuple):
    """The steps of a task's `predict --input`. All of them can be pickled.

    Attributes:
        options: what the outputs depend on besides the model and the files, for JSON.
        suffix: of the files that are written.
        chunks_per_part: number of chunks whose rows are one file of output.
        read: (path of a file, columns of the first file or None) -> its chunks.
        load: model -> function of texts, list of str, -> outputs.
        write: (predicted chunks, number of rows before them) -> (content of a file without its head, counts: name ->
            number, or name -> such a dict).
        head: (first predicted chunk, number of rows of the file) -> head of the file. Its length does not depend on the
            number of rows. None: there is no head.
        for_columns: columns of the first file -> these steps for them; None: they are the same for all columns.
        encoding: of the files that are written.
        convert: (what was written of a whole file, file) -> writes it in its format, which is not one of rows; None: it
            is written as it is.
        uncertainty: outputs -> how unsure the model is of each row, float [rows]; the rows are then written in this
            order: see `least_sure`. None: in the order of the input.
    """

    options: dict
    suffix: str
    chunks_per_part: int
    read: Callable[[str, Columns | None], Iterator[Chunk]]
    load: Callable[[Exported], Callable[[list[str]], Any]]
    write: Callable[[list[Predicted], int], tuple[bytes, dict]]
    head: Callable[[Predicted, int], bytes] | None = None
    for_columns: Callable[[Columns], "FileSteps"] | None = None
    uncertainty: Callable[[Any], np.ndarray] | None = None
    encoding: str = "utf-8"
    convert: Callable[[BinaryIO, BinaryIO], None] | None = None

    def bound(self, first: Columns | None) -> "FileSteps":
        """Returns the steps for files with the columns of the first one, None if it has no rows."""
        return self.for_columns(first) if self.for_columns and first else self


def table_steps(
    options: TableOptions,
    suffix: str,
    chunks_per_part: int,
    load: Callable,
    write: Callable,
    head: Callable | None = None,
    **given,
) -> FileSteps:
    """Returns the steps of a task that reads tables, and other files with one text per line.

    Args:
        options: how to read a table.
        suffix, chunks_per_part, load, write, head: see `FileSteps`.
        given: further settings on which the outputs depend; "max_lines" is also that of `text_chunks.read_file`.
    """
    options = dataclasses.replace(options, encoding_errors="surrogateescape")
    read = functools.partial(_read, options, given.get("max_lines"))
    return FileSteps(dataclasses.asdict(options) | given, suffix, chunks_per_part, read, load, write, head)


def _read(options: TableOptions, max_lines: int | None, path: str, first: Columns | None) -> Iterator[Chunk]:
    for i, chunk in enumerate(text_chunks.read_file(path, options, first, max_lines)):
        if i == 0:
            _check_encoding(path, chunk, options)
        yield chunk


def _check_encoding(path: str, chunk: Chunk, options: TableOptions) -> None:
    """Checks that the first chunk of a file has text in the encoding with which it was read.

    A few rows that are not in it are rows to count. If none of the texts with letters beyond ASCII is in it, the whole
    file has another encoding.

    Raises:
        UserError: it has; the message names the likely one.
    """
    texts = [text for text in (each.replace(FIELD_MARK, "") for each in chunk.texts()) if not text.isascii()]
    undecoded = [text for text in texts if _UNDECODED.search(text)]
    if len(undecoded) < max(_MIN_UNDECODED, len(texts)):
        return
    try:
        "\n".join(undecoded).encode("utf-8", "surrogateescape").decode(options.encoding or "utf-8")
    except UnicodeDecodeError as error:
        raise encodings.not_decodable(Path(path), error) from error
    except UnicodeEncodeError:  # of UTF-16, whose bytes are not those of a text in UTF-8
        return


def predict_chunk(predict: Callable[[list[str]], Any], chunk: Chunk) -> tuple[Predicted, dict[int, str]]:
    """Predicts all rows of a chunk but those that cannot be read or that make the model fail.

    Args:
        predict: texts -> outputs. If it raises an error, halves of the texts are tried, down to single ones.

    Returns:
        (the chunk with its outputs, row in the chunk -> why it is poisoned). The cells of a row that is not valid
        Unicode have U+FFFD in place of what is not.

    Raises:
        Exception: that of `predict`, if it fails for an empty text, too: then the model is broken and not the text.
    """
    rows, reasons = _valid_unicode(chunk.rows)
    texts = chunk._replace(rows=rows).texts()
    for row in reasons:
        texts[row] = ""
    try:
        outputs = predict(texts)
    except Exception:  # whatever a graph raises
        predict([""])
        for row, error in _failing(predict, texts, 0):
            reasons[row] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error) else ''}"
            texts[row] = ""
        outputs = predict(texts)
    poisoned = np.zeros(len(rows), bool)
    poisoned[list(reasons)] = True
    return Predicted(chunk._replace(rows=rows), outputs, poisoned), reasons


def add_counts(total: dict, counts: dict) -> None:
    """Adds counts, numbers or dicts of them, to the total."""
    for name, value in counts.items():
        if isinstance(value, dict):
            add_counts(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value


def _take(outputs: Any, rows: np.ndarray) -> Any:
    """Returns the outputs of some rows: of an array, of a list, or of each value of a dict."""
    if isinstance(outputs, dict):
        return {name: _take(values, rows) for name, values in outputs.items()}
    return outputs[rows] if isinstance(outputs, np.ndarray) else [outputs[row] for row in rows]


def _failing(predict: Callable, texts: list[str], first: int) -> Iterator[tuple[int, Exception]]:
    """Yields (number of the text from `first` on, error) for each text that fails on its own."""
    try:
        predict(texts)
    except Exception as error:
        if len(texts) == 1:
            yield first, error
            return
        half = len(texts) // 2
        yield from _failing(predict, texts[:half], first)
        yield from _failing(predict, texts[half:], first + half)


def _valid_unicode(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[int, str]]:
    """Returns the rows without lone surrogates, and row -> why it is poisoned for those that had some."""
    reasons = {}
    for name in rows:
        cells = rows[name].tolist()
        try:
            "".join(cells).encode()
            continue
        except UnicodeEncodeError:
            pass
        for i, cell in enumerate(cells):
            valid, replaced = SURROGATES.subn("\N{REPLACEMENT CHARACTER}", cell)
            if replaced:
                cells[i], reasons[i] = valid, NOT_UNICODE
        rows = rows.assign(**{name: pd.Series(cells, rows.index, object)})
    return rows, reasons
