"""Records with lists of tokens and of their tags, such as those of Hugging Face's datasets."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipelines.data import token_columns
from pipelines.data.conllu import NO_TAG, Fields
from pipelines.data.table_rows import without_surrogates
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError
from pipelines.support.numbers import listed

Records = Callable[[], Iterator[Any]]  # the values of a file, each time from the start

_TOKENS = ("tokens", "words", "token", "word", "form")
_NO_TOKENS = "empty tokens"
_MAX_SHOWN = 60


def tag_fields(record: dict) -> list[str]:
    """Returns the fields with tags of the tokens of a record; none if it has no list of tokens, or no tags.

    They are the lists of strings or whole numbers that have as many items as the tokens.
    """
    tokens = token_field(record)
    if tokens is None:
        return []
    size = len(record[tokens])
    return [
        name
        for name, value in record.items()
        if name != tokens
        and isinstance(value, list)
        and len(value) == size
        and all(each is None or isinstance(each, (str, int)) and not isinstance(each, bool) for each in value)
    ]


def token_field(record: dict) -> str | None:
    """Returns the field with the list of tokens."""
    for name in _TOKENS:
        value = record.get(name)
        if isinstance(value, list) and value and all(isinstance(token, str) for token in value):
            return name
    return None


def sentences(path: Path, values: Records, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of records with lists of tokens and tags."""
    tokens_name, tags_name = _fields(path, values(), options)
    for number, record in enumerate(values(), 1):
        tokens, tags = (record.get(name) if isinstance(record, dict) else None for name in (tokens_name, tags_name))
        if not isinstance(tokens, list) or not isinstance(tags, list) or len(tokens) != len(tags):
            raise UserError(
                f"{path}, record {number:,}: {tokens_name} and {tags_name} must be lists of the same length "
                f"({shown(record)}): fix the record"
            )
        pairs = [(without_surrogates(str(token)), tag) for token, tag in zip(tokens, tags) if token not in ("", None)]
        if len(pairs) < len(tokens):
            dropped[_NO_TOKENS] = dropped.get(_NO_TOKENS, 0) + len(tokens) - len(pairs)
        if pairs:
            words = [token for token, _ in pairs]
            yield words, [_tag(path, tag, options) for _, tag in pairs], " ".join(words), number - 1


def _fields(path: Path, values: Iterator[Any], options: TokenOptions) -> tuple[str, str]:
    """Returns the fields with the tokens and the tags, from the first record that has both.

    Without --column it is the last one with a usual name, but xpos only if there is no upos, else the last one.

    Raises:
        UserError: there is no such field.
    """
    record = next(record for record in values if isinstance(record, dict) and tag_fields(record))
    tokens, fields = token_field(record), tag_fields(record)
    if options.token_column is not None:
        tokens = _named(path, "--token-column", options.token_column, record)
    if options.column is not None:
        return tokens, _named(path, "--column", options.column, fields)
    usual = [name for name in fields if token_columns.is_tag_name(name)]
    if "upos" in usual and "xpos" in usual:
        usual.remove("xpos")
    return tokens, (usual or fields)[-1]


def _named(path: Path, option: str, name: str, fields: Iterable[str]) -> str:
    found = next((field for field in fields if field.lower() == name.lower()), None)
    if found is None:
        raise UserError(f"{option} {name}: {path} has no such field: give one of {listed(list(fields))}")
    return found


def _tag(path: Path, tag: str | int | None, options: TokenOptions) -> str:
    """Returns a tag, or its number for --tag-names.

    Raises:
        UserError: it is a number without a name.
    """
    if tag is None or tag == "":
        return NO_TAG
    if isinstance(tag, int) and options.tag_names is None:
        raise UserError(
            f"{path}: the tags are numbers: name them in the order of their numbers with --tag-names, such as "
            "--tag-names O,B-PER,I-PER"
        )
    return str(tag)


def shown(value) -> str:
    """Returns the start of a value as JSON, for error messages."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
