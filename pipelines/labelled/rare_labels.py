"""`--min-label-count`: labels of few texts are left out, or become one label."""

import collections

import numpy as np

from pipelines.data import label_sets, labels
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.labelled.config import LabelledConfig
from pipelines.support.errors import UserError

REASON = "the label has fewer than {:,} texts"


def find(found: np.ndarray, config: LabelledConfig, polarity: bool) -> set[str]:
    """Returns the labels of fewer than `config.min_label_count` texts.

    Args:
        found: label of each text, object [n] of str, or of tuples of str.
        polarity: see `labels.normalize_labels`.

    Raises:
        UserError: no label has as many texts.
    """
    if not config.min_label_count:
        return set()
    counts = collections.Counter(name for names in _names(found, polarity) for name in names)
    rare = {name for name, count in counts.items() if count < config.min_label_count}
    if counts and len(rare) == len(counts):
        most = max(counts.values())
        raise UserError(f"--min-label-count {config.min_label_count}: the most frequent label has {most:,} texts")
    return rare


def without(rows: LabelledTexts, rare: set[str], config: LabelledConfig, polarity: bool) -> LabelledTexts:
    """Returns the texts without the labels `rare`, or with --rare-labels in place of them.

    Texts that then have no label are left out, and counted in `dropped`; of several labels per text, only the label is.
    """
    if not rare:
        return rows
    instead = config.rare_labels
    if label_sets.are_sets(rows.labels):
        kept = ((instead if each in rare else each for each in names) for names in rows.labels)
        rows.labels = np.fromiter((tuple(dict.fromkeys(filter(None, names))) for names in kept), object, len(rows))
        return rows
    is_rare = np.array([name in rare for (name,) in _names(rows.labels, polarity)], bool)
    if instead is not None:
        rows.labels = np.where(is_rare, instead, rows.labels)
        return rows
    if is_rare.any():
        rows.dropped[REASON.format(config.min_label_count)] = int(is_rare.sum())
    return rows.take(~is_rare)


def _names(found: np.ndarray, polarity: bool) -> list[tuple[str, ...]]:
    """Returns the labels of each text."""
    if label_sets.are_sets(found):
        return list(found)
    return [(name,) for name in labels.normalize_labels(found, polarity)]
