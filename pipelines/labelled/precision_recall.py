"""Precision and recall of one class for every threshold."""

from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """What each threshold gives; arrays [m], the highest threshold first.

    Attributes:
        threshold: probability from which a text has the label. It lies halfway between two probabilities of the texts,
            the last one halfway between the lowest one and 0.
        num_predicted: number of texts with at least this probability.
        precision, recall, f1: of the label.
    """

    threshold: np.ndarray
    num_predicted: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


def curve(has_label: np.ndarray, probabilities: np.ndarray) -> Curve:
    """Returns what each threshold gives.

    Args:
        has_label: bool [n], at least one True.
        probabilities: float [n].
    """
    order = np.argsort(-probabilities, kind="stable")
    ordered, correct = probabilities[order].astype(np.float64), np.cumsum(has_label[order])
    is_cut = np.append(ordered[:-1] > ordered[1:], True)  # only between different probabilities
    thresholds = ((ordered + np.append(ordered[1:], 0.0)) / 2)[is_cut]
    num_predicted, correct = np.arange(1, len(ordered) + 1)[is_cut], correct[is_cut]
    num_labels = has_label.sum()
    f1 = 2 * correct / (num_predicted + num_labels)
    return Curve(thresholds, num_predicted, correct / num_predicted, correct / num_labels, f1)


def best_f1(found: Curve) -> int:
    """Returns the index of the threshold with the highest F1; of several, of the one nearest to 0.5."""
    return int(np.lexsort((-np.abs(found.threshold - 0.5), found.f1))[-1])


def highest_recall(found: Curve, precision: float) -> int | None:
    """Returns the index of the threshold with the highest recall among those with at least this precision.

    None if there is none.
    """
    precise = np.flatnonzero(found.precision >= precision)
    # Of the same recall, the highest threshold has the highest precision: it comes first.
    return int(precise[np.argmax(found.recall[precise])]) if len(precise) else None


def highest_precision(found: Curve) -> int:
    """Returns the index of the threshold with the highest precision; of several, of the one with the highest recall."""
    return int(np.lexsort((found.recall, found.precision))[-1])


def average_precision(has_label: np.ndarray, probabilities: np.ndarray) -> float | None:
    """Returns the area under the precision-recall curve of one class; None if no text has it.

    sum over thresholds of (recall - recall at the next higher threshold) * precision

    Args:
        has_label: bool [n].
        probabilities: float [n].
    """
    if not has_label.any():
        return None
    found = curve(has_label, probabilities)
    return float((np.diff(found.recall, prepend=0.0) * found.precision).sum())
