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
    translator = build(resolved(NmtConfig(model=model, dropout=0.0), PRESETS, DEFAULT_MODELS), 50, 50)
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
