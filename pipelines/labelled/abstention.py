"""A classifier of several classes that leaves out labels where it is not sure: how many it gives, and how good."""

import numpy as np

from pipelines.labelled.metrics import wilson_interval

MIN_LABELLED = 10  # validation texts that a threshold must label: the accuracy of fewer says nothing


def curve(labels: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what the labels are worth if only the k most certain texts have one, k from 1.

    Args:
        labels: int [n], class ids.
        probabilities: float [n, classes].

    Returns:
        (the probability of the k-th text, float [n], descending; the fraction of the k texts that are right, float
        [n]).
    """
    score = probabilities.max(axis=1)
    order = np.argsort(-score, kind="stable")
    is_right = probabilities.argmax(axis=1) == labels
    return score[order], np.cumsum(is_right[order]) / np.arange(1, len(labels) + 1)


def choose(precision: float, labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Returns the lowest probability from which the labels have an accuracy of at least `precision`.

    If none has it, that with the highest accuracy. At least MIN_LABELLED texts have a label.
    """
    scores, accuracy = _candidates(labels, probabilities)
    reached = np.flatnonzero(accuracy >= precision)
    return float(scores[reached[-1] if len(reached) else np.argmax(accuracy)])


def not_reached(precision: float | None, labels: np.ndarray, probabilities: np.ndarray) -> list[str]:
    """Returns a line if no threshold has the accuracy."""
    _, accuracy = _candidates(labels, probabilities)
    if precision is None or (accuracy >= precision).any():
        return []
    return [f"no threshold gives labels with an accuracy of {precision:g}: the highest is {accuracy.max():.3f}"]


def _candidates(labels: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points of the curve that a threshold can have: texts of equal probability are labelled together."""
    scores, accuracy = curve(labels, probabilities)
    is_last = np.append(scores[1:] != scores[:-1], True)
    is_last[: min(MIN_LABELLED, len(scores)) - 1] = False
    return scores[is_last], accuracy[is_last]


def compute_scores(is_labelled: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> dict:
    """Returns "labelled" (texts), "coverage" (their fraction), "accuracy" of them, "accuracy_interval".

    Args:
        is_labelled: bool [n].
    """
    right = int((probabilities.argmax(axis=1) == labels)[is_labelled].sum())
    labelled = int(is_labelled.sum())
    return {
        "labelled": labelled,
        "coverage": labelled / len(labels),
        "accuracy": right / labelled if labelled else None,
        "accuracy_interval": wilson_interval(right, labelled) if labelled else None,
    }
