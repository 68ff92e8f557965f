import keras
import numpy as np
import pytest

from pipelines.networks.recurrent import RECURRENT_LAYERS, reset_states


@pytest.mark.parametrize("name", RECURRENT_LAYERS)
def test_every_layer_returns_its_sequence_and_its_state(name):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    layer = RECURRENT_LAYERS[name](5, return_sequences=True, return_state=True)
    sequence, *states = layer(x)
    assert sequence.shape == (2, 3, 5) and states[0].shape == (2, 5)
    np.testing.assert_array_equal(sequence[:, -1], states[0])


def test_reset_states_sets_carried_states_to_zeros():
    x = keras.Input((None, 4), batch_size=2)
    model = keras.Model(x, RECURRENT_LAYERS["lstm"](5, stateful=True)(x))
    values = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    first = model(values).numpy()
    assert (model(values).numpy() != first).any()
    reset_states(model)
    np.testing.assert_array_equal(model(values), first)
