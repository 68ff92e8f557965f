"""Folders with one sub-folder of .txt files per class, as in the Large Movie Review Dataset (`aclImdb`)."""

import contextlib
import re
from pathlib import Path

import numpy as np

from pipelines.support.errors import UserError

NOT_A_CLASS = ("unsup",)  # aclImdb's 50,000 unlabelled reviews


def read(folder: Path) -> dict[str, tuple]:
    """Reads `folder/train/CLASS/*.txt` and `folder/test/CLASS/*.txt`, or `folder/CLASS/*.txt` as training data.

    If `urls_CLASS.txt` lies beside a class (aclImdb: line i is the film of review i), the film is the group.

    Returns:
        split -> fields of `LabelledTexts`.

    Raises:
        UserError: there are no such sub-folders, or no readable text in them.
    """
    if (folder / "train").is_dir():
        splits = {"train": folder / "train"}
        if (folder / "test").is_dir():
            splits["test"] = folder / "test"
    else:
        splits = {"train": folder}
    return {name: _read_classes(path) for name, path in splits.items()}


def texts(folder: Path) -> tuple[np.ndarray, dict[str, int]]:
    """Reads the .txt files in `folder` and its sub-folders, each as one text.

    Returns:
        (object array [n] of str, reason -> number of files that were left out).

    Raises:
        UserError: there is none in UTF-8.
    """
    files = sorted(path for path in folder.rglob("*.txt") if path.is_file())
    contents = []
    for file in files:
        with contextlib.suppress(UnicodeDecodeError):
            contents.append(file.read_text(encoding="utf-8-sig"))
    if not contents:
        raise UserError(f"{folder} has no .txt files in UTF-8")
    return _object_array(contents), _counted("not UTF-8", len(files) - len(contents))


def _read_classes(folder: Path) -> tuple:
    classes = sorted(p for p in folder.iterdir() if p.is_dir() and any(p.glob("*.txt")) and p.name not in NOT_A_CLASS)
    if not classes:
        raise UserError(f"{folder}: expected one sub-folder of .txt files per class, such as {folder.name}/pos/1.txt")
    texts, labels, groups, unreadable = [], [], [], 0
    films = {path.name: _films(folder / f"urls_{path.name}.txt") for path in classes}
    for path in classes:
        for file in sorted(file for file in path.glob("*.txt") if file.is_file()):
            try:
                texts.append(file.read_text(encoding="utf-8-sig"))
            except UnicodeDecodeError:
                unreadable += 1
                continue
            labels.append(path.name)
            groups.append(_group(file, films[path.name]))
    if not texts:
        raise UserError(f"{folder}: none of the {unreadable} files is UTF-8; convert them, for example with iconv")
    has_films = all(films.values())
    return (
        _object_array(texts),
        _object_array(labels),
        _object_array(groups) if has_films else None,
        _counted("not UTF-8", unreadable),
    )


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


def _object_array(values: list[str]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array
