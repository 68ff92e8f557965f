import keras
import numpy as np
import pytest

from layers import TransformerEncoderBlock
from pipelines.checkpoints.flat_block import FlatEncoderBlock

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)
MASK = np.array([[True] * 5, [True, True, False, False, False]])


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "gelu", "norm_epsilon": 1e-12},
        {"activation": "relu"},
        {"activation": "swiglu"},
        {"norm": "pre"},
        {"rotary": True},
        {"dropout": 0.1},
    ],
)
@pytest.mark.parametrize("mask", [None, MASK])
def test_outputs_are_those_of_the_base_class(options, mask):
    keras.utils.set_random_seed(0)
    flat, base = FlatEncoderBlock(2, 12, **options), TransformerEncoderBlock(2, 12, **options)
    base(X, mask=mask)
    flat(X, mask=mask)
    flat.set_weights(base.get_weights())

    expected, expected_weights = base(X, mask=mask, return_weights=True)
    np.testing.assert_allclose(flat(X, mask=mask), expected, atol=1e-6)
    outputs, weights = flat(X, mask=mask, return_weights=True)
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(weights, expected_weights)


def test_a_functional_model_takes_any_length(tmp_path):
    inputs = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    model = keras.Model(inputs, FlatEncoderBlock(2, 12)(inputs[0], mask=inputs[1]))

    expected = model([X, MASK])
    padded = model([np.pad(X, [(0, 0), (0, 3), (0, 0)]), np.pad(MASK, [(0, 0), (0, 3)])])

    np.testing.assert_allclose(padded[:, :5], expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded([X, MASK]), expected)
