"""Labels that are measured numbers (`--label-type number`): the classes of a model are intervals of them.

A model of numbers gives each interval a probability. Its answer is a + b m, where m is the mean of the numbers of the
intervals, weighted with these probabilities, and a and b are fitted to the validation texts. So all models of classes
can be trained (Stewart et al. 2023, "Building Bridges between Regression, Clustering, and Classification").
"""

import math
from collections.abc import Sequence

import numpy as np

from pipelines.data.labelled_texts import LabelledTexts
from pipelines.support.errors import UserError

MAX_INTERVALS = 20
_ROWS_PER_INTERVAL = 25
NOT_FINITE = "the label is no finite number"
_MIN_ROWS = 20  # texts to which a line is fitted
_MAX_SHOWN = 40


def parsed(rows: LabelledTexts, source: str) -> tuple[LabelledTexts, np.ndarray]:
    """Returns the texts whose labels are finite numbers, and these, float [n]; the others are counted in `dropped`.

    Raises:
        UserError: a label is no number.
    """
    numbers = np.array([_number(label, source) for label in rows.labels], float)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        rows.dropped[NOT_FINITE] = int((~is_finite).sum())
    return rows.take(is_finite), numbers[is_finite]


def intervals(numbers: np.ndarray, source: str) -> np.ndarray:
    """Returns the mean number of each interval, float [intervals], ascending.

    The intervals have about as many numbers each. A few different numbers, such as 1 to 10, are an interval each.

    Raises:
        UserError: all numbers are the same.
    """
    different = np.unique(numbers)
    if len(different) < 2:
        shown = f"all are {different[0]:g}" if len(different) else "there is none"
        raise UserError(f"{source}: --label-type number needs different numbers as labels, and {shown}")
    if len(different) <= MAX_INTERVALS and len(numbers) >= 2 * len(different):
        return different
    count = min(MAX_INTERVALS, max(2, len(numbers) // _ROWS_PER_INTERVAL))
    limits = np.unique(np.quantile(numbers, np.arange(1, count) / count))
    index = np.searchsorted(limits, numbers, side="left")
    return np.array([numbers[index == i].mean() for i in np.unique(index)])


def names_of(means: np.ndarray) -> tuple[str, ...]:
    """Returns the names of the classes of intervals: their means, exactly."""
    return tuple(repr(float(mean)) for mean in means)


def labelled(rows: LabelledTexts, numbers: np.ndarray, means: np.ndarray) -> LabelledTexts:
    """Returns the texts with the names of their intervals as labels: each number has that of the nearest mean."""
    nearest = np.searchsorted((means[1:] + means[:-1]) / 2, numbers)
    rows.labels = np.array(names_of(means), object)[nearest]
    rows.numbers = numbers
    return rows


def expected(probabilities: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """Returns the mean of the numbers of the classes, weighted with the probabilities, float [n].

    Args:
        probabilities: float [n, classes].
        classes: names of `names_of`.
    """
    return probabilities @ np.array([float(name) for name in classes])


def line(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Returns (a, b), for which the squared error of a + b * found is the smallest: probabilities are often too even.

    (0, 1) for few texts, and where `found` says nothing about `true`.

    Args:
        found, true: float [n].
    """
    if len(true) < _MIN_ROWS or np.ptp(found) == 0:
        return 0.0, 1.0
    slope = float(np.cov(found, true)[0, 1] / found.var(ddof=1))
    return (float(true.mean() - slope * found.mean()), slope) if slope > 0 else (0.0, 1.0)


def by_line_of_others(found: np.ndarray, true: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    """Returns the numbers by `line`, where that of each half of the texts is fitted to the other half.

    Args:
        limits: the smallest and the largest answer: the numbers of the outermost classes.
    """
    half = np.arange(len(true)) % 2
    corrected = np.empty(len(true))
    for i in (0, 1):
        intercept, slope = line(found[half != i], true[half != i])
        corrected[half == i] = intercept + slope * found[half == i]
    return np.clip(corrected, *limits)


def _number(label: str, source: str) -> float:
    try:
        return math.nan if "_" in label else float(label)
    except ValueError:
        shown = label if len(label) <= _MAX_SHOWN else label[:_MAX_SHOWN] + "..."
        raise UserError(
            f"{source}: --label-type number needs numbers such as 3.5 as labels, and one is {shown!r}: write it as a "
            "number, or name it with --missing-labels"
        ) from None
