from types import SimpleNamespace

import keras
import numpy as np
import pytest

from pipelines.training.optimizers import (
    AveragingAdam,
    AveragingSGD,
    GroupedAdamW,
    adam_or_sgd,
    language_model_optimizer,
)


def two_layers():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="low"), keras.layers.Dense(1, name="high")])


def rows(count, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 3)).astype("float32"), rng.normal(size=(count, 1)).astype("float32")


@pytest.mark.parametrize("eagerly", [True, False])
def test_each_group_has_its_own_learning_rate(eagerly):
    model = two_layers()
    low, high = model.get_layer("low").kernel, model.get_layer("high").kernel
    low_start, high_start = low.numpy(), high.numpy()
    optimizer = GroupedAdamW(0.01, weight_decay=0.0, epsilon=1e-12)
    optimizer.scale_learning_rate([low], 0.1)
    model.compile(optimizer, "mse", run_eagerly=eagerly)
    model.train_on_batch(*rows(8))
    # The first step of Adam is the learning rate, whatever the gradient.
    np.testing.assert_allclose(np.abs(high.numpy() - high_start), 0.01, rtol=1e-3)
    np.testing.assert_allclose(np.abs(low.numpy() - low_start), 0.001, rtol=1e-3)


def test_without_factors_the_grouped_optimizer_is_adamw():
    weights = []
    for make in (GroupedAdamW, keras.optimizers.AdamW):
        keras.utils.set_random_seed(1)
        model = two_layers()
        model.compile(make(0.01, weight_decay=0.1), "mse")
        model.fit(*rows(20), batch_size=5, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for grouped, adamw in zip(*weights, strict=True):
        np.testing.assert_array_equal(grouped, adamw)


def options(optimizer):
    return SimpleNamespace(optimizer=optimizer, clip_norm=1.0, weight_decay=0.5)


def test_sgd_takes_steps_of_the_learning_rate_times_the_clipped_gradient():
    weight = keras.Variable([1.0, 2.0])
    optimizer = adam_or_sgd(options("sgd"), 0.5)
    optimizer.apply([np.array([3.0, 4.0], "float32")], [weight])  # its norm is 5, and is clipped to 1
    np.testing.assert_allclose(weight, [1 - 0.5 * 0.6, 2 - 0.5 * 0.8], rtol=1e-6)
    assert isinstance(adam_or_sgd(options("adam"), 0.5), keras.optimizers.Adam)


@pytest.mark.parametrize(("name", "kind"), [("adam", keras.optimizers.AdamW), ("sgd", keras.optimizers.SGD)])
def test_weight_decay_of_language_models_leaves_out_biases_and_normalization(name, kind):
    optimizer = language_model_optimizer(options(name), 0.1)
    assert type(optimizer) is kind and optimizer.global_clipnorm == 1.0
    assert name == "sgd" or optimizer.beta_2 == 0.99
    model = keras.Sequential([keras.Input((3,)), keras.layers.LayerNormalization(), keras.layers.Dense(2)])
    model.set_weights([np.ones_like(weight) for weight in model.get_weights()])
    optimizer.build(model.trainable_variables)
    optimizer.apply([np.zeros(variable.shape, "float32") for variable in model.trainable_variables])
    values = {variable.path.split("/")[-1]: variable.numpy() for variable in model.trainable_variables}
    assert (values.pop("kernel") < 1).all()
    assert set(values) == {"gamma", "beta", "bias"} and all((value == 1).all() for value in values.values())


@pytest.fixture(scope="module", params=[AveragingAdam, AveragingSGD])
def averaged(request):
    """A model after ten steps with averages: (its weights after each step, its weights, their averages)."""
    keras.utils.set_random_seed(1)
    model, target = two_layers(), two_layers()
    model.compile(request.param(0.05, use_ema=True, ema_momentum=0.5), "mse")
    x, y = rows(40)
    history = [model.get_weights()]
    for step in range(10):
        batch = slice(4 * step, 4 * step + 4)
        model.fit(x[batch], y[batch], batch_size=4, verbose=0)
        history.append(model.get_weights())
    model.optimizer.copy_averages(target.trainable_variables)
    return history, model.get_weights(), target.get_weights()


def test_the_averages_follow_the_formula(averaged):
    history, _, averages = averaged
    for i, average in enumerate(averages):
        expected = history[1][i]
        for step, weights in enumerate(history[1:]):
            if step:
                momentum = min(0.5, (1 + step) / (10 + step))
                expected = momentum * expected + (1 - momentum) * weights[i]
        np.testing.assert_allclose(average, expected, rtol=1e-4, atol=1e-6)


def test_the_end_of_a_fit_leaves_the_trained_weights(averaged):
    history, weights, averages = averaged
    for last, trained, average in zip(history[-1], weights, averages, strict=True):
        np.testing.assert_array_equal(trained, last)
        assert (average != trained).any()


def test_without_averages_nothing_is_copied():
    model, target = two_layers(), two_layers()
    model.compile(AveragingAdam(0.05, use_ema=False), "mse")
    model.fit(*rows(8), verbose=0)
    start = target.get_weights()
    model.optimizer.copy_averages(target.trainable_variables)
    for value, expected in zip(target.get_weights(), start, strict=True):
        np.testing.assert_array_equal(value, expected)
