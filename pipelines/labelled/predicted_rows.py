"""The rows that `predict --input` writes: the user's columns as they are, followed by those of the prediction."""

import csv
import itertools
import json
from collections.abc import Collection
from typing import NamedTuple, TextIO

import numpy as np
import pandas as pd

from pipelines.data.cells import MissingCell, to_json
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR
from pipelines.labelled.config import multi_label
from pipelines.support import console
from pipelines.support.errors import UserError

_USUAL_PREFIX = "model_"


class PredictedRows(NamedTuple):
    """Writes rows and their predictions.

    Attributes:
        columns: of the first rows of the user; None: they are unknown.
        classes: names of the classes in the order of their ids.
        names: usual name of an output -> its name in the file: see `names_of_outputs`.
        suffix: .csv, .tsv or .jsonl.
    """

    columns: tuple[str, ...] | None
    classes: tuple[str, ...]
    names: dict[str, str]
    suffix: str

    def write(self, file: TextIO, rows: pd.DataFrame, outputs: dict[str, np.ndarray], header: bool) -> None:
        """Writes rows with all their columns, followed by those of the prediction.

        Args:
            file: where to write.
            rows: cells of the user: str; a `TypedCell` is written to JSON as the value that it has.
            outputs: of the default signature of a classifier, for all rows.
            header: whether to write the names of the columns.

        Raises:
            UserError: the rows have a column that the first rows do not have, and the file cannot have it.
        """
        self._check(rows)
        if self.suffix == ".jsonl":
            records = zip(rows.to_dict("records"), self._added(outputs).to_dict("records"), strict=True)
            for row, added in records:
                own = {name: to_json(cell) for name, cell in row.items() if not isinstance(cell, MissingCell)}
                file.write(
                    json.dumps(own | {name: to_json(value) for name, value in added.items()}, ensure_ascii=False)
                )
                file.write("\n")
        else:
            table = pd.concat([rows.reset_index(drop=True), self._added(outputs)], axis=1)
            separator = "\t" if self.suffix == ".tsv" else ","
            table.to_csv(
                file, sep=separator, index=False, header=header, float_format="%.6f", quoting=csv.QUOTE_MINIMAL
            )

    def _added(self, outputs: dict[str, np.ndarray]) -> pd.DataFrame:
        """The columns of the prediction."""
        if "labels" in outputs:
            sets = [names_of(labels) for labels in outputs["labels"]]
            columns = {
                "predicted": sets if self.suffix == ".jsonl" else [DEFAULT_LABELS_SEPARATOR.join(row) for row in sets]
            }
        else:
            columns = {"predicted": outputs["label"], "score": outputs["score"]}
        columns |= {f"p({name})": outputs["probabilities"][:, i] for i, name in enumerate(self.classes)}
        return pd.DataFrame({self.names[name]: values for name, values in columns.items()})

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


def writer_for(columns: list[str] | None, card: dict, suffix: str, prefix: str | None) -> PredictedRows:
    """Returns what writes the predictions of a model.

    Args:
        columns: of the first rows of the user; None: they are unknown.
        card: of the model.
        suffix: .csv, .tsv or .jsonl.
        prefix: see `names_of_outputs`.

    Raises:
        UserError: see `names_of_outputs`.
    """
    decision = ["predicted"] if multi_label(card["config"]) else ["predicted", "score"]
    outputs = [*decision, *(f"p({name})" for name in card["classes"])]
    names = names_of_outputs(outputs, columns or (), prefix)
    return PredictedRows(columns and tuple(columns), tuple(card["classes"]), names, suffix)


def names_of_outputs(outputs: list[str], columns: Collection[str], prefix: str | None) -> dict[str, str]:
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


def new_names(outputs: list[str], columns: Collection[str], prefix: str) -> dict[str, str]:
    """Returns output -> name of its column. If one of `columns` has the name of an output, all get the same prefix.

    Args:
        prefix: such as model_; where that is taken, too, it is model_2_, model_3_, ...
    """
    taken = set(columns)
    starts = itertools.chain(["", prefix], (f"{prefix}{number}_" for number in itertools.count(2)))
    start = next(start for start in starts if not any(start + name in taken for name in outputs))
    return {name: start + name for name in outputs}


def names_of(labels: np.ndarray) -> list[str]:
    """Returns a row of the output `labels` without its padding."""
    return [name for name in labels if name]
