"""From labels as people spell them to ids of classes.

With `polarity`, different spellings of negative, neutral and positive are the same labels; without it, a label stays as
spelled.
"""

import math

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
MAX_CLASSES = 100
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
        UserError: there are fewer than two classes, or more than MAX_CLASSES, or the labels are measured numbers, or
            numbers and words: the column cannot be the label.
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
    too_many = len(found) > MAX_CLASSES or len(found) > MAX_NUMBERS and fractions
    if too_many and len(numbers) == len(found):
        raise UserError(
            f"{source}: the labels are {len(found)} different numbers, such as {(fractions or numbers)[0]}: a "
            "classifier chooses among few labels. Round them to classes, or name another column with --label-column"
        )
    if len(found) > MAX_CLASSES:
        raise UserError(
            f"{source}: {len(found)} different labels, at most {MAX_CLASSES}: name the right column with --label-column"
        )
    _reject_mixed(found, numbers, source)
    if polarity:
        for spelling in SPELLINGS:
            if found == set(spelling):
                return tuple(spelling.values())
    return in_order(found)


def in_order(found: set[str]) -> tuple[str, ...]:
    """Returns labels in the order of their ids: numbers by size, everything else in alphabetical order."""
    if all(_is_number(label) for label in found):
        return tuple(sorted(found, key=lambda label: (float(label), label)))
    return tuple(sorted(found))


def _reject_mixed(found: set[str], numbers: list[str], source: str) -> None:
    """Raises a UserError if some labels are numbers and others words, or if one number has two spellings."""
    words = sorted(found - set(numbers))
    if words and numbers:
        raise UserError(
            f"{source}: some labels are numbers ({_few(numbers)}) and some are words ({_few(words)}): if they mean the "
            "same, spell them alike; if not, write a word for each number"
        )
    spellings: dict[float, str] = {}
    for label in numbers:
        other = spellings.setdefault(float(label), label)
        if other != label:
            raise UserError(f"{source}: the labels {other!r} and {label!r} are the same number: spell them alike")


def _few(labels: list[str]) -> str:
    return ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")


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
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False
