"""Files and folders with tagged sentences: which there are, and the reader of each format."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.data import annotations, brat, columns, conllu, corpora, dataset_folders, encodings, token_tables
from pipelines.data.conllu import Fields
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

KIND = "tagged sentences"  # of corpora
_SPLITS = {"train": "train", "dev": "valid", "valid": "valid", "validation": "valid", "val": "valid", "test": "test"}
# Files of a folder that may have a split. The first group with such files is read: a UD folder has .txt files, too.
_SUFFIXES_IN_FOLDERS = (
    (".conllu",),
    (".conll", ".iob2", ".iob", ".bio", ".train", ".dev", ".valid", ".test"),
    (".parquet",),
    annotations.SUFFIXES,
    (".tsv", ".txt"),
    (".csv",),
)
_SPLIT_IN_NAME = re.compile(r"(?:^|[-_.])(train|dev|valid|validation|val|test)(?=[-_.]|$)")
_TYPED = (".parquet", ".xlsx")
_DOC_BIN = ".spacy"
# The words and labels in a DocBin are numbers, some of which only spaCy's own table names.
FROM_DOC_BIN = (
    "import json, spacy; from spacy.tokens import DocBin; docs = DocBin().from_disk(FILE)."
    "get_docs(spacy.blank('en').vocab); [print(json.dumps([doc.text, {'entities': [[e.start_char, e.end_char, "
    "e.label_] for e in doc.ents]}])) for doc in docs]"
)
_JSON = re.compile(r'\{\s*"|\[\s*["{]')
_NUM_FIRST_LINES = 200
_EXPECTED = (
    "one token and its tag per line, with a blank line between sentences, CoNLL-U, or JSON of an annotation tool"
)


def of(data: Data) -> dict[str, list[Path]]:
    """Returns split -> files of `data`, as far as it has them. Files that are given are "train".

    Raises:
        UserError: there are no such files.
    """
    if corpora.named(data, KIND):
        return _in_folder(corpora.fetch(data))
    if isinstance(data, tuple):
        return {"train": corpora.existing_files(data, KIND)}
    path = corpora.existing(data, KIND)
    return _in_folder(path) if path.is_dir() else {"train": [path]}


def _in_folder(folder: Path) -> dict[str, list[Path]]:
    """Returns split -> files of a folder, by their names."""
    if dataset_folders.is_folder(folder):
        return {_SPLITS.get(name, name): [path] for name, path in dataset_folders.splits(folder).items()}
    if found := brat.files(folder):
        return {"train": found}
    folders = {_SPLITS[path.name.lower()]: path for path in folder.iterdir() if path.name.lower() in _SPLITS}
    if with_spans := {split: found for split, path in folders.items() if path.is_dir() and (found := brat.files(path))}:
        return with_spans
    for suffixes in _SUFFIXES_IN_FOLDERS:
        by_split: dict[str, list[Path]] = {}
        data_sets = set()
        for path in sorted(path for path in folder.iterdir() if path.is_file() and encodings.suffix(path) in suffixes):
            name = path.name.lower()
            if match := _SPLIT_IN_NAME.search(name):
                by_split.setdefault(_SPLITS[match[1]], []).append(path)
                data_sets.add(name[: match.start()])
        if len(data_sets) > 1:
            names = ", ".join(sorted(data_sets))
            raise UserError(f"{folder} has files of several data sets ({names}): give the files, or another folder")
        if by_split:
            return by_split
    raise UserError(
        f"{folder} has no files of tagged sentences with train, dev or test in their names, such as train.conllu: give "
        "the files"
    )


def sentences(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of a file, whatever its format.

    Args:
        path: a file, or a folder of a dataset.
        dropped: reason -> number of what was left out or changed; is added to.

    Raises:
        UserError: see `tagged_sentences.read`.
    """
    found = _sentences(path, options, dropped)
    names = options.names()
    return found if names is None else _with_names(path, found, names)


