import keras
import numpy as np
import pytest
from keras import ops

from layers.recurrent import InitialStates, JordanCell, PeepholeLSTMCell
from tests.layers.checks import (
    call,
    check_gradients,
    close,
    float32_of,
    in_float64,
    needs_tensorflow,
    normal,
    numpy_of,
    ops_without_xla,
    randomized,
)

SHAPE = (4, 7, 3)
MASK = np.arange(7) < np.array([7, 1, 4, 6])[:, None]  # one row has a single valid step


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, gain, shift=0.0):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + shift


def jordan_reference(cell, x, mask):
    """The equations in NumPy, for one row and one step at a time: the output of every step."""
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias, cell.output_kernel, cell.output_bias)
    w, u, b, v, c = (numpy_of(weight) for weight in weights)
    outputs = np.zeros((*x.shape[:2], v.shape[1]))
    for row in range(len(x)):
        y = np.zeros(v.shape[1])
        for t in range(x.shape[1]):
            if mask[row, t]:
                wx, uy = x[row, t] @ w, y @ u
                if cell.layer_normalization:
                    wx = layer_norm(wx, numpy_of(cell.input_norm.gamma))
                    uy = layer_norm(uy, numpy_of(cell.recurrent_norm.gamma))
                y = np.tanh(np.tanh(wx + uy + b) @ v + c)
            outputs[row, t] = y
    return outputs


def peephole_reference(cell, x, mask):
    """The equations in NumPy, for one row and one step at a time: the output of every step."""
    w, u, b, p = (numpy_of(weight) for weight in (cell.kernel, cell.recurrent_kernel, cell.bias, cell.peepholes))
    outputs = np.zeros((*x.shape[:2], cell.units))
    for row in range(len(x)):
        h = c = np.zeros(cell.units)
        for t in range(x.shape[1]):
            if mask[row, t]:
                wx, uh = x[row, t] @ w, h @ u
                if cell.layer_normalization:
                    wx = layer_norm(wx, numpy_of(cell.input_norm.gamma))
                    uh = layer_norm(uh, numpy_of(cell.recurrent_norm.gamma))
                z_i, z_f, z_c, z_o = np.split(wx + uh + b, 4)
                i, f = sigmoid(z_i + p[0] * c), sigmoid(z_f + p[1] * c)
                c = f * c + i * np.tanh(z_c)
                norm = cell.state_norm if cell.layer_normalization else None
                normalized = layer_norm(c, numpy_of(norm.gamma), numpy_of(norm.beta)) if norm else c
                h = sigmoid(z_o + p[2] * c) * np.tanh(normalized)
            outputs[row, t] = h
    return outputs


CELLS = {
    "jordan": (lambda **kwargs: JordanCell(5, 4, **kwargs), jordan_reference),
    "peephole": (lambda **kwargs: PeepholeLSTMCell(4, **kwargs), peephole_reference),
}
cells = pytest.mark.parametrize(("make", "reference"), CELLS.values(), ids=CELLS)
normalization = pytest.mark.parametrize("layer_normalization", [False, True], ids=["plain", "normalized"])


def rnn(cell, **options):
    return randomized(keras.layers.RNN(cell, return_sequences=True, **options), SHAPE)


@pytest.mark.any_backend
@cells
@normalization
def test_equals_the_equation(make, reference, layer_normalization):
    x, layer = normal(*SHAPE), rnn(make(layer_normalization=layer_normalization))
    close(call(layer, x, mask=MASK), reference(layer.cell, x, MASK))


@pytest.mark.any_backend
@in_float64
@cells
@normalization
def test_gradient_equals_finite_differences(make, reference, layer_normalization):
    layer = rnn(make(layer_normalization=layer_normalization, dtype="float64"), dtype="float64")
    weights = ops.convert_to_tensor(normal(4, 7, 4, seed=2, dtype="float64"))
    x = normal(*SHAPE, dtype="float64")
    check_gradients(lambda x: ops.sum(layer(x, mask=MASK) * weights), layer.trainable_variables, [x])


