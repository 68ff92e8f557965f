import keras
import numpy as np
import pytest
from keras import ops

from layers import (
    AttentionDecoder,
    HoistedGRU,
    HoistedLSTM,
    InitialStates,
    JordanCell,
    PeepholeLSTMCell,
    RecurrentTrace,
)
from tests.layers.checks import close, needs_tensorflow, normal, numpy_of, ops_without_xla, randomized

SHAPE = (4, 7, 3)
MASK = np.arange(7) < np.array([7, 1, 4, 6])[:, None]  # one row has a single valid step
RECURRENT = {
    "simple": keras.layers.SimpleRNN,
    "jordan": lambda units, **options: keras.layers.RNN(JordanCell(units), **options),
    "gru": keras.layers.GRU,
    "gru reset before": lambda units, **options: keras.layers.GRU(units, reset_after=False, **options),
    "gru without bias": lambda units, **options: keras.layers.GRU(units, use_bias=False, **options),
    "hoisted gru": HoistedGRU,
    "lstm": keras.layers.LSTM,
    "lstm without bias": lambda units, **options: keras.layers.LSTM(units, use_bias=False, **options),
    "hoisted lstm": HoistedLSTM,
    "relu lstm": lambda units, **options: HoistedLSTM(units, activation="relu", **options),
    "peephole": lambda units, **options: keras.layers.RNN(PeepholeLSTMCell(units), **options),
    "normalized": lambda units, **options: keras.layers.RNN(
        PeepholeLSTMCell(units, layer_normalization=True), **options
    ),
}
any_kind = pytest.mark.parametrize("kind", RECURRENT)


def make(kind, **options):
    layer = RECURRENT[kind](5, return_sequences=True, **options)
    return randomized(layer, SHAPE), normal(*SHAPE, seed=2)


@any_kind
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
@pytest.mark.any_backend
def test_the_hidden_states_are_the_outputs_of_the_layer(kind, go_backwards, mask):
    layer, x = make(kind, go_backwards=go_backwards)
    outputs = numpy_of(layer(x, mask=mask))
    hidden = numpy_of(RecurrentTrace(layer)(x, mask=mask)["hidden"])
    outputs = outputs[:, ::-1] if go_backwards else outputs  # Keras returns the steps in the order of reading
    valid = np.ones(SHAPE[:2], bool) if mask is None else mask
    close(hidden[valid], outputs[valid])


@any_kind
@pytest.mark.any_backend
def test_the_gates_make_each_state_from_the_one_before(kind):
    layer, x = make(kind)
    first = [normal(4, 5, seed=9 + i) for i in range(len(keras.tree.flatten(layer.cell.state_size)))]
    values = {name: numpy_of(value) for name, value in RecurrentTrace(layer)(x, initial_state=first).items()}
    if "cell" in values:
        before = np.concatenate([first[1][:, None], values["cell"][:, :-1]], axis=1)
        cell = values["forget_gate"] * before + values["input_gate"] * values["candidate"]
        close(values["cell"], cell)
        if kind != "normalized":
            activation = numpy_of(layer.cell.activation(ops.convert_to_tensor(values["cell"])))
            close(values["hidden"], values["output_gate"] * activation)
    elif "update_gate" in values:
        before = np.concatenate([first[0][:, None], values["hidden"][:, :-1]], axis=1)
        z = values["update_gate"]
        close(values["hidden"], z * before + (1 - z) * values["candidate"])
    else:
        assert list(values) == ["hidden"]


@pytest.mark.any_backend
def test_masked_steps_repeat_the_state_and_have_gates_of_zero():
    layer, x = make("hoisted lstm")
    values = {name: numpy_of(value) for name, value in RecurrentTrace(layer)(x, mask=MASK).items()}
    close(values["hidden"][1, 1:], np.repeat(values["hidden"][1, :1], 6, axis=0))
    assert not values["forget_gate"][~MASK].any()
    assert values["forget_gate"][MASK].all()


