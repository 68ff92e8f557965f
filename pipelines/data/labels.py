"""From labels as people spell them to ids of classes.

With `polarity`, different spellings of negative, neutral and positive are the same labels; without it, a label stays as
spelled.
"""

import collections
import math
import re
from collections.abc import Collection, Iterable

import numpy as np

from pipelines.support.errors import UserError

# Spellings of polarity. The first one that has exactly the labels of the data is used.
SPELLINGS = (
    {"negative": "negative", "positive": "positive"},
    {"neg": "negative", "pos": "positive"},
    {"0": "negative", "1": "positive"},
    {"-1": "negative", "1": "positive"},
    {"0": "negative", "4": "positive"},
    {"negative": "negative", "neutral": "neutral", "positive": "positive"},
    {"neg": "negative", "neu": "neutral", "pos": "positive"},
    {"-1": "negative", "0": "neutral", "1": "positive"},
)
_MANY = 100  # labels; if each has few rows, they are no classes: integers are measured, or are keys
_FEW_ROWS = 5  # per label, of integers
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MISSING = {
    "n/a",
    "n.a.",
    "n/d",
    "n.d.",
    "k.a.",
    "na",
    "nan",
    "none",
    "null",
    "nil",
    "-",
    "--",
    "?",
    "missing",
    "#n/a",
}  # folded
MAX_NUMBERS = 10  # as classes, if some of them are no integers, such as 3.5 stars


def classes_of(labels: np.ndarray, source: str, polarity: bool, rows: int | None = None) -> tuple[str, ...]:
    """Returns the classes in `labels`: negative before neutral before positive, numbers by size, everything else in
    alphabetical order.

    Args:
        labels: object array [n] of str.
        source: name of the data for messages.
        polarity: whether to use SPELLINGS.
        rows: number of rows for messages; None: that of `labels`.

    Raises:
        UserError: there are fewer than two classes, or nearly every row has a label of its own, or the labels are
            measured numbers: the column cannot be the label; or all labels are numbers and one has two spellings.
    """
    found = set(normalize_labels(labels, polarity))
    if len(found) == 1:
        raise UserError(
            f"{source}: all {rows or len(labels)} rows have the label {found.pop()!r}; at least two classes are needed"
        )
    if not found:
        raise UserError(f"{source}: no row has both a text and a label")
    numbers = sorted(label for label in found if _is_number(label))
    fractions = [label for label in numbers if not float(label).is_integer()]
    num_rows = rows or len(labels)
    is_key = len(found) > _MANY and num_rows < _FEW_ROWS * len(found)
    if (is_key or len(found) > MAX_NUMBERS and fractions) and len(numbers) == len(found):
        raise UserError(
            f"{source}: the labels are {len(found)} different numbers, such as {(fractions or numbers)[0]}: a "
            "classifier chooses among few labels. --label-type number predicts the number; or round them to classes, "
            "or name another column with --label-column"
        )
    require_repeated(len(found), num_rows, source)
    if len(numbers) == len(found):
        _reject_spellings(numbers, source)
    if polarity:
        for spelling in SPELLINGS:
            if found == set(spelling):
                return tuple(spelling.values())
    return in_order(found)


def require_repeated(num_labels: int, num_rows: int, source: str) -> None:
    """Raises a UserError if there are too many labels for a classifier: nearly each occurs once."""
    if num_labels > _MANY and num_rows < 2 * num_labels:
        raise UserError(
            f"{source}: {num_labels:,} different labels in {num_rows:,} rows, so that most occur once: a classifier "
            "chooses among labels that recur. Name another column with --label-column, or leave out rare labels"
        )


def are_numbers(classes: Iterable[str]) -> bool:
    """Whether all classes are plain numbers."""
    return all(_is_number(name) for name in classes)


def in_order(found: set[str]) -> tuple[str, ...]:
    """Returns labels in the order of their ids: numbers by size, everything else in alphabetical order."""
    if are_numbers(found):
        return tuple(sorted(found, key=lambda label: (float(label), label)))
    return tuple(sorted(found))


def doubtful(classes: Collection[str]) -> list[str]:
    """Returns a line on labels that differ only in case or blanks, and one on spellings of a missing value."""
    equal, missing = near_equal(classes), like_missing(classes)
    lines = []
    if equal:
        lines.append(f"labels that differ only in case or blanks: {', '.join(equal)}; --fold-labels makes them one")
    if missing:
        lines.append(
            f"labels that look like a missing value: {', '.join(missing)}; --missing-labels={','.join(missing)} "
            "leaves their rows out"
        )
    return lines


def near_equal(classes: Collection[str]) -> list[str]:
    """Returns the labels that differ only in case or blanks, such as ["Refund/REFUND"]."""
    by_folded = collections.defaultdict(list)
    for name in classes:
        by_folded[fold(name)].append(name)
    return ["/".join(names) for names in by_folded.values() if len(names) > 1]


def like_missing(classes: Collection[str]) -> list[str]:
    """Returns the labels that look like a missing value, such as n/a."""
    return [name for name in classes if fold(name) in _MISSING]


def fold(label: str) -> str:
    """Returns a label in lower case, with one space for any blanks in it and none around it."""
    return " ".join(label.split()).casefold()


def _reject_spellings(numbers: list[str], source: str) -> None:
    """Raises a UserError if one number has two spellings."""
    spellings: dict[float, str] = {}
    for label in numbers:
        other = spellings.setdefault(float(label), label)
        if other != label:
            raise UserError(f"{source}: the labels {other!r} and {label!r} are the same number: spell them alike")


def class_ids(labels: np.ndarray, classes: tuple[str, ...], polarity: bool) -> np.ndarray:
    """Returns the index of each label in `classes`, int32 [n]; -1 for a label that is none of them.

    With `polarity`, another spelling of the same classes (1 for positive) is understood.
    """
    labels = normalize_labels(labels, polarity)
    index = {name: i for i, name in enumerate(classes)}
    for spelling in SPELLINGS if polarity else ():
        if not set(labels) <= set(index) and set(labels) <= set(spelling) and set(spelling.values()) <= set(classes):
            labels = np.array([spelling[label] for label in labels], dtype=object)
    return np.array([index.get(label, -1) for label in labels], dtype=np.int32)


def normalize_labels(labels: np.ndarray, polarity: bool) -> np.ndarray:
    """Returns the labels without surrounding space; with `polarity` also known words in lower case and 4.0 as 4."""
    return np.array([_normalize_polarity(label) if polarity else label.strip() for label in labels], dtype=object)


def _normalize_polarity(label: str) -> str:
    label = label.strip()
    if label.lower() in {word for spelling in SPELLINGS for word in spelling}:
        return label.lower()
    if not _is_number(label):
        return label
    number = float(label)
    return str(int(number)) if number.is_integer() else label


def _is_number(label: str) -> bool:
    """Whether a label is spelled as a plain number. Python also reads 1_2 and nan as numbers."""
    return bool(_NUMBER.fullmatch(label)) and math.isfinite(float(label))
