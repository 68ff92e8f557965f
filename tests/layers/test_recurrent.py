import os

import keras
import numpy as np
import pytest
from keras import ops

from layers.recurrent import HoistedGRU, HoistedLSTM, JordanCell, PeepholeLSTMCell

BACKEND = keras.backend.backend()
needs_float64 = pytest.mark.skipif(
    BACKEND == "jax" and os.environ.get("JAX_ENABLE_X64") != "1", reason="float64 is float32 on JAX without JAX_ENABLE_X64=1"
)
needs_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel is TensorFlow's")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, gain, shift=0.0):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + shift


def numpy_of(outputs):
    return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def randomize(layer, seed=0, scale=0.5):
    """Weights that no equation can confuse, biases and gains among them."""
    rng = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(scale=scale, size=variable.shape))


def gradients(loss, variables, arrays):
    """d loss(*arrays) by each of the arrays and of the variables."""
    tensors = [ops.convert_to_tensor(a) for a in arrays]
    values = [ops.convert_to_tensor(numpy_of(v)) for v in variables]

    def at(tensors, values):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return loss(*tensors)

    if BACKEND == "jax":
        import jax

        found = jax.grad(at, argnums=(0, 1))(tensors, values)
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch([tensors, values])
            total = at(tensors, values)
        found = tape.gradient(total, (tensors, values))
    return [ops.convert_to_numpy(g) for g in keras.tree.flatten(found)]


def check_gradients(loss, variables, arrays):
    """Each gradient in a random direction against the central difference, in float64."""
    rng = np.random.default_rng(1)
    found = gradients(loss, variables, arrays)
    start = [np.asarray(a, "float64") for a in arrays] + [ops.convert_to_numpy(v) for v in variables]

    def at(point):
        for variable, value in zip(variables, point[len(arrays) :], strict=True):
            variable.assign(value)
        return float(loss(*(ops.convert_to_tensor(a) for a in point[: len(arrays)])))

    for k, gradient in enumerate(found):
        direction = rng.normal(size=start[k].shape)
        ends = [at([a + sign * 1e-5 * direction if j == k else a for j, a in enumerate(start)]) for sign in (1, -1)]
        difference = (ends[0] - ends[1]) / 2e-5
        assert abs(difference) > 1e-8  # else it would test nothing
        np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-6, atol=1e-9)
    at(start)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 7, 3)).astype("float32")
    lengths = np.array([7, 1, 4, 6])  # a row with a single valid step among them
    return x, np.arange(7) < lengths[:, None]


def jordan_reference(cell, x, mask):
    w, u, b, v, c = (numpy_of(t) for t in (cell.kernel, cell.recurrent_kernel, cell.bias, cell.output_kernel, cell.output_bias))
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
    w, u, b, p = (numpy_of(t) for t in (cell.kernel, cell.recurrent_kernel, cell.bias, cell.peepholes))
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
                seen = layer_norm(c, numpy_of(norm.gamma), numpy_of(norm.beta)) if norm else c
                h = sigmoid(z_o + p[2] * c) * np.tanh(seen)
            outputs[row, t] = h
    return outputs


CELLS = {
    "jordan": (lambda **kwargs: JordanCell(5, 4, **kwargs), jordan_reference),
    "peephole": (lambda **kwargs: PeepholeLSTMCell(4, **kwargs), peephole_reference),
}
cells = pytest.mark.parametrize(("make", "reference"), CELLS.values(), ids=CELLS)
normalization = pytest.mark.parametrize("layer_normalization", [False, True], ids=["plain", "normalized"])
hoisted = pytest.mark.parametrize(
    ("ours", "keras_own"), [(HoistedLSTM, keras.layers.LSTM), (HoistedGRU, keras.layers.GRU)], ids=["lstm", "gru"]
)


@cells
@normalization
def test_cell_equals_the_equation(make, reference, layer_normalization, batch):
    x, mask = batch
    layer = keras.layers.RNN(make(layer_normalization=layer_normalization), return_sequences=True)
    layer(x)
    randomize(layer)
    np.testing.assert_allclose(numpy_of(layer(x, mask=mask)), reference(layer.cell, x, mask), atol=1e-5)


@needs_float64
@cells
@normalization
def test_cell_gradient_equals_finite_differences(make, reference, layer_normalization, batch):
    x, mask = batch
    cell = make(layer_normalization=layer_normalization, dtype="float64")
    layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
    layer(x)
    randomize(layer)
    weights = np.random.default_rng(2).normal(size=(4, 7, 4))
    check_gradients(lambda x: ops.sum(layer(x, mask=mask) * weights), layer.trainable_variables, [x.astype("float64")])


@cells
def test_cell_padding_and_neighbours_change_nothing(make, reference, batch):
    x, mask = batch
    layer = keras.layers.RNN(make())
    np.testing.assert_allclose(numpy_of(layer(x, mask=mask))[2:3], numpy_of(layer(x[2:3, :4])), atol=1e-5)


