"""Files with a row for each text: the columns of the user as they are, followed by those of the outputs."""

import csv
import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipelines.data.cells import MissingCell, to_json
from pipelines.data.table_options import TableOptions
from pipelines.data.text_chunks import Columns
from pipelines.export.exported import Exported
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.predicting.output_forms import TABLES, Form, form_of
from pipelines.predicting.typed_files import WRITERS
from pipelines.support import console
from pipelines.support.errors import UserError

_LINES = ".txt"  # the first output of each row, without the user's columns
_USUAL_PREFIX = "model_"
_UNCERTAINTY = "uncertainty"
_PART_CHUNKS = 5


@dataclasses.dataclass(frozen=True)
class RowTask:
    """What a task writes for each text. All of it can be pickled.

    Attributes:
        names: names of the outputs; see `columns`.
        load: see `FileSteps`.
        columns: what the function of `load` returned -> output -> a value for each text, in the order of `names`: str,
            int, float, or a list for JSON. None: it is a dict that has these outputs.
        count: (texts, what the function of `load` returned, bool [texts]: whether a text has outputs of its own) ->
            counts of the task; see `FileSteps.write`. None: there are no others.
        uncertainty: see `FileSteps`; it is also an output, after the others.
        given: settings on which the outputs depend, for `table_steps`.
        chunks_per_part: see `FileSteps`.
    """

    names: tuple[str, ...]
    load: Callable
    columns: Callable[..., Mapping[str, Sequence]] | None = None
    count: Callable[..., dict] | None = None
    uncertainty: Callable[..., np.ndarray] | None = None
    given: dict = dataclasses.field(default_factory=dict)
    chunks_per_part: int = _PART_CHUNKS


def load_signature(exported: Exported, loaded=None):
    """Returns the signature `serving_default`: texts -> dict of arrays.

    Args:
        loaded: `exported`, if it is loaded already.
    """
    loaded = loaded or exported.load()
    from pipelines.export.signatures import (
        BatchedSignature,
        of_texts,
    )  # after `load`, which hides TensorFlow's messages

    return BatchedSignature(of_texts(loaded.signatures), model=loaded)


def row_steps(task: RowTask, options: TableOptions, suffix: str, prefix: str | None = None) -> FileSteps:
    """Returns the steps of a task that writes a row for each text.

    Args:
        options: how to read a table.
        suffix: one of `PredictRowsCommand.suffixes`; or .txt for the first output alone, a line for each text.
        prefix: of the names of the columns that are written; see `names_of_outputs`.
    """
    return _steps(task, options, suffix, prefix, None)


def _steps(task: RowTask, options: TableOptions, suffix: str, prefix: str | None, first: Columns | None) -> FileSteps:
    """See `row_steps`. The steps write for files with the columns `first`."""
    if suffix == _LINES:
        write = functools.partial(_write_lines, task)
        return table_steps(options, suffix, task.chunks_per_part, task.load, write, **task.given)
    outputs = (*task.names, _UNCERTAINTY) if task.uncertainty else task.names
    names = names_of_outputs(outputs, first.names if first else (), prefix)
    form = form_of(first, options, suffix) if suffix in TABLES else Form()
    writer = RowWriter(first and tuple(first.names), names, suffix, form)
    write = functools.partial(_write_rows, task, writer)
    given = {"names": names, **task.given}
    steps = table_steps(options, suffix, task.chunks_per_part, task.load, write, writer.head, **given)
    for_columns = functools.partial(_steps, task, options, suffix, prefix)
    convert = None
    if suffix in WRITERS and first:
        convert = functools.partial(WRITERS[suffix], [*first.names, *names.values()])
    return steps._replace(
        for_columns=for_columns, uncertainty=task.uncertainty, encoding=form.encoding, convert=convert
    )


