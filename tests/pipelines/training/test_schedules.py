from types import SimpleNamespace

import keras
import numpy as np
import pytest

from pipelines.training.schedules import InverseSquareRoot, Stages, warmup_cosine, warmup_schedule


def rates(schedule, steps):
    return np.array([float(schedule(step)) for step in range(steps)])


def test_warmup_cosine_rises_linearly_and_falls_on_a_cosine():
    values = rates(warmup_cosine(2.0, total_steps=100, warmup_steps=10), 101)
    np.testing.assert_allclose(values[:11], np.arange(11) / 5, atol=1e-6)
    np.testing.assert_allclose(values[10:], 1 + np.cos(np.pi * np.arange(91) / 90), atol=1e-5)


def test_the_schedule_is_that_of_the_config():
    config = SimpleNamespace(schedule="cosine", learning_rate=2.0)
    expected = rates(warmup_cosine(2.0, 100, 10), 101)
    np.testing.assert_array_equal(rates(warmup_schedule(config, 100, 10), 101), expected)
    config.schedule = "constant"
    assert warmup_schedule(config, 100, 10) == 2.0


def test_warmup_cosine_of_a_training_that_is_all_warmup():
    assert rates(warmup_cosine(1.0, total_steps=1, warmup_steps=1), 2)[1] == 1.0


def test_inverse_square_root_is_highest_at_the_end_of_the_warmup():
    values = rates(InverseSquareRoot(0.5, warmup_steps=4), 16)
    np.testing.assert_allclose(values[:4], [0.125, 0.25, 0.375, 0.5])
    assert values[15] == pytest.approx(0.25)
    assert values.argmax() == 3


def test_each_stage_rises_and_falls_linearly():
    values = rates(Stages([9, 19], [1.0, 0.5], warmup_fraction=0.5), 30)
    np.testing.assert_allclose(values[:9], np.minimum(np.arange(1, 10), 10 - np.arange(1, 10)) / 5, atol=1e-6)
    assert values[4] == pytest.approx(1.0)
    assert values[9:28].max() == pytest.approx(0.5) == values[9 + 9]
    assert not values[28:].any()


@pytest.mark.parametrize(("warmup_fraction", "first"), [(0.0, 0.75), (1.0, 0.25)])
def test_a_stage_without_a_rise_or_without_a_fall(warmup_fraction, first):
    assert float(Stages([3], [1.0], warmup_fraction)(0)) == pytest.approx(first)


@pytest.mark.parametrize("schedule", [InverseSquareRoot(0.5, 4), Stages([3, 4], [1.0, 0.5], 0.1)])
def test_a_schedule_is_made_again_from_its_config(schedule):
    again = type(schedule).from_config(schedule.get_config())
    np.testing.assert_array_equal(rates(again, 8), rates(schedule, 8))


def test_an_optimizer_uses_the_schedule():
    optimizer = keras.optimizers.SGD(InverseSquareRoot(1.0, warmup_steps=2))
    variable = keras.Variable(np.zeros(1, "float32"))
    for expected in (-0.5, -1.5):
        optimizer.apply([np.ones(1, "float32")], [variable])
        assert float(variable.numpy()[0]) == pytest.approx(expected)
