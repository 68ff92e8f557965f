"""Annotated texts and lists of tokens in JSON, in the forms that tools write.

spaCy           ["text", {"entities": [[start, end, label]]}]
doccano         {"text": ..., "label": [[start, end, label]]}, also with "labels" or "entities"
Prodigy         {"text": ..., "spans": [{"start": ..., "end": ..., "label": ...}], "answer": "accept"}
Label Studio    {"data": {"text": ...}, "annotations": [{"result": [{"value": {"start": ..., "labels": [...]}}]}]},
                or with less in it {"text": ..., "label": [{"start": ..., "end": ..., "labels": [...]}]}
Hugging Face    {"tokens": [...], "ner_tags": [...]}, with names or numbers of tags

Records are one on each line, or in one array; Parquet files and folders of datasets have the same fields.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipelines.data import encodings, marked_texts, token_lists
from pipelines.data.conllu import Fields
from pipelines.data.marked_texts import MarkedText
from pipelines.data.span_tokens import Span
from pipelines.data.table_rows import without_surrogates
from pipelines.data.token_lists import Records, shown
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

SUFFIXES = (".json", ".jsonl", ".ndjson")
_TEXTS = ("text", "content", "sentence", "document", "data")
_SPANS = ("spans", "entities", "label", "labels", "annotations", "annotation", "ner")
_STARTS = ("start", "start_offset", "startOffset", "start_char", "begin")
_ENDS = ("end", "end_offset", "endOffset", "end_char", "stop")
_LABELS = ("label", "labels", "tag", "type", "entity", "entity_group", "category", "class")
_SURFACES = ("text", "surface", "word")
_RESULTS = ("annotations", "completions")  # of Label Studio; versions before 1.0 had the second one
_NO_JSON = object()
_BAD_LINES = "lines that are no JSON"
_NUM_JUDGED = 200  # records of a file from which its form is found


def records(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Any]:
    """Yields the records of a file of JSON: each line has one, or the whole file is an array of them.

    Args:
        dropped: reason -> number of lines that are no JSON.

    Raises:
        UserError: the file cannot be read, or is no JSON.
    """
    with encodings.opened_text(path, options.encoding, limits_lines=False) as file:
        first = next((line for line in file if line.strip()), "")
        value = _parsed(first)
        if value is _NO_JSON:
            value = _parsed(first + file.read())
            if value is _NO_JSON:
                raise UserError(f"{path} is no JSON: expected a record on each line, or one array of records")
        yield from _in(value)
        for line in file:
            if line.strip():
                value = _parsed(line)
                if value is _NO_JSON:
                    dropped[_BAD_LINES] = dropped.get(_BAD_LINES, 0) + 1
                else:
                    yield from _in(value)


def _parsed(text: str):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _in(value) -> Iterable[Any]:
    """Returns the records in a value of JSON: one, an array of them, or an object with such an array."""
    if isinstance(value, list) and not _is_pair(value):
        return value
    if isinstance(value, dict) and not is_annotated(value):
        lists = (each for each in value.values() if isinstance(each, list) and each and is_annotated(each[0]))
        return next(lists, [value])
    return [value]


def is_annotated(record) -> bool:
    """Whether a record has a text with a list of spans, or a list of tokens with their tags."""
    return (
        _is_pair(record)
        or isinstance(record, dict)
        and bool(_results(record) is not None or _text_with_spans(record) or token_lists.tag_fields(record))
    )


def any_annotated(values: Iterable[Any]) -> bool:
    """Whether one of the first records is annotated."""
    return any(is_annotated(record) for record, _ in zip(values, range(_NUM_JUDGED)))


def other_lists(path: Path, values: Iterable[Any]) -> UserError | None:
    """Returns the error for records that are not annotated, but have a list that may be spans in a form of its own."""
    for record, _ in zip(values, range(_NUM_JUDGED)):
        for name, value in record.items() if isinstance(record, dict) else ():
            if isinstance(value, list) and value and all(isinstance(each, dict | list) for each in value):
                return UserError(
                    f"{path}: the field {name!r} may have spans, but not in a form that is read: expected start, end "
                    f"and label of each, in one of the fields {', '.join(_SPANS)}, beside the text in "
                    f"{', '.join(_TEXTS)}"
                )
    return None


def sentences(path: Path, values: Records, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of records. A text is divided at its line ends.

    Args:
        path: for error messages.
        dropped: reason -> number of records, spans or tokens; what is left out or changed is added.

    Yields:
        Tokens, tags, text and number of the document.

    Raises:
        UserError: a record has another form, a span is no start, end and label, tags are numbers without names, or no
            record has a token.
    """
    judged = itertools.islice((record for record in values() if is_annotated(record)), _NUM_JUDGED)
    # Of tokens and spans, the tokens are read. The first record may be of an empty text, which has none.
    if any(isinstance(record, dict) and token_lists.tag_fields(record) for record in judged):
        found = token_lists.sentences(path, values, options, dropped)
    else:
        options.reject(("column", "token_column", "tag_names"), f"{path} has texts with spans")
        found = marked_texts.sentences(path, lambda counts: _marked(path, values(), counts), dropped)
    has_sentences = False
    for fields in found:
        has_sentences = True
        yield fields
    if not has_sentences:
        raise UserError(f"{path} has no annotated text: give a file with at least one")


