import numpy as np
import pytest

from pipelines.support import bootstrap
from pipelines.support.bootstrap import interval, resampled_sums


def test_each_sample_has_as_many_rows_as_there_are():
    sums = resampled_sums(np.stack([np.ones(20), np.arange(20)], axis=1))
    assert sums.shape == (1000, 2)
    assert (sums[:, 0] == 20).all()
    assert sums[:, 1].mean() == pytest.approx(190, abs=3)
    assert sums[:, 1].std() == pytest.approx(np.sqrt(20 * np.arange(20).var()), rel=0.1)


def test_every_call_draws_the_same_rows():
    rows = np.random.default_rng(0).integers(10, size=(30, 3))
    assert (resampled_sums(rows)[:, :2] == resampled_sums(rows[:, :2])).all()


def test_the_draws_do_not_depend_on_how_many_fit_into_memory(monkeypatch):
    rows = np.random.default_rng(0).integers(10, size=(30, 3))
    expected = resampled_sums(rows)
    monkeypatch.setattr(bootstrap, "_MAX_CELLS", 7 * 30)
    assert (resampled_sums(rows) == expected).all()


def test_the_interval_holds_95_of_100_values():
    assert interval(np.arange(1001.0)) == (25.0, 975.0)


def test_draws_without_a_value_are_left_out():
    assert interval(np.array([np.nan, *np.arange(1001.0)])) == (25.0, 975.0)
    assert interval(np.array([np.nan, np.nan])) is None


def test_the_interval_covers_the_true_fraction_although_rows_depend_on_each_other():
    """Each row is a sentence whose ten tokens are all correct or all wrong: Wilson's interval would be too narrow."""
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(150):
        correct = 10 * (generator.random(80) < 0.7)
        sums = resampled_sums(np.stack([correct, np.full(80, 10)], axis=1))
        low, high = interval(sums[:, 0] / sums[:, 1])
        covered += low <= 0.7 <= high
    assert 0.9 <= covered / 150 <= 0.98