def _sentences(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    suffix = "" if path.is_dir() else encodings.suffix(path)
    if suffix == brat.SUFFIX:
        return brat.sentences(path, options, dropped)
    if path.is_dir() or suffix in _TYPED:
        return _typed(path, options, dropped)
    if suffix == _DOC_BIN:
        raise UserError(f"{path} has spaCy's own format: write it as {path.stem}.jsonl in Python, with {FROM_DOC_BIN}")

    def lines() -> Iterator[str]:
        return encodings.read_lines(path, options.encoding)

    first_lines = list(itertools.islice(lines(), _NUM_FIRST_LINES))
    first = next((line for line in first_lines if line.strip()), None) or next(filter(str.strip, lines()), None)
    if first is None:
        raise UserError(f"{path} is empty: expected {_EXPECTED}")
    if suffix in annotations.SUFFIXES or _JSON.match(first):
        return _json(path, options, dropped)
    if suffix == ".conllu" or conllu.is_conllu(lines()):
        options.reject(("separator", "tag_names"), f"{path} is CoNLL-U")
        if options.token_column not in (None, "form"):
            raise UserError(
                f"--token-column {options.token_column}: {path} is CoNLL-U, whose tokens are in the column FORM: leave "
                "it out, or give form"
            )
        return conllu.sentences(path, lines, options.column, dropped)
    if token_tables.has_sentences(token_tables.first_names(first, options.cell_separator())):
        return token_tables.sentences(path, options, dropped)
    separator = options.cell_separator()
    if _looks_like_a_table(path, first_lines, separator):
        raise _is_table(path, token_tables.has_tokens(token_tables.first_names(first, separator)))
    if separator is None and suffix == ".csv":
        separator = ","
    return columns.sentences(path, lines, options, dropped, separator)


def _json(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    if not annotations.any_annotated(annotations.records(path, options, {})):
        raise annotations.other_lists(path, annotations.records(path, options, {})) or _is_table(path)
    options.reject(("separator",), f"{path} is JSON")
    # Records are read several times; lines that are left out are counted once.
    list_of_counts: list[dict[str, int]] = []

    def records() -> Iterator[Any]:
        list_of_counts.append({})
        return annotations.records(path, options, list_of_counts[-1])

    def found() -> Iterator[Fields]:
        yield from annotations.sentences(path, records, options, dropped)
        for reason, count in list_of_counts[-1].items():
            dropped[reason] = dropped.get(reason, 0) + count

    return found()


def _typed(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of Parquet and Excel files, and of folders of datasets."""
    options.reject(("encoding", "separator"), f"{path} is no text")
    from pipelines.data import tables, typed_tables  # take half a second that text files do not need

    if path.is_dir() or encodings.suffix(path) == ".parquet":
        read = dataset_folders.rows if path.is_dir() else typed_tables.parquet

        def records() -> Iterator[Any]:
            with encodings.reading(path):
                yield from read(path, tables.DEFAULTS)

        if annotations.any_annotated(records()):
            return annotations.sentences(path, records, options, dropped)
    names = list(tables.columns(path))
    if not token_tables.has_sentences(names):
        raise _is_table(path, token_tables.has_tokens(names))
    return token_tables.sentences(path, options, dropped)


def _with_names(path: Path, found: Iterator[Fields], names: list[str]) -> Iterator[Fields]:
    """Yields sentences with the names of their tags, which are numbers from 0.

    Raises:
        UserError: a tag is no number, or has no name.
    """
    for tokens, tags, text, document in found:
        for tag in tags:
            if tag.startswith("-") and tag[1:].isdecimal():
                raise UserError(
                    f"{path} has the tag {tag}, and --tag-names has names for numbers from 0: correct the tag"
                )
            if not tag.isdecimal():
                raise UserError(f"--tag-names has no effect: {path} has the names of tags, such as {tag}: leave it out")
            if int(tag) >= len(names):
                raise UserError(
                    f"{path} has the tag {tag}, but --tag-names has {len(names)} names, for 0 to {len(names) - 1}: add "
                    "the others"
                )
        yield tokens, [names[int(tag)] for tag in tags], text, document


def _looks_like_a_table(path: Path, lines: list[str], separator: str | None) -> bool:
    """Whether the first lines of a file have a text and its label each: none is blank, and names or cells of texts."""
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    if not all(line.strip() for line in lines):
        return False
    if encodings.suffix(path) == ".csv":
        return True
    from pipelines.data import tables  # takes half a second that files with blank lines do not need

    names = {cell.strip(' "').lower() for cell in re.split(r"[,;|\t]", lines[0])}
    if names & set(tables.TEXT_NAMES) and names & set(tables.LABEL_NAMES):
        return True
    separator = separator or "\t"
    with_texts = sum(any(" " in cell.strip() for cell in line.split(separator)) for line in lines if separator in line)
    return 2 * with_texts > len(lines)


def _is_table(path: Path, has_tokens: bool = False) -> UserError:
    """Returns the error for a file that is a table or JSON without tags.

    Args:
        has_tokens: whether it has a token and its tag in each row.
    """
    if has_tokens:
        return UserError(
            f"{path} has a token and its tag in each row, and no column that tells sentences apart: add one with the "
            "name sentence, or blank lines between sentences"
        )
    return UserError(
        f"{path} is a table of texts with their labels: train on it with `train classification`, or give a file with "
        f"{_EXPECTED}"
    )
