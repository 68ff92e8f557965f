import numpy as np
import pytest
from scipy import stats

from pipelines.support.paired import compare, difference_interval


def correct(both, only_first, only_second, neither):
    first = [True] * both + [True] * only_first + [False] * only_second + [False] * neither
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return np.array(first), np.array(second)


def test_the_difference_is_counted_on_the_texts_that_one_gets_right():
    difference = compare(*correct(60, 5, 20, 15))
    assert (difference.rows, difference.only_first, difference.only_second) == (100, 5, 20)
    assert difference.accuracy == pytest.approx(0.15)
    assert difference.p_value == pytest.approx(stats.binomtest(5, 25).pvalue)
    assert 0 < difference.interval[0] < 0.15 < difference.interval[1] < 0.3


def test_two_equal_classifiers_have_no_difference_but_an_interval():
    difference = compare(*correct(30, 0, 0, 10))
    assert difference.accuracy == 0 and difference.p_value == 1
    assert difference.interval[0] < 0 < difference.interval[1]


def test_the_interval_holds_the_true_difference_in_95_of_100_samples():
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        cell = generator.choice(4, size=200, p=[0.8, 0.03, 0.07, 0.1])
        first, second = (cell == 0) | (cell == 1), (cell == 0) | (cell == 2)
        low, high = compare(first, second).interval
        covered += low <= 0.04 <= high
    assert 0.92 <= covered / 300 <= 0.98


def test_the_interval():
    a = np.array([True] * 62 + [False] * 38)
    b = np.array([True] * 50 + [False] * 12 + [True] * 2 + [False] * 36)
    low, high = difference_interval(a, b)
    # 12.5 and 2.5 of 102 texts: 0.098 -+ 1.96 sqrt(15 - 100 / 102) / 102
    assert (low, high) == pytest.approx((0.0981 - 0.0720, 0.0981 + 0.0720), abs=2e-4)
    assert difference_interval(b, a) == pytest.approx((-high, -low))


def test_the_interval_covers_the_true_difference():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        outcome = rng.choice(4, size=300, p=[0.7, 0.08, 0.04, 0.18])  # both, only a, only b, none
        low, high = difference_interval(outcome <= 1, (outcome == 0) | (outcome == 2))
        covered += low <= 0.04 <= high
    assert 930 <= covered <= 970


def test_the_same_mistakes_give_an_interval_around_zero():
    right = np.array([True] * 9 + [False])
    low, high = difference_interval(right, right)
    assert low < 0 < high and low == -high
