import keras
import numpy as np
import pytest

from pipelines.networks.recurrent import RECURRENT_LAYERS, num_states, reset_states, stacked_recurrent

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
LENGTHS = np.array([3, 2])
MASK = np.arange(3) < LENGTHS[:, None]


def stacked(**options):
    """A model of two layers of an LSTM with random weights."""
    keras.utils.set_random_seed(1)
    x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    model = keras.Model([x, mask], stacked_recurrent(x, "lstm", 5, 2, mask=mask, **options))
    for i, weight in enumerate(model.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=0.5, size=weight.shape))
    return model


@pytest.mark.parametrize("name", RECURRENT_LAYERS)
def test_every_layer_returns_its_sequence_and_its_state(name):
    layer = RECURRENT_LAYERS[name](5, return_sequences=True, return_state=True)
    sequence, *states = layer(X)
    assert sequence.shape == (2, 3, 5) and states[0].shape == (2, 5)
    np.testing.assert_array_equal(sequence[:, -1], states[0])


@pytest.mark.parametrize("name", RECURRENT_LAYERS)
def test_every_layer_has_the_activation(name):
    layers = [RECURRENT_LAYERS[name](5, activation=activation) for activation in ("tanh", "relu", "sigmoid")]
    for layer in layers:
        layer.build(X.shape)
        layer.set_weights(layers[0].get_weights())
    tanh, relu, sigmoid = (layer(X).numpy() for layer in layers)
    assert np.abs(tanh - relu).max() > 1e-3 and np.abs(tanh - sigmoid).max() > 1e-3


def test_the_gru_that_resets_before_the_product_follows_the_equation():
    layer = RECURRENT_LAYERS["gru-reset-before"](5, return_sequences=True)
    outputs = layer(X).numpy()
    w, u, b = (weight.numpy() for weight in layer.weights)
    w_z, w_r, w_g = np.split(w, 3, axis=1)
    u_z, u_r, u_g = np.split(u, 3, axis=1)
    b_z, b_r, b_g = np.split(b, 3)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    h = np.zeros((2, 5))
    for t in range(3):
        z, r = sigmoid(X[:, t] @ w_z + h @ u_z + b_z), sigmoid(X[:, t] @ w_r + h @ u_r + b_r)
        h = z * h + (1 - z) * np.tanh(X[:, t] @ w_g + (r * h) @ u_g + b_g)
        np.testing.assert_allclose(outputs[:, t], h, atol=1e-5)


def test_the_sum_of_both_directions_is_that_of_their_concatenation():
    x = keras.Input((None, 4))
    models = []
    for merge in ("concat", "sum"):
        models.append(keras.Model(x, stacked_recurrent(x, "gru", 5, 1, bidirectional=True, merge=merge)))
    models[1].set_weights(models[0].get_weights())
    concatenated = models[0](X).numpy()
    np.testing.assert_allclose(models[1](X), concatenated[..., :5] + concatenated[..., 5:], atol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_residual_connection_adds_the_input_of_the_second_layer(bidirectional):
    plain, residual = (stacked(bidirectional=bidirectional, residual=value) for value in (False, True))
    valid = MASK[..., None]
    difference = residual([X, MASK]).numpy() - plain([X, MASK]).numpy()
    recurrent = [layer for layer in plain.layers if isinstance(layer, keras.layers.RNN | keras.layers.Bidirectional)]
    first = keras.Model(plain.inputs, recurrent[0].output)([X, MASK]).numpy()
    np.testing.assert_allclose(difference * valid, first * valid, atol=1e-5)


@pytest.mark.parametrize("return_sequences", [False, True])
def test_learned_states_start_both_directions(return_sequences):
    learned = stacked(bidirectional=True, learned_state=True, return_sequences=return_sequences)
    states = [layer for layer in learned.layers if layer.name.startswith("first_states")]
    assert [layer.sizes for layer in states] == [[5] * 4] * 2
    outputs = learned([X, MASK]).numpy()
    for layer in states:
        for weight in layer.weights:
            old = weight.numpy()
            weight.assign(old + 1)
            assert np.abs(learned([X, MASK]).numpy() - outputs).max() > 1e-4, weight.path
            weight.assign(old)


def test_padding_changes_nothing():
    for options in ({"residual": True}, {"learned_state": True}, {"bidirectional": True, "merge": "sum"}):
        model = stacked(**options)
        alone = model([X[1:, :2], MASK[1:, :2]]).numpy()
        np.testing.assert_allclose(model([X, MASK])[1, :2], alone[0], atol=1e-5)


def test_reset_states_sets_carried_states_to_zeros():
    x = keras.Input((None, 4), batch_size=2)
    model = keras.Model(x, RECURRENT_LAYERS["lstm"](5, stateful=True)(x))
    values = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    first = model(values).numpy()
    assert (model(values).numpy() != first).any()
    reset_states(model)
    np.testing.assert_array_equal(model(values), first)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", RECURRENT_LAYERS)
def test_no_layer_needs_the_mask_that_keras_hands_from_layer_to_layer(name, bidirectional, monkeypatch):
    """Keras 3.16 hands none on: each layer of the stack is given the mask."""

    def padded():
        keras.utils.set_random_seed(1)
        x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
        outputs = stacked_recurrent(x, name, 5, 3, mask=mask, bidirectional=bidirectional)
        return keras.Model([x, mask], outputs)([X, MASK]).numpy()

    expected = padded()
    for layer in (keras.layers.RNN, keras.layers.Bidirectional):
        monkeypatch.setattr(layer, "compute_mask", lambda self, *arguments, **options: None)
    np.testing.assert_array_equal(padded(), expected)


@pytest.mark.parametrize("name", RECURRENT_LAYERS)
def test_the_number_of_states_is_that_of_the_layer(name):
    assert num_states(name) == len(keras.tree.flatten(RECURRENT_LAYERS[name](3).cell.state_size))
