"""What labelled texts are like, and what training would do with them. Imports no TensorFlow."""

import collections
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from pipelines.data import corpora, encodings, label_sets, labelled_texts, scripts, tables
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.labels import doubtful, normalize_labels
from pipelines.data.splits import seen_in
from pipelines.data.text_flaws import Flaws
from pipelines.labelled import duplicates
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.labelled.splits import class_rows, read_and_split
from pipelines.support import paths
from pipelines.support.errors import UserError

RARE = 10  # training texts of a class; below it there is little to learn, and hardly a text to measure on
_ZERO_WIDTH = "\u200b\u2060\ufeff"  # U+200D joins the parts of an emoji


def examine(
    config: LabelledConfig,
    polarity: bool,
    needs: Callable[[LabelledSplits], dict | None] = lambda splits: None,
    flaws: Flaws | None = None,
) -> dict:
    """Reads the labelled texts and describes them.

    Args:
        config: the fields on the data.
        polarity: as for training.
        needs: splits -> "memory" (bytes) and "seconds" that a training takes, if they are known.
        flaws: is given the texts.

    Returns:
        "columns" (of a table), "rows", "left_out", "labels", "scripts", "characters", "words", those of
        `duplicates.find` and `duplicates.in_both_orders`, "leaks" and "training": what a training would use, or
        "refusal": why it would not start.

    Raises:
        UserError: the data cannot be read at all.
    """
    options = config.table_options()
    parts = labelled_texts.read(config.data, options)
    rows = parts["train"]
    is_multi = label_sets.are_sets(rows.labels)
    if not len(rows):
        raise UserError(f"{paths.shown(config.data)}: no row has both a text and a label")
    for number, text in enumerate(rows.texts if flaws else (), 1):
        flaws.add(f"{Path(paths.shown(config.data)).name}, text {number}", text)
    others = {name: part for name, part in parts.items() if name != "train"}
    if config.valid:
        others["--valid"] = labelled_texts.read(config.valid, config.table_options())["train"]
    about = {
        "columns": _columns(config),
        "rows": {name: len(part) for name, part in (parts | others).items()},
        "left_out": rows.dropped,
        "labels": dict(collections.Counter(_each_label(rows.labels, polarity)).most_common()),
        "scripts": scripts.fractions(rows.texts),
        "characters": quantiles([len(text) for text in rows.texts]),
        "words": quantiles([len(text.split()) for text in rows.texts]),
        "replacement_characters": sum("\ufffd" in text for text in rows.texts),
        "zero_width_characters": sum(any(c in text for c in _ZERO_WIDTH) for text in rows.texts),
        **duplicates.find(rows.texts, label_sets.joined(rows.labels) if is_multi else rows.labels),
        **duplicates.in_both_orders(rows.texts, rows.without_order(), rows.labels),
        "leaks": _leaks(rows, others),
    }
    try:
        splits = read_and_split(config, polarity)
    except UserError as error:
        return about | {"refusal": str(error)}
    counts = class_rows(splits)
    validated = splits.valid.rows_of_classes(len(splits.classes))
    is_number = config.label_type == "number"  # the classes are intervals of numbers
    training = {
        "train": len(splits.train),
        "validation": len(splits.valid),
        "classes": counts,
        "not_in_validation": [
            name for name, n in zip(splits.classes, validated, strict=True) if not n and not is_number
        ],
        "rare": [name for name, n in counts.items() if n < RARE and not is_number],
        "intervals": is_number,
        "always_most_frequent": None if is_multi or is_number else max(validated) / len(splits.valid),
        "groups": rows.groups is not None and labelled_texts.num_without_group(rows) < len(rows),
        "notes": splits.notes,
        "doubtful_labels": doubtful(splits.classes),
        "expected": needs(splits),
    }
    return about | {"training": training}


def _each_label(labels: np.ndarray, polarity: bool) -> Iterable[str]:
    """Returns the labels of all rows; of rows with sets of labels each of them."""
    is_multi = label_sets.are_sets(labels)
    return itertools.chain.from_iterable(labels) if is_multi else normalize_labels(labels, polarity)


def quantiles(lengths: list[int]) -> dict[str, int]:
    """Returns the minimum, the median, the 95 % quantile and the maximum."""
    low, median, high, longest = np.quantile(lengths, [0, 0.5, 0.95, 1], method="lower")
    return {"min": int(low), "median": int(median), "95 %": int(high), "max": int(longest)}


def _columns(config: LabelledConfig) -> dict | None:
    """Returns all columns of a table, and which of them have the text, the label and the group; None for a folder.

    "read" are the columns that a model of several reads, else that of the text.
    """
    if corpora.named(config.data, labelled_texts.KIND):
        return None
    path, options = corpora.existing(paths.each(config.data)[0], labelled_texts.KIND), config.table_options()
    if not tables.is_table(path):
        return None
    first = tables.columns(path, options)
    text, *others = tables.text_columns(path, first, options)
    read = [text, *others, *options.feature_columns]
    return {
        "format": encodings.suffix(path),
        "all": list(first.columns),
        "text": ", ".join(read),
        "read": read,
        "label": tables.label_column(path, first, options, text),
        "group": tables.GROUP_NAME if tables.GROUP_NAME in first else None,
    }


def _leaks(rows: LabelledTexts, others: dict[str, LabelledTexts]) -> dict[str, int]:
    """Returns split -> number of its texts that are also in the training data."""
    return {name: int(seen_in(part.without_order(), rows.without_order()).sum()) for name, part in others.items()}