@pytest.mark.any_backend
@cells
def test_padding_and_other_rows_change_no_result(make, reference):
    x, layer = normal(*SHAPE), rnn(make())
    close(call(layer, x, mask=MASK)[2:3, :4], call(layer, x[2:3, :4]))


@pytest.mark.any_backend
@cells
def test_step_by_step_equals_the_whole_sequence(make, reference):
    x, layer = normal(*SHAPE), rnn(make())
    outputs = call(layer, x)
    states = layer.cell.get_initial_state(batch_size=4)
    for t in range(7):
        output, states = layer.cell(x[:, t], states)
        close(output, outputs[:, t])


@pytest.mark.long
@cells
def test_bidirectional_and_stacked_is_saved_with_dynamic_batch_and_time(make, reference, survives_saving):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    bidirectional = keras.layers.Bidirectional(keras.layers.RNN(make(), return_sequences=True))(inputs, mask=mask)
    stacked = keras.layers.RNN([make(), make(layer_normalization=True)])(bidirectional, mask=mask)
    model = keras.Model([inputs, mask], stacked)
    x = normal(*SHAPE)
    expected = survives_saving(model, [x, MASK])
    close(call(model, [x[:2, :5], MASK[:2, :5]])[1], expected[1])


@pytest.mark.long
@cells
def test_passes_the_layer_test_of_keras(make, reference, keras_layer_test):
    keras_layer_test(
        keras.layers.RNN,
        lambda dtype: {"cell": make(layer_normalization=True, dtype=dtype)},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 4),
        expected_num_losses=0,
        supports_masking=True,
    )


@cells
def test_mixed_bfloat16_is_near_float32(make, reference):
    x, exact = normal(*SHAPE), rnn(make(layer_normalization=True))
    mixed = rnn(make(layer_normalization=True, dtype="mixed_bfloat16"), dtype="mixed_bfloat16")
    got = call(mixed, x, mask=MASK)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    close(float32_of(got), call(exact, x, mask=MASK), atol=0.1)


@cells
def test_the_config_keeps_all_arguments(make, reference):
    cell = make(dropout=0.1, recurrent_dropout=0.2, layer_normalization=True, seed=3)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(cell))
    assert copy.get_config() == cell.get_config()
    assert (copy.dropout, copy.recurrent_dropout, copy.layer_normalization, copy.seed) == (0.1, 0.2, True, 3)


@cells
def test_dropout_acts_in_training_only_and_follows_the_seed(make, reference):
    x = normal(*SHAPE)
    plain = call(rnn(make()), x)
    for rates in ({"dropout": 0.5}, {"recurrent_dropout": 0.5}):
        layer, same_seed = (rnn(make(seed=7, **rates)) for _ in range(2))
        in_training = call(layer, x, training=True)
        close(in_training, call(same_seed, x, training=True), atol=1e-6)
        assert np.abs(in_training - plain).max() > 1e-3
        close(call(layer, x), plain, atol=1e-6)


def test_dropout_drops_the_same_inputs_at_every_step():
    linear = {"activation": "linear", "output_activation": "linear"}
    cell = JordanCell(6, dropout=0.5, recurrent_initializer="zeros", seed=1, **linear)
    outputs = numpy_of(keras.layers.RNN(cell, return_sequences=True)(np.ones((3, 6, 8), "float32"), training=True))
    close(outputs, np.repeat(outputs[:, :1], 6, axis=1), atol=1e-6)
    assert np.abs(outputs[0, 0] - outputs[1, 0]).max() > 1e-3


