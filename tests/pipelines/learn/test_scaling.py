import numpy as np
import pytest

from pipelines.learn import scaling as module
from pipelines.learn.format import WIDTH, format_lesson
from pipelines.learn.scaling import SIZES, measure, scaling


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_the_measurement_equals_numpy(score, monkeypatch):
    monkeypatch.setattr(module, "NUM_QUERIES", 50)
    random = np.random.default_rng([7, 16])
    queries = random.standard_normal((50, 1, 16), "float32")
    keys = random.standard_normal((50, module.NUM_KEYS, 16), "float32")
    scores = (keys @ queries[:, 0, :, None])[..., 0] / (4 if score == "scaled_dot" else 1)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    largest = weights.max(axis=1)
    expected = (scores.var(), largest.mean(), (largest * (1 - largest)).mean())
    np.testing.assert_allclose(measure(score, 16, seed=7), expected, rtol=1e-4)


def test_the_variance_is_d_without_the_division_and_one_with_it():
    for size in SIZES:
        assert measure("dot", size, 1).variance == pytest.approx(size, rel=0.1)
        assert measure("scaled_dot", size, 1).variance == pytest.approx(1, rel=0.1)


def test_without_the_division_weights_saturate_and_the_gradient_falls():
    lesson = scaling(seed=2)
    _, largest, gradient, _ = lesson.steps
    plain, scaled = largest.values[0].numbers
    assert (np.diff(plain) > 0).all() and plain[-1] > 0.9 and np.ptp(scaled) < 0.05
    plain, scaled = gradient.values[0].numbers
    assert (np.diff(plain) < 0).all() and plain[-1] < scaled[-1] / 5 and np.ptp(scaled) < 0.05
    assert max(map(len, format_lesson(lesson))) <= WIDTH


def test_the_seed_repeats_the_draw():
    assert measure("dot", 4, 1) == measure("dot", 4, 1) != measure("dot", 4, 2)
