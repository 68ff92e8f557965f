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

    The interval is the adjusted Wald interval of Bonett and Price (2012): one text is added to each of the two numbers,
    so that it is also right where they are small or zero.

    Args:
        first, second: whether each classifier labels each text correctly, bool [n].
    """
    from scipy import stats  # takes a second, which no other command should wait for

    rows = len(first)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    p_first, p_second = (only_first + 1) / (rows + 2), (only_second + 1) / (rows + 2)
    center = p_second - p_first
    margin = _Z * math.sqrt((p_first + p_second - center**2) / (rows + 2))
    discordant = only_first + only_second
    p_value = float(stats.binomtest(only_first, discordant).pvalue) if discordant else 1.0
    interval = max(-1.0, center - margin), min(1.0, center + margin)
    return Difference(rows, only_first, only_second, (only_second - only_first) / rows, interval, p_value)