def _is_pair(value) -> bool:
    """Whether a value is a text with its annotation, as in spaCy's lists."""
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)):
        return False
    return isinstance(value[1].get("entities"), list)


def _results(record: dict) -> list | None:
    """Returns the annotations of a record of Label Studio; None if it is none."""
    if not isinstance(record.get("data"), dict):
        return None
    return next((record[name] for name in _RESULTS if isinstance(record.get(name), list)), None)


def _text_with_spans(record: dict) -> tuple[str, list] | None:
    """Returns the text of a record and its list of spans; None if it has none."""
    text = next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)
    lists = [record[name] for name in _SPANS if isinstance(record.get(name), list)]
    with_spans = [each for each in lists if each and not isinstance(each[0], str)]
    spans = next(iter(with_spans or [each for each in lists if not each]), None)
    return None if text is None or spans is None else (text, spans)


def _marked(path: Path, values: Iterator[Any], dropped: dict[str, int]) -> Iterator[MarkedText]:
    """Yields the texts of the records with their spans; counts what is left out in `dropped`."""

    def count(reason: str, number: int = 1) -> None:
        if number:
            dropped[reason] = dropped.get(reason, 0) + number

    for number, record in enumerate(values, 1):
        place = f"record {number:,}"
        if _is_pair(record):
            text, spans = record[0], record[1]["entities"]
        elif isinstance(record, dict) and _results(record) is not None:
            results = [each for each in _results(record) if isinstance(each, dict) and not each.get("was_cancelled")]
            if not results:
                count("texts without an annotation, left out")
                continue
            count("further annotations of a text, left out", len(results) - 1)
            text, spans = _longest(record["data"]), _values(results[0])
        elif isinstance(record, dict) and (found := _text_with_spans(record)):
            if record.get("answer") in ("reject", "ignore"):
                count("texts whose annotation was not accepted, left out")
                continue
            text, spans = found
        else:
            raise UserError(f"{path}, {place} has no text with spans ({shown(record)}): fix the record")
        parsed = [_span(path, place, span) for span in spans]
        count("spans without a label, left out", sum(not labels for _, _, labels, _ in parsed))
        count("spans with several labels, of which the first one counts", sum(len(each[2]) > 1 for each in parsed))
        kept = [(Span(start, end, labels[0]), surface) for start, end, labels, surface in parsed if labels]
        yield MarkedText(without_surrogates(text), [span for span, _ in kept], [surface for _, surface in kept], place)


def _longest(data: dict) -> str:
    """Returns the text among the fields of a task of Label Studio: the one called text, else the longest one."""
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    return texts.get("text") or max(texts.values(), key=len, default="")


def _values(result: dict) -> list:
    """Returns the spans of an annotation of Label Studio."""
    marks = result.get("result")
    values = [each.get("value") for each in marks if isinstance(each, dict)] if isinstance(marks, list) else []
    offsets = [each.get("globalOffsets") if isinstance(each, dict) else None for each in values]
    return [
        (offset if isinstance(offset, dict) else {}) | each
        for each, offset in zip(values, offsets, strict=True)
        if isinstance(each, dict) and "start" in each
    ]


def _span(path: Path, place: str, span) -> tuple[int, int, list[str], str | None]:
    """Returns start, end, labels and, where it is there, what the span has of the text.

    Raises:
        UserError: it is no span.
    """
    surface = None
    if isinstance(span, dict):
        start, end, label = (
            next((span[name] for name in names if name in span), None) for names in (_STARTS, _ENDS, _LABELS)
        )
        surface = next((span[name] for name in _SURFACES if isinstance(span.get(name), str)), None)
    elif isinstance(span, list) and len(span) >= 3:
        start, end, label = span[:3]
    else:
        start = end = label = None
    labels = label if isinstance(label, list) else [label]
    is_number = all(isinstance(each, int) and not isinstance(each, bool) for each in (start, end))
    if not is_number or not all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in labels):
        raise UserError(
            f"{path}, {place}: {shown(span)} is no span: expected [start, end, label], or start, end and label by name"
        )
    return start, end, [name for each in labels if (name := str(each).strip())], surface
