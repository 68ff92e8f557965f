"""Folders with one sub-folder of .txt files per class, as in the Large Movie Review Dataset (`aclImdb`)."""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pipelines.support.errors import UserError

NOT_A_CLASS = ("unsup",)  # aclImdb's 50,000 unlabelled reviews
_CHUNK_TEXTS = 10_000
_CHUNK_CHARACTERS = 2**24


def read(folder: Path) -> dict[str, tuple]:
    """Reads `folder/train/CLASS/*.txt` and `folder/test/CLASS/*.txt`, or `folder/CLASS/*.txt` as training data.

    If `urls_CLASS.txt` lies beside a class (aclImdb: line i is the film of review i), the film is the group.

    Returns:
        split -> fields of `LabelledTexts`.

    Raises:
        UserError: there are no such sub-folders, or no readable text in them.
    """
    return {name: _read_classes(path) for name, path in _splits(folder).items()}


def read_chunks(folder: Path, split: str) -> Iterator[tuple]:
    """Yields what `read` returns for a split, for one chunk of texts after the other; nothing for a missing split."""
    path = _splits(folder).get(split)
    if path:
        texts_of = _texts_of_classes(path)
        while chunk := list(itertools.islice(texts_of, _CHUNK_TEXTS)):
            yield _fields(chunk)


def _splits(folder: Path) -> dict[str, Path]:
    if not (folder / "train").is_dir():
        return {"train": folder}
    splits = {"train": folder / "train"}
    if (folder / "test").is_dir():
        splits["test"] = folder / "test"
    return splits


def read_texts(folder: Path) -> Iterator[tuple[np.ndarray, dict[str, int]]]:
    """Reads the .txt files in `folder` and its sub-folders, each as one text, and yields them in chunks.

    Yields:
        (object array [n] of str, reason -> number of files that were left out).

    Raises:
        UserError: there is none in UTF-8.
    """
    chunk, size, num_read, num_unreadable = [], 0, 0, 0
    for file in sorted(path for path in folder.rglob("*.txt") if path.is_file()):
        try:
            chunk.append(file.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            num_unreadable += 1
            continue
        num_read += 1
        size += len(chunk[-1])
        if size > _CHUNK_CHARACTERS:
            yield _object_array(chunk), {}
            chunk, size = [], 0
    if not num_read:
        raise UserError(f"{folder} has no .txt files in UTF-8")
    yield _object_array(chunk), _counted("not UTF-8", num_unreadable)


def _read_classes(folder: Path) -> tuple:
    return _fields(list(_texts_of_classes(folder)))


def _texts_of_classes(folder: Path) -> Iterator[tuple[str | None, str, str | None]]:
    """Yields (text, class, group) of each file: the text is None if it is not UTF-8, the group if films are unknown."""
    classes = sorted(p for p in folder.iterdir() if p.is_dir() and any(p.glob("*.txt")) and p.name not in NOT_A_CLASS)
    if not classes:
        raise UserError(f"{folder}: expected one sub-folder of .txt files per class, such as {folder.name}/pos/1.txt")
    films = {path.name: _films(folder / f"urls_{path.name}.txt") for path in classes}
    has_films = all(films.values())
    num_read, num_unreadable = 0, 0
    for path in classes:
        for file in sorted(file for file in path.glob("*.txt") if file.is_file()):
            group = _group(file, films[path.name]) if has_films else None
            try:
                text = file.read_text(encoding="utf-8-sig")
                num_read += 1
            except UnicodeDecodeError:
                text = None
                num_unreadable += 1
            yield text, path.name, group
    if not num_read:
        raise UserError(f"{folder}: none of the {num_unreadable} files is UTF-8; convert them, for example with iconv")


def _fields(rows: list[tuple[str | None, str, str | None]]) -> tuple:
    """Returns the fields of `LabelledTexts` for what `_texts_of_classes` yields."""
    readable = [row for row in rows if row[0] is not None]
    texts, labels, groups = map(_object_array, zip(*readable, strict=True)) if readable else [_object_array([])] * 3
    has_films = bool(readable) and readable[0][2] is not None
    return texts, labels, groups if has_films else None, _counted("not UTF-8", len(rows) - len(readable))


def _films(path: Path) -> list[str]:
    """The film of each review of a class; an empty list if it is unknown."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _group(file: Path, films: list[str]) -> str:
    """The film of a review, whose file is named ID_RATING.txt in aclImdb; the file's name if it is unknown."""
    number = re.match(r"(\d+)_", file.name)
    line = int(number.group(1)) if number else -1
    return films[line] if 0 <= line < len(films) else file.name


def _counted(reason: str, rows: int) -> dict[str, int]:
    return {reason: rows} if rows else {}


def _object_array(values: Sequence[str]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array