@cells
def test_cell_step_by_step_equals_the_whole_sequence(make, reference, batch):
    x, _ = batch
    layer = keras.layers.RNN(make(), return_sequences=True)
    whole = numpy_of(layer(x))
    states = layer.cell.get_initial_state(batch_size=4)
    for t in range(7):
        output, states = layer.cell(x[:, t], states)
        np.testing.assert_allclose(numpy_of(output), whole[:, t], atol=1e-5)


@cells
def test_cell_bidirectional_and_stacked_is_saved_with_dynamic_batch_and_time(make, reference, batch, survives_saving):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    bidirectional = keras.layers.Bidirectional(keras.layers.RNN(make(), return_sequences=True))(inputs, mask=mask)
    stacked = keras.layers.RNN([make(), make(layer_normalization=True)])(bidirectional, mask=mask)
    model = keras.Model([inputs, mask], stacked)
    survives_saving(model, list(batch))
    x, mask = batch
    np.testing.assert_allclose(numpy_of(model([x[:2, :5], mask[:2, :5]]))[1], numpy_of(model([x, mask]))[1], atol=1e-5)


@cells
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_cell_passes_keras_own_layer_test(make, reference, dtype, keras_layer_test):
    keras_layer_test(
        keras.layers.RNN,
        {"cell": make(layer_normalization=True, dtype=dtype)},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 4),
        expected_num_losses=0,
        supports_masking=True,
    )


@cells
def test_cell_config_round_trip(make, reference):
    cell = make(dropout=0.1, recurrent_dropout=0.2, layer_normalization=True, seed=3)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(cell))
    assert again.get_config() == cell.get_config()
    assert (again.dropout, again.recurrent_dropout, again.layer_normalization, again.seed) == (0.1, 0.2, True, 3)


@cells
def test_dropout_acts_in_training_alone_and_follows_the_seed(make, reference, batch):
    x, _ = batch
    for rates in ({"dropout": 0.5}, {"recurrent_dropout": 0.5}):
        layers = [keras.layers.RNN(make(seed=7, **rates)) for _ in range(2)]
        plain = keras.layers.RNN(make())
        for layer in (*layers, plain):
            layer(x)
            randomize(layer)
        for layer in layers:  # both, as a call draws masks from the seed even if it does not use them
            np.testing.assert_allclose(numpy_of(layer(x)), numpy_of(plain(x)), atol=1e-6)
        first, second = (numpy_of(layer(x, training=True)) for layer in layers)
        np.testing.assert_allclose(first, second, atol=1e-6)
        assert np.abs(first - numpy_of(plain(x))).max() > 1e-3


def test_dropout_masks_stay_the_same_over_the_steps():
    cell = JordanCell(6, activation="linear", output_activation="linear", dropout=0.5, recurrent_initializer="zeros", seed=1)
    outputs = numpy_of(keras.layers.RNN(cell, return_sequences=True)(np.ones((3, 6, 8), "float32"), training=True))
    np.testing.assert_allclose(outputs, np.repeat(outputs[:, :1], 6, axis=1), atol=1e-6)
    assert np.abs(outputs[0, 0] - outputs[1, 0]).max() > 1e-3


def test_peephole_at_zero_is_the_keras_cell(batch):
    x, mask = batch
    ours, keras_own = keras.layers.RNN(PeepholeLSTMCell(4)), keras.layers.LSTM(4)
    ours(x)
    keras_own(x)
    bias = numpy_of(ours.cell.bias)
    np.testing.assert_array_equal(bias, [0] * 4 + [1] * 4 + [0] * 8)  # unit forget bias
    np.testing.assert_array_equal(numpy_of(ours.cell.peepholes), 0)
    randomize(keras_own)
    ours.set_weights([*keras_own.get_weights(), np.zeros((3, 4))])
    np.testing.assert_allclose(numpy_of(ours(x, mask=mask)), numpy_of(keras_own(x, mask=mask)), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (keras.layers.SimpleRNN(256), 98_560),
        (HoistedGRU(256), 295_680 + 3 * 256),
        (HoistedLSTM(256), 394_240),
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
    # The material writes W x, Keras x W; `so` and `long` go in, `long` and `and` should come out.
    layer.set_weights([w.T, u.T])
    h = numpy_of(layer(np.array([[so, long]], "float32")))[0]
    y = softmax(h @ v.T)
    np.testing.assert_allclose(h, [[1.192, 1.097], [1.388, 1.903]], atol=1e-3)
    np.testing.assert_allclose(y, [[0.293, 0.201, 0.230, 0.103, 0.173], [0.329, 0.254, 0.185, 0.071, 0.161]], atol=1e-3)
    loss = -np.mean(np.log([y[0, words.tolist().index(long)], y[1, words.tolist().index(and_)]]))
    assert abs(loss - 1.291) < 1e-3
    assert abs(np.exp(loss) - 3.64) < 1e-2


@hoisted
@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("use_bias", [True, False], ids=["bias", "no_bias"])
def test_hoisted_equals_keras_forward_and_gradient(ours, keras_own, masked, go_backwards, use_bias, batch):
    x, mask = batch
    mask = mask if masked else None
    rng = np.random.default_rng(3)
    number = 2 if ours is HoistedLSTM else 1

    def draw(*shape):
        return rng.normal(size=shape).astype("float32")

    initial = [draw(4, 5) for _ in range(number)]
    # Before the first valid step Keras outputs zeros on TensorFlow and the initial state on JAX: it does not count.
    counts = mask[:, ::-1, None] if masked and go_backwards else 1.0
    weights = [draw(4, 7, 5) * counts, *(draw(4, 5) for _ in range(number))]
    results = []
    weight_values = None
    for layer_class in (ours, keras_own):
        layer = layer_class(5, return_sequences=True, return_state=True, go_backwards=go_backwards, use_bias=use_bias)
        layer.build(x.shape)
        if weight_values is None:
            randomize(layer)
            weight_values = layer.get_weights()
        layer.set_weights(weight_values)

        def loss(x, *initial, layer=layer):
            outputs = layer(x, initial_state=list(initial), mask=mask)
            return sum(ops.sum(o * w) for o, w in zip(outputs, weights, strict=True))

        sequence, *states = numpy_of(layer(x, initial_state=initial, mask=mask))
        results.append(([sequence * counts, *states], gradients(loss, layer.trainable_variables, [x, *initial])))
    keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5), results[0], results[1])


