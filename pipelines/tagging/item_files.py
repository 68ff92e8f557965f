"""Files with a row for each token or each entity of the texts of `predict --input`."""

import functools
from collections.abc import Callable
from typing import NamedTuple

from pipelines.data.table_options import TableOptions
from pipelines.data.text_chunks import Columns
from pipelines.predicting.doccano import PREFIX
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.predicting.output_forms import TABLES, Form, form_of
from pipelines.predicting.row_files import RowWriter, new_names
from pipelines.predicting.typed_files import WRITERS

_NUMBER = "text_number"
_CHUNKS_PER_PART = 5
Count = Callable[[list[dict]], dict]  # tagged texts -> counts


class Items(NamedTuple):
    """What the rows of a file are. All of it can be pickled.

    Attributes:
        columns: of the file, after that with the number of the text.
        of: tagged text -> its rows: dicts with these keys.
    """

    columns: tuple[str, ...]
    of: Callable[[dict], list[dict]]


def item_steps(
    items: Items,
    options: TableOptions,
    suffix: str,
    load: Callable,
    count: Count,
    given: dict,
    uncertainty: Callable | None = None,
    first: Columns | None = None,
) -> FileSteps:
    """Returns the steps that write a row for each item, after the number of its text: the first that is written is 1.

    Before them are the user's columns but that of the text. One that has the name of a column of the items gets
    `input_` before its name.

    Args:
        options: how to read a table.
        suffix: .csv, .tsv, .jsonl, .parquet or .xlsx.
        load: see `FileSteps`; outputs are tagged texts.
        count: see `Count`.
        given: settings on which the outputs depend.
        uncertainty: see `FileSteps`.
        first: columns of the first file.
    """
    columns = first and tuple(_names_of_others(items, first.names, first.text).values())
    form = form_of(first, options, suffix) if suffix in TABLES else Form()
    names = (_NUMBER, *items.columns)
    writer = RowWriter(columns, {name: name for name in names}, suffix, form)
    write = functools.partial(_write, items, writer, count)
    steps = table_steps(options, suffix, _CHUNKS_PER_PART, load, write, writer.head, **given)
    for_columns = functools.partial(item_steps, items, options, suffix, load, count, given, uncertainty)
    convert = (
        functools.partial(WRITERS[suffix], [*columns, *names]) if suffix in WRITERS and columns is not None else None
    )
    return steps._replace(for_columns=for_columns, encoding=form.encoding, convert=convert, uncertainty=uncertainty)


def token_items(sort: bool) -> Items:
    """Returns the rows of the tokens of a text. sort: whether it has an uncertainty, which is written with each."""
    columns = ("sentence", "token", "tag", "score", "start", "end", *(("uncertainty",) if sort else ()))
    return Items(columns, functools.partial(_tokens, columns))


def _tokens(columns: tuple[str, ...], result: dict) -> list[dict]:
    num_tokens = len(result["tokens"])
    nothing = [None] * num_tokens  # texts whose tokens are given have no positions
    lists = [
        [number + 1 for number in result.get("sentence", [0] * num_tokens)],
        *(result[name] for name in ("tokens", "tags", "scores")),
        *(result.get(name, nothing) for name in ("start", "end")),
        [result.get("uncertainty")] * num_tokens,
    ]
    return [dict(zip(columns, row)) for row in zip(*lists, strict=True)]


def _write(
    items: Items, writer: RowWriter, count: Count, predicted: list[Predicted], num_before: int
) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    content, counts = [], {"rows": 0, "skipped": 0}
    for each in predicted:
        chunk, results = each.chunk, each.outputs
        found = [(row, item) for row, result in enumerate(results) for item in items.of(result)]
        outputs = {_NUMBER: [num_before + counts["rows"] + row + 1 for row, _ in found]}
        outputs |= {name: [item[name] for _, item in found] for name in items.columns}
        names = _names_of_others(items, list(chunk.rows), chunk.column)
        rows = chunk.rows[list(names)].rename(columns=names).iloc[[row for row, _ in found]]
        content.append(writer.rows(rows, outputs))
        add_counts(counts, {"rows": len(results), "skipped": chunk.num_skipped} | count(results))
    return writer.form.encoded("".join(content), is_start=False), counts


def _names_of_others(items: Items, names: list[str], text: str) -> dict[str, str]:
    """Returns the names of the user's columns but that of the text -> their names in the file."""
    others = [name for name in names if name != text]
    taken = [name for name in others if name in items.columns or name == _NUMBER]
    return {name: name for name in others} | new_names(taken, others, PREFIX)
