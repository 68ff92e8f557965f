"""`predict --input --for entities` and `--for spacy`: files of the entities of texts. Positions count characters.

entities    a row for each entity, with the columns of its text but the text itself
spacy       ["text", {"entities": [[start, end, label]]}] on each line, as in spaCy's training examples

For doccano see `predicting/doccano.py`.
"""

import functools
import json
from collections.abc import Callable

from pipelines.data.table_options import TableOptions
from pipelines.data.text_chunks import Columns
from pipelines.predicting.doccano import PREFIX
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.predicting.output_forms import TABLES, Form, form_of
from pipelines.predicting.row_files import RowWriter, new_names
from pipelines.predicting.typed_files import WRITERS

_COLUMNS = {  # name of a column -> key of an entity
    "entity": "text",
    "label": "label",
    "score": "score",
    "start": "start",
    "end": "end",
}
_NUMBER = "text_number"
_CHUNKS_PER_PART = 5
Count = Callable[[list[dict]], dict]  # tagged texts -> counts


def entity_steps(
    options: TableOptions, suffix: str, load: Callable, count: Count, given: dict, first: Columns | None = None
) -> FileSteps:
    """Returns the steps that write a row for each entity, after the number of its text: the first that is written is 1.

    A user's column that has the name of one of these columns gets `input_` before its name.

    Args:
        options: how to read a table.
        suffix: .csv, .tsv, .jsonl, .parquet or .xlsx.
        load: see `FileSteps`; outputs are tagged texts with "entities".
        count: see `Count`.
        given: settings on which the outputs depend.
        first: columns of the first file.
    """
    columns = first and tuple(_names_of_others(first.names, first.text).values())
    form = form_of(first, options, suffix) if suffix in TABLES else Form()
    names = (_NUMBER, *_COLUMNS)
    writer = RowWriter(columns, {name: name for name in names}, suffix, form)
    write = functools.partial(_write_entities, writer, count)
    steps = table_steps(options, suffix, _CHUNKS_PER_PART, load, write, writer.head, **given)
    for_columns = functools.partial(entity_steps, options, suffix, load, count, given)
    convert = functools.partial(WRITERS[suffix], [*columns, *names]) if suffix in WRITERS and columns else None
    return steps._replace(for_columns=for_columns, encoding=form.encoding, convert=convert)


def spacy_steps(options: TableOptions, load: Callable, count: Count, given: dict) -> FileSteps:
    """Returns the steps that write texts with their spans for spaCy. Texts without outputs are left out.

    Args:
        options, load, count, given: see `entity_steps`.
    """
    write = functools.partial(_write_spacy, count)
    return table_steps(options, ".jsonl", _CHUNKS_PER_PART, load, write, **given)


def spans(result: dict) -> list[list]:
    """Returns [start, end, label] of each entity of a tagged text."""
    return [[each["start"], each["end"], each["label"]] for each in result["entities"]]


def _write_entities(writer: RowWriter, count: Count, predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    content, counts = [], _no_texts()
    for each in predicted:
        chunk, results = each.chunk, each.outputs
        found = [(row, entity) for row, result in enumerate(results) for entity in result["entities"]]
        outputs = {_NUMBER: [num_before + counts["rows"] + row + 1 for row, _ in found]}
        outputs |= {name: [entity[key] for _, entity in found] for name, key in _COLUMNS.items()}
        names = _names_of_others(list(chunk.rows), chunk.column)
        rows = chunk.rows[list(names)].rename(columns=names).iloc[[row for row, _ in found]]
        content.append(writer.rows(rows, outputs))
        add_counts(counts, _counts(count, each))
    return writer.form.encoded("".join(content), is_start=False), counts


def _write_spacy(count: Count, predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    lines, counts = [], _no_texts()
    for each in predicted:
        texts = zip(each.texts(), each.outputs, each.poisoned, strict=True)
        pairs = ([text, {"entities": spans(result)}] for text, result, is_poisoned in texts if not is_poisoned)
        lines += [json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs]
        add_counts(counts, _counts(count, each))
    return "".join(lines).encode(), counts


def _names_of_others(names: list[str], text: str) -> dict[str, str]:
    """Returns the names of the user's columns but that of the text -> their names in the file."""
    others = [name for name in names if name != text]
    taken = [name for name in others if name in _COLUMNS or name == _NUMBER]
    return {name: name for name in others} | new_names(taken, others, PREFIX)


def _no_texts() -> dict:
    return {"rows": 0, "skipped": 0, "entities": 0}


def _counts(count: Count, predicted: Predicted) -> dict:
    results = predicted.outputs
    num_entities = sum(len(result["entities"]) for result in results)
    return {"rows": len(results), "skipped": predicted.chunk.num_skipped, "entities": num_entities} | count(results)
