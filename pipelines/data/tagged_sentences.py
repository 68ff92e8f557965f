"""Sentences with a tag for each token, from any source: files, a folder, a named corpus, or the embedded sample."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipelines.data import (
    columns,
    conllu,
    corpora,
    encodings,
    sample_tags,
    tag_schemes,
    token_columns,
    token_positions,
)
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

KIND = "tagged sentences"  # of corpora
_SPLITS = {"train": "train", "dev": "valid", "valid": "valid", "validation": "valid", "val": "valid", "test": "test"}
# Files of a folder that may have a split. The first group with such files is read: a UD folder has .txt files, too.
_SUFFIXES_IN_FOLDERS = (
    (".conllu",),
    (".conll", ".iob2", ".iob", ".bio", ".train", ".dev", ".valid", ".test"),
    (".tsv", ".txt"),
)
_SPLIT_IN_NAME = re.compile(r"(?:^|[-_.])(train|dev|valid|validation|val|test)(?=[-_.]|$)")
_NO_TEXT_FILES = (".parquet", ".xlsx")
_TABLES = (".csv", ".jsonl", ".ndjson", ".json", *_NO_TEXT_FILES)
_NUM_FIRST_LINES = 200
_CHUNK_TOKENS = 100_000
_SPANS_IN_JSON = re.compile(r'"(?:labels?|entities|spans)"\s*:\s*\[\s*[\[{]')
_TOKENS_IN_JSON = re.compile(r'"(?:tokens|words)"\s*:\s*\[')
_EXPECTED = "one token and its tag per line, with a blank line between sentences, or CoNLL-U"

is_spans = tag_schemes.is_spans
character_spans = token_positions.character_spans


@dataclasses.dataclass
class TaggedSentences:
    """Sentences as tokens with a tag each.

    Attributes:
        tokens: of n sentences. No sentence is empty, and no token is "".
        tags: of the same lengths, as in the source; those that mark spans are in IOB2.
        texts: the raw text of each sentence; where the source has none, the tokens joined with spaces.
        documents: number of each sentence's document, ascending from 0.
        dropped: reason -> number of lines, tokens or tags that were left out or changed while reading.
    """

    tokens: list[list[str]]
    tags: list[list[str]]
    texts: list[str]
    documents: list[int]
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def num_tokens(self) -> int:
        """Number of tokens of all sentences."""
        return sum(map(len, self.tokens))

    def take(self, rows: np.ndarray) -> "TaggedSentences":
        """Returns the sentences that the indices or the mask `rows` select."""
        chosen = np.arange(len(self))[rows].tolist()
        fields = (self.tokens, self.tags, self.texts, self.documents)
        return TaggedSentences(*([field[row] for row in chosen] for field in fields), self.dropped)


def read(data: Data | None, column: str | None = None, token_column: str | None = None) -> dict[str, TaggedSentences]:
    """Reads all of `data`.

    Args:
        data: a file, a folder of files with train, dev or test in their names, or the name of a corpus; or several
            files; None is the embedded sample.
        column: the column with the tag. In CoNLL-U it is upos (the default), xpos, feats or a key of the column MISC;
            in other files the column's number from 1, or its name in the first line, by default the last one.
        token_column: the column with the token, of files that are not CoNLL-U: its number or name. None finds it.

    Returns:
        split -> sentences: "train", "valid" and "test" as far as the source has them. Files are "train".

    Raises:
        UserError: the source is missing, empty or not readable, a line has the wrong number of columns, no token has a
            tag in the column, or it is unclear which column has the tokens.
    """
    if data is None:
        for option, value in (("--column", column), ("--token-column", token_column)):
            if value is not None:
                raise UserError(f"{option} {value} has no effect: the embedded sample has one tag per token")
        return {name: TaggedSentences(*fields, {}) for name, fields in sample_tags.generate().items()}
    splits = {name: joined(read_chunks(paths, column, token_column)) for name, paths in files_of(data).items()}
    scheme = tag_schemes.detect([tags for part in splits.values() for tags in part.tags])
    for part in splits.values():
        convert_to_iob2(part, scheme)
    return splits


def files_of(data: Data) -> dict[str, list[Path]]:
    """Returns split -> files of `data`, as far as it has them. Files that are given are "train".

    Raises:
        UserError: there are no such files.
    """
    if corpora.named(data, KIND):
        return _files_of(corpora.fetch(data))
    if isinstance(data, tuple):
        return {"train": corpora.existing_files(data, KIND)}
    path = corpora.existing(data, KIND)
    return _files_of(path) if path.is_dir() else {"train": [path]}


def read_chunks(
    files: list[Path], column: str | None = None, token_column: str | None = None
) -> Iterator[TaggedSentences]:
    """Yields the sentences of files, which may be larger than memory, in chunks of about `_CHUNK_TOKENS` tokens.

    The tags are those of the source: their scheme is known only after the last sentence. The documents of different
    files are different ones. The last chunk of a file has what was left out of the file, and may have no sentences.

    Args:
        column, token_column: see `read`.

    Raises:
        UserError: as `read`.
    """
    first_document, last_document = 0, -1
    for path in files:
        chunk, num_tokens, dropped = TaggedSentences([], [], [], [], {}), 0, {}
        for tokens, tags, text, document in _sentences_of(path, column, token_column, dropped):
            last_document = first_document + document
            chunk.tokens.append(tokens)
            chunk.tags.append(tags)
            chunk.texts.append(text)
            chunk.documents.append(last_document)
            num_tokens += len(tokens)
            if num_tokens >= _CHUNK_TOKENS:
                yield chunk
                chunk, num_tokens = TaggedSentences([], [], [], [], {}), 0
        yield dataclasses.replace(chunk, dropped=dropped)
        first_document = last_document + 1


def fresh_sample() -> TaggedSentences:
    """Returns sentences of the embedded sample that are in no training data."""
    return TaggedSentences(*sample_tags.fresh(), {})


def _files_of(folder: Path) -> dict[str, list[Path]]:
    """Returns split -> files of a folder, by their names."""
    for suffixes in _SUFFIXES_IN_FOLDERS:
        found: dict[str, list[Path]] = {}
        data_sets = set()
        for path in sorted(path for path in folder.iterdir() if path.is_file() and encodings.suffix(path) in suffixes):
            name = path.name.lower()
            if match := _SPLIT_IN_NAME.search(name):
                found.setdefault(_SPLITS[match[1]], []).append(path)
                data_sets.add(name[: match.start()])
        if len(data_sets) > 1:
            names = ", ".join(sorted(data_sets))
            raise UserError(f"{folder} has files of several data sets ({names}): give the files, or another folder")
        if found:
            return found
    raise UserError(
        f"{folder} has no files of tagged sentences with train, dev or test in their names, such as train.conllu: give "
        "the files"
    )


def _sentences_of(
    path: Path, column: str | None, token_column: str | None, dropped: dict[str, int]
) -> Iterator[conllu.Fields]:
    """Yields the sentences of a file, whatever its format; see `conllu.sentences` and `columns.sentences`."""
    if encodings.suffix(path) in _NO_TEXT_FILES:
        raise _is_table(path, [])

    def lines() -> Iterator[str]:
        return encodings.read_lines(path)

    if not any(line.strip() for line in lines()):
        raise UserError(f"{path} is empty: expected {_EXPECTED}")
    if encodings.suffix(path) == ".conllu" or conllu.is_conllu(lines()):
        if token_column not in (None, "form"):
            raise UserError(
                f"--token-column {token_column}: {path} is CoNLL-U, whose tokens are in the column FORM: leave it out, "
                "or give form"
            )
        return conllu.sentences(path, lines, column, dropped)
    first_lines = list(itertools.islice(lines(), _NUM_FIRST_LINES))
    if _looks_like_a_table(path, first_lines):
        raise _is_table(path, first_lines)
    return columns.sentences(path, lines, column, dropped, token_column)


def _looks_like_a_table(path: Path, lines: list[str]) -> bool:
    """Whether the first lines of a file have a text and its label each: none is blank, and names or cells of texts."""
    while lines and not lines[-1].strip():
        lines.pop()
    if not all(line.strip() for line in lines):
        return False
    if encodings.suffix(path) in _TABLES or re.match(r'\{.*":', lines[0]):
        return True
    from pipelines.data import tables  # takes half a second that files with blank lines do not need

    names = {cell.strip(' "').lower() for cell in re.split(r"[,;|\t]", lines[0])}
    if names & set(tables.TEXT_NAMES) and names & set(tables.LABEL_NAMES):
        return True
    with_texts = sum(any(" " in cell.strip() for cell in line.split("\t")) for line in lines if "\t" in line)
    return 2 * with_texts > len(lines)


def _is_table(path: Path, first_lines: list[str]) -> UserError:
    """Returns the error for a file that is a table or JSON; the message names what it has."""
    start = "\n".join(first_lines)
    has_names = token_columns.are_names(
        [cell.strip(' "').lower() for cell in first_lines[0].split(",")] if start else []
    )
    kinds = {
        "has spans of characters, which are not read: convert them": _SPANS_IN_JSON.search(start),
        "has tokens in JSON, which are not read: convert them": _TOKENS_IN_JSON.search(start),
        "is a table of tokens, which is not read: convert it": has_names,
    }
    kind = next((kind for kind, found in kinds.items() if found), None)
    if kind:
        return UserError(f"{path} {kind} to {_EXPECTED}")
    return UserError(
        f"{path} is a table of texts with their labels: train on it with `train classification`, or give a file with "
        f"{_EXPECTED}"
    )


def joined(chunks: Iterable[TaggedSentences]) -> TaggedSentences:
    """Returns the sentences of all chunks."""
    whole = TaggedSentences([], [], [], [], {})
    for chunk in chunks:
        whole.tokens += chunk.tokens
        whole.tags += chunk.tags
        whole.texts += chunk.texts
        whole.documents += chunk.documents
        for reason, count in chunk.dropped.items():
            whole.dropped[reason] = whole.dropped.get(reason, 0) + count
    return whole


def convert_to_iob2(part: TaggedSentences, scheme: str | None) -> None:
    """Converts tags that mark spans to IOB2, and adds the number of changes to `dropped`.

    Args:
        scheme: that of all splits together, from `tag_schemes.detect`; None if the tags mark no spans.
    """
    if scheme is not None:
        part.tags, num_changed, num_repaired = in_iob2(part.tags)
        part.dropped |= conversion_notes(scheme, num_changed, num_repaired)


def in_iob2(sentences: list[list[str]]) -> tuple[list[list[str]], int, int]:
    """Returns (tags that mark spans in IOB2, number of changed ones, number of those that continued no span)."""
    converted, num_repaired = tag_schemes.to_iob2(sentences)
    num_changed = sum(old != new for pair in zip(sentences, converted) for old, new in zip(*pair))
    return converted, num_changed, num_repaired


def conversion_notes(scheme: str, num_changed: int, num_repaired: int) -> dict[str, int]:
    """Returns note -> number of tags, from what `in_iob2` returns."""
    if scheme == tag_schemes.IOB1:
        num_repaired = 0
    notes = {
        f"tags converted from {scheme} to IOB2": num_changed - num_repaired,
        "tags that continue no span, changed to B-": num_repaired,
    }
    return {note: count for note, count in notes.items() if count > 0}