def test_peepholes_of_zero_give_the_lstm_of_keras():
    x, ours, keras_lstm = normal(*SHAPE), keras.layers.RNN(PeepholeLSTMCell(4)), randomized(keras.layers.LSTM(4), SHAPE)
    ours.build(SHAPE)
    np.testing.assert_array_equal(numpy_of(ours.cell.bias), [0] * 4 + [1] * 4 + [0] * 8)  # the forget bias is one
    np.testing.assert_array_equal(numpy_of(ours.cell.peepholes), 0)
    ours.set_weights([*keras_lstm.get_weights(), np.zeros((3, 4))])
    close(call(ours, x, mask=MASK), call(keras_lstm, x, mask=MASK), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (keras.layers.SimpleRNN(256), 98_560),
        (keras.layers.RNN(PeepholeLSTMCell(256)), 394_240 + 3 * 256),
        (keras.layers.RNN(PeepholeLSTMCell(256, layer_normalization=True)), 394_240 + 13 * 256),
        (keras.layers.RNN(JordanCell(256, 64)), 256 * (128 + 64 + 1) + 64 * 257),
        (keras.layers.RNN(JordanCell(256, 64, layer_normalization=True)), 256 * (128 + 64 + 1) + 64 * 257 + 512),
    ],
)
def test_parameter_counts(layer, expected):
    layer.build((None, None, 128))
    assert layer.count_params() == expected


def test_keras_simple_rnn_is_the_elman_network_of_the_worked_example():
    so, long, and_ = [0.698, 0.978], [0.474, 0.897], [0.087, 0.940]
    words = np.array([and_, [0.698, 0.711], long, so, [0.122, 0.175]])  # and, for, long, so, thanks
    w, u = np.array([[0.375, 0.951], [0.732, 0.599]]), np.array([[0.156, 0.156], [0.058, 0.866]])
    v = np.array([[0.601, 0.683], [0.021, 0.970], [0.832, 0.212], [0.182, 0.183], [0.304, 0.525]])
    layer = keras.layers.RNN(keras.layers.SimpleRNNCell(2, activation="relu", use_bias=False), return_sequences=True)
    layer(np.zeros((1, 2, 2)))
    # The example computes W x, Keras computes x W. The inputs are `so` and `long`, the targets `long` and `and`.
    layer.set_weights([w.T, u.T])
    h = numpy_of(layer(np.array([[so, long]], "float32")))[0]
    y = softmax(h @ v.T)
    close(h, np.array([[1.192, 1.097], [1.388, 1.903]]), atol=1e-3)
    close(y, np.array([[0.293, 0.201, 0.230, 0.103, 0.173], [0.329, 0.254, 0.185, 0.071, 0.161]]), atol=1e-3)
    loss = -np.mean(np.log([y[0, words.tolist().index(long)], y[1, words.tolist().index(and_)]]))
    assert abs(loss - 1.291) < 1e-3
    assert abs(np.exp(loss) - 3.64) < 1e-2


@pytest.mark.any_backend
def test_initial_states_are_weights_that_every_row_starts_from():
    x, lstm, states = normal(3, 5, 4), keras.layers.LSTM(6), InitialStates([6, 6])
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, lstm(inputs, initial_state=states(inputs)))
    close(call(model, x), call(lstm, x), atol=1e-6)  # they start at zero
    h, c = normal(6), normal(6, seed=1)
    states.set_weights([h, c])
    repeated = [np.repeat(state[None], 3, axis=0) for state in (h, c)]
    close(call(model, x), numpy_of(lstm(x, initial_state=[ops.convert_to_tensor(s) for s in repeated])), atol=1e-6)
    copy = InitialStates.from_config(states.get_config())
    assert (copy.sizes, states.count_params()) == ([6, 6], 12)
    assert states.compute_output_shape((3, 5, 4)) == [(3, 6), (3, 6)]


@needs_tensorflow
@cells
def test_graph_needs_no_xla(make, reference):
    import tensorflow as tf

    layer = rnn(make(layer_normalization=True))
    specs = [tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None), tf.bool)]
    assert "MatMul" in ops_without_xla(tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs))


@pytest.mark.parametrize(
    "make",
    [
        lambda: JordanCell(0),
        lambda: JordanCell(3, 0),
        lambda: JordanCell(3, dropout=1.0),
        lambda: PeepholeLSTMCell(0),
        lambda: PeepholeLSTMCell(3, recurrent_dropout=-0.1),
        lambda: InitialStates([]),
        lambda: InitialStates([3, 0]),
    ],
)
def test_invalid_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units|dropout is|sizes is"):
        make()
