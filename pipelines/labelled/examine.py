"""What labelled texts are like, and what training would do with them. Imports no TensorFlow."""

import collections
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from pipelines.data import corpora, encodings, labelled_texts, tables
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.labels import doubtful, normalize_labels
from pipelines.data.splits import comparable
from pipelines.labelled import duplicates
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.labelled.splits import class_rows, read_and_split
from pipelines.support import paths
from pipelines.support.errors import UserError

RARE = 10  # training texts of a class; below it there is little to learn, and hardly a text to measure on
_MAX_LETTERS = 1000  # of a text, to find its script
_ZERO_WIDTH = "\u200b\u200c\u200d\ufeff"


def examine(
    config: LabelledConfig, polarity: bool, needs: Callable[[LabelledSplits], dict | None] = lambda splits: None
) -> dict:
    """Reads the labelled texts and describes them.

    Args:
        config: the fields on the data.
        polarity: as for training.
        needs: splits -> "memory" (bytes) and "seconds" that a training takes, if they are known.

    Returns:
        "columns" (of a table), "rows", "left_out", "labels", "scripts", "characters", "words", those of
        `duplicates.find`, "leaks" and "training": what a training would use, or "refusal": why it would not start.

    Raises:
        UserError: the data cannot be read at all.
    """
    options = config.table_options()
    parts = labelled_texts.read(config.data, options)
    rows = parts["train"]
    if not len(rows):
        raise UserError(f"{paths.shown(config.data)}: no row has both a text and a label")
    about = {
        "columns": _columns(config),
        "rows": {name: len(part) for name, part in parts.items()},
        "left_out": rows.dropped,
        "labels": dict(collections.Counter(normalize_labels(rows.labels, polarity)).most_common()),
        "scripts": scripts(rows.texts),
        "characters": quantiles([len(text) for text in rows.texts]),
        "words": quantiles([len(text.split()) for text in rows.texts]),
        "replacement_characters": sum("\ufffd" in text for text in rows.texts),
        "zero_width_characters": sum(any(c in text for c in _ZERO_WIDTH) for text in rows.texts),
        **duplicates.find(rows.texts, rows.labels),
        "leaks": _leaks(config, parts),
    }
    try:
        splits = read_and_split(config, polarity)
    except UserError as error:
        return about | {"refusal": str(error)}
    counts = class_rows(splits)
    validated = np.bincount(splits.valid.labels, minlength=len(splits.classes))
    training = {
        "train": len(splits.train),
        "validation": len(splits.valid),
        "classes": counts,
        "not_in_validation": [name for name, n in zip(splits.classes, validated, strict=True) if not n],
        "rare": [name for name, n in counts.items() if n < RARE],
        "always_most_frequent": float(validated.max() / len(splits.valid)),
        "groups": rows.groups is not None and labelled_texts.num_without_group(rows) < len(rows),
        "notes": splits.notes,
        "doubtful_labels": doubtful(splits.classes),
        "expected": needs(splits),
    }
    return about | {"training": training}


def scripts(texts: Iterable[str]) -> dict[str, float]:
    """Returns script -> fraction of the letters, the most frequent first: Latin, Cyrillic, CJK, ..."""
    letters: collections.Counter = collections.Counter()
    for text in texts:
        letters.update(character for character in text[:_MAX_LETTERS] if character.isalpha())
    found: collections.Counter = collections.Counter()
    for letter, count in letters.items():
        name = unicodedata.name(letter, "OTHER").split()[0].capitalize()
        found["CJK" if name == "Cjk" else name] += count
    total = sum(found.values())
    return {name: count / total for name, count in found.most_common()}


def quantiles(lengths: list[int]) -> dict[str, int]:
    """Returns the minimum, the median, the 95 % quantile and the maximum."""
    low, median, high, longest = np.quantile(lengths, [0, 0.5, 0.95, 1], method="lower")
    return {"min": int(low), "median": int(median), "95 %": int(high), "max": int(longest)}


def _columns(config: LabelledConfig) -> dict | None:
    """Returns all columns of a table, and which of them have the text, the label and the group; None for a folder."""
    path, options = Path(paths.each(config.data)[0]), config.table_options()
    if corpora.named(config.data, labelled_texts.KIND) or not tables.is_table(path):
        return None
    first = tables.columns(path, options)
    text = tables.text_column(path, first, options)
    return {
        "format": encodings.suffix(path),
        "all": list(first.columns),
        "text": text,
        "label": tables.label_column(path, first, options, text),
        "group": tables.GROUP_NAME if tables.GROUP_NAME in first else None,
    }


def _leaks(config: LabelledConfig, parts: dict[str, LabelledTexts]) -> dict[str, int]:
    """Returns split -> number of its texts that are also in the training data."""
    known = {comparable(text) for text in parts["train"].texts}
    others = {name: part for name, part in parts.items() if name != "train"}
    if config.valid:
        others["--valid"] = labelled_texts.read(config.valid, config.table_options())["train"]
    return {name: sum(comparable(text) in known for text in part.texts) for name, part in others.items()}