def _write_rows(task: RowTask, writer: "RowWriter", predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    content = (writer.rows(each.chunk.rows, _outputs(task, each)) for each in predicted)
    return writer.form.encoded("".join(content), is_start=False), _counts(task, predicted)


def _write_lines(task: RowTask, predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    lines = (f"{value}\n" for each in predicted for value in _outputs(task, each)[task.names[0]])
    return "".join(lines).encode(), _counts(task, predicted)


def _outputs(task: RowTask, predicted: Predicted) -> Mapping[str, Sequence]:
    """Returns output -> values. Those of a row without outputs of its own are empty."""
    raw, poisoned = predicted.outputs, predicted.poisoned
    outputs = task.columns(raw) if task.columns else {name: raw[name] for name in task.names}
    if task.uncertainty:
        outputs = {**outputs, _UNCERTAINTY: task.uncertainty(raw)}
    if not poisoned.any():
        return outputs
    emptied = {}
    for name, values in outputs.items():
        series = pd.Series(values, dtype=values.dtype if isinstance(values, np.ndarray) else object)
        empty = np.nan if series.dtype.kind == "f" else "" if isinstance(values[0], str) else None
        series[poisoned] = empty
        emptied[name] = series.to_numpy()
    return emptied


def _counts(task: RowTask, predicted: list[Predicted]) -> dict:
    counts = {"rows": 0, "skipped": 0}
    for chunk, outputs, poisoned in predicted:
        add_counts(counts, {"rows": len(poisoned), "skipped": chunk.num_skipped})
        if task.count:
            add_counts(counts, task.count(chunk.texts(), outputs, ~poisoned))
    return counts


class RowWriter(NamedTuple):
    """Writes rows and their outputs.

    Attributes:
        columns: of the first rows of the user; None: they are unknown.
        names: usual name of an output -> its name in the file: see `names_of_outputs`.
        suffix: .csv, .tsv or .jsonl; of .parquet and .xlsx, the rows are written as of .jsonl and converted.
        form: of tables.
    """

    columns: tuple[str, ...] | None
    names: dict[str, str]
    suffix: str
    form: Form = Form()

    def head(self, first: Predicted, num_rows: int) -> bytes:
        """Returns the line with the names of the columns; nothing for JSON. See `FileSteps.head`."""
        if self.suffix not in TABLES:
            return b""
        names = first.chunk.rows if self.columns is None else self.columns
        table = self._table(pd.DataFrame(columns=[*names, *self.names.values()]), header=True)
        return self.form.encoded(table, is_start=True)

    def rows(self, rows: pd.DataFrame, outputs: Mapping[str, Sequence]) -> str:
        """Returns rows with all their columns, followed by those of the outputs.

        Args:
            rows: cells of the user: str; a `TypedCell` is written to JSON as the value that it has.
            outputs: usual name of an output -> a value for each row.

        Raises:
            UserError: the rows have a column that the first rows do not have, and the file cannot have it.
        """
        self._check(rows)
        added = pd.DataFrame({self.names[name]: values for name, values in outputs.items()})
        if self.suffix in TABLES:
            return self._table(pd.concat([rows.reset_index(drop=True), added], axis=1), header=False)
        lines = []
        for row, output in zip(rows.to_dict("records"), added.to_dict("records"), strict=True):
            cells = ((name, cell) for name, cell in row.items() if not isinstance(cell, MissingCell))
            own = {name: to_json(cell, keeps_dates=self.suffix in WRITERS) for name, cell in cells}
            lines.append(json.dumps(own | {name: to_json(value) for name, value in output.items()}, ensure_ascii=False))
        return "".join(f"{line}\n" for line in lines)

    def _table(self, table: pd.DataFrame, header: bool) -> str:
        return table.to_csv(
            sep=self.form.separator,
            index=False,
            header=header,
            float_format="%.6f",
            decimal=self.form.decimal,
            quoting=csv.QUOTE_MINIMAL,
            lineterminator="\n",
        )

    def _check(self, rows: pd.DataFrame) -> None:
        known = rows if self.columns is None else self.columns
        added = [name for name in rows if name not in known]  # objects of JSON have any keys
        taken = [name for name in rows if name in self.names.values()]
        if taken:
            raise UserError(
                f"the column {taken[0]!r}, which only later rows have, is also the name of an output: give the outputs "
                "another one with --prefix"
            )
        if added and self.suffix != ".jsonl":
            raise UserError(
                f"the column {added[0]!r} is only in later rows, and the header of a {self.suffix} file is written: "
                "write .jsonl, or give the first row all columns"
            )


def names_of_outputs(outputs: Sequence[str], columns: Collection[str], prefix: str | None) -> dict[str, str]:
    """Returns output -> name of its column, which is none of the user's `columns`.

    Args:
        prefix: start of all names. None: see `new_names`; if it is not empty, this is said on stderr.

    Raises:
        UserError: with `prefix`, a column has the name of an output.
    """
    if prefix is None:
        names = new_names(outputs, columns, _USUAL_PREFIX)
        taken = [name for name in outputs if name in columns]
        if taken:
            console.say(
                f"the input has the columns {', '.join(taken)}, which stay as they are: the prediction is in "
                f"{', '.join(names.values())} (--prefix gives other names)"
            )
        return names
    names = {name: prefix + name for name in outputs}
    taken = [name for name in names.values() if name in columns]
    if taken:
        raise UserError(f"--prefix {prefix!r}: the input has a column {taken[0]!r}, too: give another prefix")
    return names


def new_names(outputs: Sequence[str], columns: Collection[str], prefix: str) -> dict[str, str]:
    """Returns output -> name of its column. If one of `columns` has the name of an output, all get the same prefix.

    Args:
        prefix: such as model_; where that is taken, too, it is model_2_, model_3_, ...
    """
    taken = set(columns)
    starts = itertools.chain(["", prefix], (f"{prefix}{number}_" for number in itertools.count(2)))
    start = next(start for start in starts if not any(start + name in taken for name in outputs))
    return {name: start + name for name in outputs}