@needs_float64
@hoisted
def test_hoisted_gradient_equals_finite_differences(ours, keras_own, batch):
    x, mask = batch
    layer = ours(4, dtype="float64")
    layer.build(x.shape)
    randomize(layer)
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, mask=mask))), layer.trainable_variables, [x.astype("float64")])


@hoisted
@pytest.mark.parametrize("options", [{"recurrent_dropout": 0.5}, {"activation": "relu"}, {"dropout": 0.5}], ids=str)
def test_hoisted_takes_the_options_of_keras(ours, keras_own, options, batch):
    x, mask = batch
    results = []
    for layer_class in (ours, keras_own):
        layer = layer_class(4, seed=5, **options)
        layer.build(x.shape)
        randomize(layer)
        results += [numpy_of(layer(x, mask=mask)), numpy_of(layer(x, mask=mask, training=True))]
    np.testing.assert_allclose(results[0], results[2], atol=1e-5)
    np.testing.assert_allclose(results[1], results[3], atol=1e-5)


@hoisted
def test_hoisted_passes_keras_own_layer_test(ours, keras_own, keras_layer_test):
    keras_layer_test(
        ours,
        {"units": 4, "dropout": 0.2, "return_sequences": True},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=3,
        expected_num_losses=0,
        supports_masking=True,
    )


@hoisted
def test_hoisted_bidirectional_is_saved_with_dynamic_batch_and_time(ours, keras_own, batch, survives_saving):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    outputs = keras.layers.Bidirectional(ours(4, return_sequences=True))(inputs, mask=mask)
    model = keras.Model([inputs, mask], ours(4)(outputs, mask=mask))
    survives_saving(model, list(batch))
    x, mask = batch
    np.testing.assert_allclose(numpy_of(model([x[2:3, :4], mask[2:3, :4]])), numpy_of(model([x, mask]))[2:3], atol=1e-5)


@hoisted
def test_hoisted_under_mixed_bfloat16_is_near_float32(ours, keras_own, batch):
    x, mask = batch
    exact, mixed = ours(4), ours(4, dtype="mixed_bfloat16")
    exact.build(x.shape)
    mixed.build(x.shape)
    mixed.set_weights(exact.get_weights())
    got = mixed(x, mask=mask)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    np.testing.assert_allclose(numpy_of(ops.cast(got, "float32")), numpy_of(exact(x, mask=mask)), atol=3e-2)


@needs_tensorflow
@pytest.mark.parametrize(
    "make",
    [
        lambda: HoistedLSTM(4),
        lambda: HoistedGRU(4),
        lambda: keras.layers.RNN(JordanCell(4)),
        lambda: keras.layers.RNN(PeepholeLSTMCell(4, layer_normalization=True)),
    ],
    ids=["hoisted_lstm", "hoisted_gru", "jordan", "peephole"],
)
def test_graph_needs_no_xla(make):
    import tensorflow as tf

    layer = make()
    layer.build((None, None, 3))
    specs = [tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None), tf.bool)]
    graph = tf.function(lambda x, mask: layer(x, mask=mask)).get_concrete_function(*specs).graph.as_graph_def()
    names = {node.op for part in (graph.node, *(f.node_def for f in graph.library.function)) for node in part}
    assert "MatMul" in names
    assert not [name for name in names if name.startswith("Xla")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: JordanCell(0),
        lambda: JordanCell(3, 0),
        lambda: JordanCell(3, dropout=1.0),
        lambda: PeepholeLSTMCell(0),
        lambda: PeepholeLSTMCell(3, recurrent_dropout=-0.1),
        lambda: HoistedLSTM(0),
        lambda: HoistedGRU(3, reset_after=False),
    ],
)
def test_impossible_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units|dropout|reset_after"):
        make()