@pytest.mark.any_backend
def test_the_gates_of_an_lstm_equal_the_equation():
    layer, x = make("hoisted lstm")
    w, u, b = (numpy_of(weight) for weight in layer.weights)
    h = c = np.zeros((4, 5))
    values = {name: numpy_of(value) for name, value in RecurrentTrace(layer)(x).items()}
    for t in range(7):
        i, f, g, o = np.split(x[:, t] @ w + h @ u + b, 4, axis=-1)
        i, f, o = (1 / (1 + np.exp(-z)) for z in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        expected = {
            "input_gate": i,
            "forget_gate": f,
            "output_gate": o,
            "candidate": np.tanh(g),
            "cell": c,
            "hidden": h,
        }
        for name, value in expected.items():
            close(values[name][:, t], value)


def test_its_weights_are_those_of_the_layer_and_it_survives_saving(survives_saving):
    lstm, x = make("lstm")
    inputs = keras.Input(SHAPE[1:])
    states = InitialStates([5, 5])(inputs)
    model = keras.Model([inputs], RecurrentTrace(lstm)(inputs, initial_state=states))
    assert {id(weight) for weight in lstm.weights} < {id(weight) for weight in model.weights}
    survives_saving(model, [x])


@needs_tensorflow
def test_it_runs_without_xla():
    layer, x = make("hoisted gru")
    import tensorflow as tf

    trace = RecurrentTrace(layer)
    ops_without_xla(tf.function(trace, input_signature=[tf.TensorSpec([None, None, 3])], autograph=False))


@pytest.mark.parametrize("layer", [keras.layers.Dense(3), AttentionDecoder], ids=["dense", "attention decoder"])
def test_another_layer_is_refused(layer):
    if layer is AttentionDecoder:
        from layers import AttentionDecoderCell, BahdanauAttention

        layer = AttentionDecoder(AttentionDecoderCell(keras.layers.GRUCell(3), BahdanauAttention(3), 4))
    with pytest.raises(ValueError, match="it must be a recurrent layer of simple cells"):
        RecurrentTrace(layer)


def set_values(trace, x, values):
    """Returns edits that set what `values` has, quantity -> [batch, time, units] with NaN where nothing is set."""
    shape = numpy_of(trace(x)["hidden"]).shape
    nothing = {name: np.full(shape, np.nan, "float32") for name in trace(x)}
    return {name: (~np.isnan(value), np.nan_to_num(value)) for name, value in (nothing | values).items()}


@any_kind
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forward", "backward"])
@pytest.mark.any_backend
def test_edits_that_set_nothing_change_nothing(kind, go_backwards):
    layer, x = make(kind, go_backwards=go_backwards)
    trace = RecurrentTrace(layer)
    plain, edited = trace(x, mask=MASK), trace(x, mask=MASK, edits=set_values(trace, x, {}))
    for name, values in plain.items():
        close(edited[name], values)


def numpy_lstm(layer, x, values):
    """The equations of an LSTM in NumPy, with set gates and states: quantity -> [batch, time, units], NaN elsewhere."""
    kernel, recurrent, bias = (numpy_of(each) for each in layer.weights)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    h = c = np.zeros((len(x), 5), "float32")
    found = []
    for t in range(x.shape[1]):
        pick = lambda name, value: np.where(np.isnan(values[name][:, t]), value, values[name][:, t])  # noqa: B023, E731
        z = x[:, t] @ kernel + h @ recurrent + bias
        z_i, z_f, z_g, z_o = np.split(z, 4, axis=1)
        i, f = pick("input_gate", sigmoid(z_i)), pick("forget_gate", sigmoid(z_f))
        c = pick("cell", f * c + i * pick("candidate", np.tanh(z_g)))
        h = pick("hidden", pick("output_gate", sigmoid(z_o)) * np.tanh(c))
        found.append(h)
    return np.stack(found, axis=1)


@pytest.mark.parametrize("name", ["input_gate", "forget_gate", "candidate", "output_gate", "cell", "hidden"])
@pytest.mark.any_backend
def test_what_is_set_in_an_lstm_is_what_its_equations_go_on_with(name):
    layer, x = make("lstm")
    trace = RecurrentTrace(layer)
    values = {each: np.full((4, 7, 5), np.nan, "float32") for each in trace(x)}
    values[name][:, 2:5, 3] = 0.75
    values[name][1, :, 0] = -0.5
    edited = trace(x, edits=set_values(trace, x, values))
    close(edited["hidden"], numpy_lstm(layer, numpy_of(x), values), 1e-5)
    is_set = ~np.isnan(values[name])
    close(numpy_of(edited[name])[is_set], values[name][is_set])


@pytest.mark.parametrize("kind", ["gru", "gru reset before", "simple", "jordan"])
@pytest.mark.any_backend
def test_a_state_that_is_set_is_what_later_steps_read(kind):
    layer, x = make(kind)
    trace = RecurrentTrace(layer)
    state = normal(4, 5, seed=3)
    values = np.full((4, 7, 5), np.nan, "float32")
    values[:, 2] = numpy_of(state)
    edited = numpy_of(trace(x, edits=set_values(trace, x, {"hidden": values}))["hidden"])
    close(edited[:, :2], numpy_of(trace(x)["hidden"])[:, :2])
    close(edited[:, 2], numpy_of(state))
    close(edited[:, 3:], numpy_of(trace(x[:, 3:], initial_state=[state])["hidden"]))


@pytest.mark.parametrize("kind", ["gru", "gru reset before"])
@pytest.mark.any_backend
def test_an_update_gate_of_one_keeps_the_state_of_a_gru(kind):
    layer, x = make(kind)
    trace = RecurrentTrace(layer)
    values = np.full((4, 7, 5), np.nan, "float32")
    values[:, 3:, 1] = 1.0
    hidden = numpy_of(trace(x, edits=set_values(trace, x, {"update_gate": values}))["hidden"])
    close(hidden[:, 3:, 1], np.repeat(hidden[:, 2:3, 1], 4, axis=1))
