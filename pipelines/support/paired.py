"""Compares two classifiers on the same texts."""

import math
from typing import NamedTuple

import numpy as np

_Z = 1.959964  # 97.5 % of a normal distribution is below it


class Difference(NamedTuple):
    """How the second classifier differs from the first one.

    Attributes:
        rows: number of texts.
        only_first, only_second: number of texts that only this one labels correctly.
        accuracy: accuracy of the second minus that of the first.
        interval: 95 % interval of this difference.
        p_value: of McNemar's exact test: the probability of a difference at least as large between two classifiers that
            are equally good.
    """

    rows: int
    only_first: int
    only_second: int
    accuracy: float
    interval: tuple[float, float]
    p_value: float


def compare(first: np.ndarray, second: np.ndarray) -> Difference:
    """Compares two classifiers by the texts that only one of them labels correctly.

    Args:
        first, second: whether each classifier labels each text correctly, bool [n].
    """
    from scipy import stats  # takes a second, which no other command should wait for

    rows = len(first)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    discordant = only_first + only_second
    p_value = float(stats.binomtest(only_first, discordant).pvalue) if discordant else 1.0
    accuracy = (only_second - only_first) / rows
    return Difference(rows, only_first, only_second, accuracy, difference_interval(second, first), p_value)


def difference_interval(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Returns the 95 % interval of the accuracy of `a` minus that of `b` on the same texts.

    d -+ z sqrt(n_ab + n_ba - (n_ab - n_ba)^2 / n) / n, where n_ab is the number of texts that only `a` labels correctly
    and d = (n_ab - n_ba) / n. Half a text is added to each of the four outcomes, so that the interval is not empty
    where both make the same mistakes (Agresti and Min 2005, "Simple improved confidence intervals for comparing matched
    proportions").

    Args:
        a, b: bool [n], whether each text is labelled correctly.
    """
    only_a, only_b, n = (a & ~b).sum() + 0.5, (b & ~a).sum() + 0.5, len(a) + 2
    difference = (only_a - only_b) / n
    margin = _Z * math.sqrt(only_a + only_b - (only_a - only_b) ** 2 / n) / n
    return max(-1.0, float(difference - margin)), min(1.0, float(difference + margin))
