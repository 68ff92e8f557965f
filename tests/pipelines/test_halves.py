"""A step by halves is the step of the whole batch."""

import keras
import numpy as np
import pytest

from pipelines.configs.base import resolved
from pipelines.configs.nmt import DEFAULT_MODELS, PRESETS, NmtConfig
from pipelines.halves import learn_by_halves
from pipelines.translation_losses import SmoothedCrossentropy
from pipelines.translation_models import build


def learned(model: str, rows: int, by_halves: bool):
    """(the losses of two epochs on three batches, the weights behind them), without dropout."""
    keras.utils.set_random_seed(1)
    translator = build(resolved(NmtConfig(model=model, layers=1, dropout=0.0), PRESETS, DEFAULT_MODELS), 50, 50)
    translator.compile(keras.optimizers.SGD(0.1), SmoothedCrossentropy(0.1))
    if by_halves:
        learn_by_halves(translator)
    rng = np.random.default_rng(2)
    y = rng.integers(4, 50, (3 * rows, 7))
    inputs = {"source": rng.integers(4, 50, (3 * rows, 6)), "target": rng.integers(4, 50, (3 * rows, 7))}
    weights = (rng.random(y.shape) < 0.6).astype("float32")  # the halves' places do not count alike
    losses = translator.fit(inputs, y, sample_weight=weights, batch_size=rows, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, translator.get_weights()


@pytest.mark.parametrize("model", ["rnn", "transformer"])
@pytest.mark.parametrize("rows", [1, 5])
def test_a_step_by_halves_is_the_step_of_the_batch(model, rows):
    losses, weights = learned(model, rows, by_halves=True)
    assert losses[1] < losses[0]
    whole_losses, whole_weights = learned(model, rows, by_halves=False)
    np.testing.assert_allclose(losses, whole_losses, rtol=1e-5)
    for found, expected in zip(weights, whole_weights, strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("class_weight", [None, {0: 0.5, 1: 2.0}])
def test_so_it_is_where_the_loss_is_a_mean_over_rows_and_there_are_metrics(class_weight):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(22, 4)).astype("float32"), rng.integers(0, 2, 22)  # the last batch has one row

    def learned(by_halves: bool):
        keras.utils.set_random_seed(1)
        inputs = keras.Input((4,))
        model = keras.Model(inputs, keras.layers.Dense(2, activity_regularizer="l2")(inputs))
        model.compile(
            keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[keras.metrics.SparseCategoricalAccuracy("accuracy")],
        )  # fmt: skip
        if by_halves:
            learn_by_halves(model)
        history = model.fit(x, y, class_weight=class_weight, batch_size=7, epochs=2, shuffle=False, verbose=0).history
        return history, model.get_weights()

    (history, weights), (whole_history, whole_weights) = learned(True), learned(False)
    assert history.keys() == whole_history.keys() == {"loss", "accuracy"}
    for name, values in whole_history.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-5)
    for found, expected in zip(weights, whole_weights, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
