"""`predict --input --for entities` and `--for spacy`: files of the entities of texts. Positions count characters.

entities    a row for each entity, with the columns of its text but the text itself
spacy       ["text", {"entities": [[start, end, label]]}] on each line, as in spaCy's training examples

For doccano see `predicting/doccano.py`.
"""

import functools
import json
from collections.abc import Callable

from pipelines.data.table_options import TableOptions
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.tagging.item_files import Count, Items, item_steps

_COLUMNS = {  # name of a column -> key of an entity
    "entity": "text",
    "label": "label",
    "score": "score",
    "start": "start",
    "end": "end",
}
_CHUNKS_PER_PART = 5


def entity_steps(
    options: TableOptions,
    suffix: str,
    load: Callable,
    count: Count,
    given: dict,
    uncertainty: Callable | None = None,
) -> FileSteps:
    """Returns the steps that write a row for each entity.

    Args:
        options, suffix, load, count, given, uncertainty: see `item_steps`; outputs are tagged texts with "entities".
    """
    items = Items(tuple(_COLUMNS), _entities)
    return item_steps(items, options, suffix, load, functools.partial(_count, count), given, uncertainty)


def spacy_steps(options: TableOptions, load: Callable, count: Count, given: dict) -> FileSteps:
    """Returns the steps that write texts with their spans for spaCy. Texts without outputs are left out.

    Args:
        options, load, count, given: see `entity_steps`.
    """
    write = functools.partial(_write_spacy, functools.partial(_count, count))
    return table_steps(options, ".jsonl", _CHUNKS_PER_PART, load, write, **given)


def spans(result: dict) -> list[list]:
    """Returns [start, end, label] of each entity of a tagged text."""
    return [[each["start"], each["end"], each["label"]] for each in result["entities"]]


def _entities(result: dict) -> list[dict]:
    """See `Items.of`."""
    return [{name: entity[key] for name, key in _COLUMNS.items()} for entity in result["entities"]]


def _write_spacy(count: Count, predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    lines, counts = [], {"rows": 0, "skipped": 0}
    for each in predicted:
        texts = zip(each.texts(), each.outputs, each.poisoned, strict=True)
        pairs = ([text, {"entities": spans(result)}] for text, result, is_poisoned in texts if not is_poisoned)
        lines += [json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs]
        add_counts(counts, {"rows": len(each.outputs), "skipped": each.chunk.num_skipped} | count(each.outputs))
    return "".join(lines).encode(), counts


def _count(count: Count, results: list[dict]) -> dict:
    """Returns the counts with the number of entities."""
    return {"entities": sum(len(result["entities"]) for result in results)} | count(results)
