import dataclasses
import types

import keras
import numpy as np
import pytest

from pipelines.training import fit, pacing
from pipelines.training.checkpoints import Position
from pipelines.training.fit import FitOptions, Plan
from pipelines.training.schedules import warmup_cosine
from tests.pipelines.training.test_fit import batches, losses, make_model

PLAN = Plan(max_epochs=10, patience=99, checkpoint_every=7, steps=100, items=100, unit="rows", seconds=100.0)


def schedule():
    return warmup_cosine(0.5, total_steps=1000, warmup_steps=100)


def rates(rate, steps):
    return [float(rate(step)) for step in steps]


def test_without_measurements_it_is_the_schedule():
    steps = [0, 1, 50, 100, 500, 999, 1000]
    np.testing.assert_allclose(rates(pacing.Paced(schedule()), steps), rates(schedule(), steps), rtol=1e-6)


def simulate(monkeypatch, seconds_per_step, position=None, steps=None):
    """Runs the callback with a clock on which every step takes the same time; returns the rate of each step."""
    clock = [1000.0]
    monkeypatch.setattr(pacing, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    model = make_model(keras.optimizers.Adam(schedule()))
    position = position or Position()
    (callback,) = pacing.pacer(model, PLAN, position)
    callback.set_model(model)
    first = position.step
    found = []
    for step in range(first, first + (steps or int(PLAN.seconds / seconds_per_step))):
        model.optimizer.iterations.assign(step)
        found.append(float(model.optimizer.learning_rate))
        clock[0] += seconds_per_step
        model.optimizer.iterations.assign(step + 1)
        callback.on_train_batch_end(step)
    return found, position


@pytest.mark.parametrize("seconds_per_step", [0.2, 0.5, 1.0])
def test_the_rate_is_that_of_the_schedule_and_falls_at_the_end_of_the_time(monkeypatch, seconds_per_step):
    found, _ = simulate(monkeypatch, seconds_per_step)
    start = int((1 - pacing.FALLING) * len(found)) - 1
    np.testing.assert_allclose(found[:start], rates(schedule(), range(start)), atol=1e-5)
    assert len(found) < 1000 and found[-1] < 0.06 * max(found)
    falling = np.array(found[start + 2 :]) / rates(schedule(), range(start + 2, len(found)))
    np.testing.assert_allclose(np.diff(falling), -1 / (pacing.FALLING * len(found)), rtol=0.05)


@pytest.mark.long
def test_with_time_enough_the_schedule_stays_as_it_is(monkeypatch):
    found, position = simulate(monkeypatch, 0.05, steps=1000)
    np.testing.assert_allclose(found, rates(schedule(), range(1000)), atol=1e-5)
    assert position.pace[0] > 1000


def test_an_interrupted_training_goes_on_with_the_same_rate(monkeypatch):
    before, position = simulate(monkeypatch, 0.5, steps=180)
    after, _ = simulate(monkeypatch, 0.5, dataclasses.replace(position, step=180, seconds=90.0), steps=20)
    whole, _ = simulate(monkeypatch, 0.5)
    np.testing.assert_allclose([*before, *after], whole, atol=0.02)


def test_a_constant_rate_and_a_training_without_a_limit_have_no_pace(tmp_path):
    assert pacing.pacer(make_model(), PLAN, Position()) == []
    model = make_model(keras.optimizers.Adam(schedule()))
    assert pacing.pacer(model, dataclasses.replace(PLAN, seconds=None), Position()) == []
    assert not isinstance(model.optimizer._learning_rate, pacing.Paced)


def test_fit_keeps_the_pace_in_its_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(pacing, "FIRST_STEPS", 5)
    model = make_model(keras.optimizers.Adam(schedule()))
    plan = dataclasses.replace(PLAN, max_epochs=2, steps=10, seconds=1000.0)
    position = fit.fit(model, batches, losses(2.0, 1.0), plan, tmp_path, FitOptions(), model)
    assert len(position.pace) == 2 and position.pace[0] > 20 and position.epoch == 2
