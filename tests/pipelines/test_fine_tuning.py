"""The optimizer and the schedule of staged fine-tuning."""

import keras
import numpy as np
import pytest

from pipelines.fine_tuning import GroupedAdamW, Stages


@pytest.mark.parametrize("compiled", [False, True])
def test_each_group_has_a_step_size_of_its_own(compiled):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="bottom"), keras.layers.Dense(1, name="top")])
    bottom, top = model.get_layer("bottom").kernel, model.get_layer("top").kernel
    before = bottom.numpy(), top.numpy()
    optimizer = GroupedAdamW(0.01, weight_decay=0.0, epsilon=1e-12)
    optimizer.slow([bottom], 0.1)
    model.compile(optimizer, "mse", run_eagerly=not compiled)
    rng = np.random.default_rng(1)
    model.train_on_batch(rng.normal(size=(8, 3)), rng.normal(size=(8, 1)))
    # Adam's first step is the step size itself, whatever the gradient.
    np.testing.assert_allclose(np.abs(top.numpy() - before[1]), 0.01, rtol=1e-3)
    np.testing.assert_allclose(np.abs(bottom.numpy() - before[0]), 0.001, rtol=1e-3)


def test_each_stage_rises_and_falls_on_a_line():
    schedule = Stages([9, 19], [1.0, 0.5], warm_up=0.5)
    rates = np.array([float(schedule(step)) for step in range(30)])
    np.testing.assert_allclose(rates[:9], np.minimum(np.arange(1, 10), 10 - np.arange(1, 10)) / 5, atol=1e-6)
    assert rates[4] == pytest.approx(1.0) and rates[9:28].max() == pytest.approx(0.5) and rates[9 + 9] == pytest.approx(0.5)
    assert not rates[28:].any()
    assert float(Stages([3], [1.0], warm_up=0.0)(0)) == pytest.approx(0.75)
