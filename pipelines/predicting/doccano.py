"""Rows with their predictions as doccano imports them: {"text": ..., "label": [...], other columns}, one on each line.

A label is a name for texts, and [start, end, name] for spans, counted in characters. doccano keeps the other columns as
metadata of the text. https://doccano.github.io/doccano/tutorial
"""

import functools
from collections.abc import Callable, Collection

import numpy as np

from pipelines.data.table_options import TableOptions
from pipelines.predicting.file_steps import FileSteps, Predicted
from pipelines.predicting.row_files import RowTask, new_names, row_steps

LABELS = "label"
_TEXT = "text"
PREFIX = "input_"  # of the user's columns that have a name of doccano or of an output


def doccano_steps(task: RowTask, options: TableOptions) -> FileSteps:
    """Returns the steps that write the predictions of a task for doccano. Rows without outputs are left out.

    Args:
        task: its first output is `LABELS`: a list for each text.
        options: how to read a table.
    """
    steps = row_steps(task, options, ".jsonl")
    write = functools.partial(_write, steps.write, {_TEXT, *steps.options["names"].values()})
    return steps._replace(write=write, for_columns=None)


def _write(write: Callable, names: Collection[str], predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    return write([_renamed(each.take(np.flatnonzero(~each.poisoned)), names) for each in predicted], num_before)


def _renamed(predicted: Predicted, names: Collection[str]) -> Predicted:
    """Returns rows whose column with the text is called text; their other columns have none of `names`."""
    chunk = predicted.chunk
    others = [name for name in chunk.rows if name != chunk.column]
    renamed = new_names([name for name in others if name in names], others, PREFIX)
    rows = chunk.rows.rename(columns={chunk.column: _TEXT, **renamed})
    return predicted._replace(chunk=chunk._replace(rows=rows, column=_TEXT))
