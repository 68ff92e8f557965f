"""From labels as people spell them to classes in order."""

import numpy as np

from pipelines.errors import UserError

# Spellings that mean the same classes. The first one that covers a file's labels is taken.
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
MOST_CLASSES = 100


def plain(labels: np.ndarray) -> np.ndarray:
    """Labels without surrounding space, whole numbers without a fraction ("4.0" is "4"), known words in lower case."""
    return np.array([_plain(label) for label in labels], dtype=object)


def _plain(label: str) -> str:
    label = label.strip()
    if label.lower() in {word for spelling in SPELLINGS for word in spelling}:
        return label.lower()
    try:
        number = float(label)
    except ValueError:
        return label
    return str(int(number)) if number.is_integer() else label


def classes_of(labels: np.ndarray, source: str) -> tuple[str, ...]:
    """The classes in `labels`: negative before neutral before positive, numbers by size, all else by the alphabet.

    Raises:
        UserError: fewer than two classes, or so many that this can't be the label's column.
    """
    found = set(plain(labels))
    if len(found) == 1:
        only = next(iter(found))
        raise UserError(f"{source}: all {len(labels)} rows have the label {only!r}; two classes or more are needed")
    if not found:
        raise UserError(f"{source}: no row has both a text and a label")
    if len(found) > MOST_CLASSES:
        raise UserError(
            f"{source}: {len(found)} different labels (at most {MOST_CLASSES}); name the right column with --label-column"
        )
    for spelling in SPELLINGS:
        if found == set(spelling):
            return tuple(spelling.values())
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(sorted(found))


def class_ids(labels: np.ndarray, classes: tuple[str, ...]) -> np.ndarray:
    """Index of each label in `classes`, -1 for a label that is none of them; int32 [n].

    Another spelling of the same classes (1 for positive) is understood.
    """
    labels = plain(labels)
    index = {name: i for i, name in enumerate(classes)}
    for spelling in SPELLINGS:
        if not set(labels) <= set(index) and set(labels) <= set(spelling) and set(spelling.values()) <= set(classes):
            labels = np.array([spelling[label] for label in labels], dtype=object)
    return np.array([index.get(label, -1) for label in labels], dtype=np.int32)
