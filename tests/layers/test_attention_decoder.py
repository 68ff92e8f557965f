import keras
import numpy as np
import pytest
from keras import ops

from layers.attention import SCORES, Attention, BahdanauAttention, LuongAttention
from layers.attention_decoder import AttentionDecoder, AttentionDecoderCell
from layers.recurrent import JordanCell, PeepholeLSTMCell
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
    trains,
)


def simple(cell=keras.layers.SimpleRNNCell, attention=None, inner=None, **kwargs):
    dtype = kwargs.get("dtype")
    attention = attention or (lambda dtype: BahdanauAttention(7, dtype=dtype))
    return AttentionDecoderCell(cell(5, dtype=dtype, **(inner or {})), attention(dtype), memory_size=6, **kwargs)


def luong(cell=keras.layers.SimpleRNNCell, **kwargs):
    return simple(cell, attention=lambda dtype: LuongAttention("general", dtype=dtype), style="luong", **kwargs)


def local(**kwargs):
    def attention(dtype):
        return LuongAttention("general", window=2, dtype=dtype)

    return simple(keras.layers.LSTMCell, attention=attention, style="luong", input_feeding=True, **kwargs)


CELLS = {
    "bahdanau_simple": simple,
    "bahdanau_gru": lambda **kwargs: simple(keras.layers.GRUCell, **kwargs),
    "bahdanau_lstm": lambda **kwargs: simple(keras.layers.LSTMCell, **kwargs),
    "bahdanau_jordan": lambda **kwargs: simple(JordanCell, **kwargs),
    "luong_simple": luong,
    "luong_feeding": lambda **kwargs: luong(input_feeding=True, output_units=4, **kwargs),
    "luong_gru": lambda **kwargs: luong(keras.layers.GRUCell, **kwargs),
    "luong_peephole": lambda **kwargs: luong(PeepholeLSTMCell, output_units=4, input_feeding=True, **kwargs),
    "luong_local": local,
}
cells = pytest.mark.parametrize("make", CELLS.values(), ids=CELLS)


def some_cells(*names):
    return pytest.mark.parametrize("make", [CELLS[name] for name in names], ids=names)


def batch_of(dtype="float32"):
    mask = np.arange(8) < np.array([8, 1, 5, 3])[:, None]  # one row has a single valid position
    return normal(4, 5, 3, dtype=dtype), normal(4, 8, 6, seed=1, dtype=dtype), mask


def built(cell, **options):
    return randomized(AttentionDecoder(cell, **options), (None, None, 3), (None, None, 6))


def reference(cell, inputs, value, mask, states=None):
    """The equations in NumPy, with a SimpleRNN cell, for one row, one step and one position at a time."""
    w, u, b = (numpy_of(v) for v in cell.cell.weights)
    attention = {v.name: numpy_of(v) for v in cell.attention.weights}

    def attend(query, x):
        if cell.style == "bahdanau":
            hidden = np.tanh(query @ attention["query_kernel"] + x @ attention["key_kernel"])
            scores = hidden @ attention["score_vector"][:, 0]
        else:
            scores = x @ attention["key_kernel"] @ query
        exps = np.exp(scores)
        return exps / exps.sum()

    outputs, weights = np.zeros((4, 5, cell.output_size)), np.zeros((4, 5, 8))
    for row in range(4):
        x = value[row, mask[row]]
        h = np.zeros(5) if states is None else states[row]
        y = np.zeros(cell.output_size)
        for t in range(5):
            if cell.style == "bahdanau":
                a = attend(h, x)
                h = y = np.tanh(np.concatenate([inputs[row, t], a @ x]) @ w + h @ u + b)
            else:
                cell_inputs = np.concatenate([inputs[row, t], y]) if cell.input_feeding else inputs[row, t]
                h = np.tanh(cell_inputs @ w + h @ u + b)
                a = attend(h, x)
                y = np.tanh(np.concatenate([a @ x, h]) @ numpy_of(cell.output_kernel))
            outputs[row, t], weights[row, t, mask[row]] = y, a
    return outputs, weights


@pytest.mark.any_backend
@pytest.mark.parametrize("name", ["bahdanau_simple", "luong_simple", "luong_feeding"])
def test_equals_the_equation(name):
    inputs, value, mask = batch_of()
    decoder = built(CELLS[name](), return_weights=True)
    states = normal(4, 5, seed=5)
    for given in (None, states):
        expected = reference(decoder.cell, inputs, value, mask, given)
        close(call(decoder, inputs, value, mask=mask, initial_state=given), expected)


@pytest.mark.any_backend
@in_float64
@pytest.mark.parametrize("name", ["bahdanau_lstm", "luong_feeding", "luong_local"])
def test_gradient_equals_finite_differences(name):
    inputs, value, mask = batch_of("float64")
    decoder = built(CELLS[name](dtype="float64"), dtype="float64")

    def loss(inputs, value):
        return ops.sum(ops.sin(3 * decoder(inputs, value, mask=mask)))

    check_gradients(loss, decoder.trainable_variables, [inputs, value])


@pytest.mark.any_backend
@cells
def test_step_by_step_equals_teacher_forcing(make):
    inputs, value, mask = batch_of()
    decoder = built(make(), return_weights=True)
    outputs, weights = call(decoder, inputs, value, mask=mask)
    cell = decoder.cell
    states = cell.start(value, mask)
    for t in range(5):
        output, states, step_weights = cell(inputs[:, t], states, return_weights=True)
        close((output, step_weights), (outputs[:, t], weights[:, t]))
    close(call(AttentionDecoder(cell), inputs, value, mask=mask), outputs)


@some_cells("bahdanau_lstm", "luong_feeding")
@pytest.mark.parametrize("return_weights", [False, True])
def test_an_unrolled_decoder_gives_the_same_outputs(make, return_weights):
    inputs, value, mask = batch_of()
    decoder = built(make(), return_weights=return_weights)
    unrolled = AttentionDecoder(decoder.cell, return_weights=return_weights, unroll=True)
    close(call(unrolled, inputs, value, mask=mask), call(decoder, inputs, value, mask=mask))


@some_cells("bahdanau_gru", "luong_feeding")
def test_the_cell_works_in_a_plain_rnn(make):
    inputs, value, mask = batch_of()
    decoder = built(make())
    plain = keras.layers.RNN(decoder.cell, return_sequences=True)
    close(plain(inputs, initial_state=decoder.cell.start(value, mask)), call(decoder, inputs, value, mask=mask))


@pytest.mark.any_backend
@cells
def test_padding_and_other_rows_and_later_steps_change_no_result(make):
    inputs, value, mask = batch_of()
    decoder = built(make())
    outputs = call(decoder, inputs, value, mask=mask)
    alone = call(decoder, inputs[2:3, :3], value[2:3, :5], mask=mask[2:3, :5])
    close(outputs[2:3, :3], alone)
    # Later inputs and the padding of the memory do not change earlier outputs; the valid part of the memory does.
    inputs = inputs + (np.arange(5) >= 3)[:, None].astype("float32")
    other_padding = value + ~mask[:, :, None]
    close(call(decoder, inputs, other_padding, mask=mask)[:, :3], outputs[:, :3])
    changed = call(decoder, inputs, value + mask[:, :, None], mask=mask)
    assert np.abs(changed - outputs)[:, :3].max() > 1e-2


@some_cells("bahdanau_jordan", "luong_peephole", "luong_local")
@pytest.mark.long
def test_trains_and_is_saved_in_an_encoder_decoder(make, survives_saving):
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    mask = source != 0
    memory = keras.layers.GRU(6, return_sequences=True)(keras.layers.Embedding(9, 4)(source), mask=mask)
    decoder = AttentionDecoder(make(), return_weights=True)
    outputs, weights = decoder(keras.layers.Embedding(9, 3)(target), memory, mask=mask)
    model = keras.Model([source, target], [keras.layers.Dense(9)(outputs), weights])
    assert weights.shape == (None, None, None)
    arrays = [np.array([[3, 4, 5, 0], [6, 0, 0, 0]], "int32"), np.array([[2, 7, 8], [2, 5, 3]], "int32")]
    survives_saving(model, arrays)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trains(keras.Model(model.inputs, model.outputs[0]), arrays, arrays[1], loss, compiled=make is local)


@some_cells("bahdanau_lstm", "bahdanau_jordan", "luong_feeding", "luong_peephole")
def test_dropout_of_the_inner_cell_acts_in_training_only(make):
    inputs, value, mask = batch_of()
    decoder = built(make(inner={"dropout": 0.5, "recurrent_dropout": 0.5, "seed": 1}))
    exact = call(decoder, inputs, value, mask=mask)
    for batch in (4, 3):  # a dropout mask left from the first call would have the wrong batch size in the second
        with_dropout = numpy_of(decoder(inputs[:batch], value[:batch], mask=mask[:batch], training=True))
        assert np.abs(with_dropout - exact[:batch]).max() > 1e-3
    close(call(decoder, inputs, value, mask=mask), exact)


@some_cells("bahdanau_gru", "luong_peephole")
def test_mixed_bfloat16_is_near_float32(make):
    inputs, value, mask = batch_of()
    exact, mixed = built(make()), built(make(dtype="mixed_bfloat16"), dtype="mixed_bfloat16")
    got = call(mixed, inputs, value, mask=mask)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    close(float32_of(got), call(exact, inputs, value, mask=mask), atol=0.1)


@pytest.mark.parametrize(("name", "return_weights"), [("bahdanau_lstm", False), ("luong_feeding", True)])
def test_passes_the_layer_test_of_keras(name, return_weights, keras_layer_test):
    outputs = (2, 3, 5 if name == "bahdanau_lstm" else 4)
    keras_layer_test(
        AttentionDecoder,
        lambda dtype: {"cell": CELLS[name](dtype=dtype), "return_weights": return_weights},
        input_shape={"sequences_shape": (2, 3, 3), "value_shape": (2, 4, 6)},
        expected_output_shape=(outputs, (2, 3, 4)) if return_weights else outputs,
        expected_num_losses=0,
        supports_masking=True,
        run_training_check=False,  # Keras's check supports only layers with one input
    )


def test_the_config_of_the_cell_keeps_all_arguments():
    cell = CELLS["luong_feeding"]()
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(cell))
    assert copy.get_config() == cell.get_config()
    assert (copy.style, copy.input_feeding, copy.output_units, copy.memory_size) == ("luong", True, 4, 6)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        # A GRU on input and context, 2 biases; the attention.
        (
            AttentionDecoderCell(keras.layers.GRUCell(25), BahdanauAttention(7), memory_size=9),
            3 * 25 * (12 + 9 + 25 + 2) + 7 * (25 + 9 + 1),
        ),
        # An LSTM on input and previous output; the attention; the output.
        (
            AttentionDecoderCell(
                keras.layers.LSTMCell(25),
                LuongAttention(),
                memory_size=9,
                style="luong",
                input_feeding=True,
                output_units=8,
            ),
            4 * 25 * (12 + 8 + 25 + 1) + 25 * 9 + 8 * (9 + 25),
        ),
    ],
)
def test_parameter_counts(cell, expected):
    AttentionDecoder(cell).build((None, None, 12), (None, None, 9))
    assert cell.count_params() == expected


@needs_tensorflow
@some_cells("bahdanau_lstm", "luong_feeding", "luong_local")
def test_decoding_loop_in_a_graph_needs_no_xla(make):
    import tensorflow as tf

    inputs, value, mask = batch_of()
    decoder = built(make())
    cell = decoder.cell
    specs = [tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None, 6)), tf.TensorSpec((None, None), tf.bool)]

    @tf.function(input_signature=specs)
    def decode(inputs, value, mask):
        states = cell.start(value, mask)
        outputs = tf.TensorArray(tf.float32, tf.shape(inputs)[1])
        for t in tf.range(tf.shape(inputs)[1]):
            output, states = cell(inputs[:, t], states)
            outputs = outputs.write(t, output)
        return tf.transpose(outputs.stack(), (1, 0, 2))

    close(decode(inputs, value, mask), decoder(inputs, value, mask=mask))
    assert "TensorListStack" in ops_without_xla(decode)


def test_keys_are_projected_once_for_all_steps(monkeypatch):
    inputs, value, mask = batch_of()
    decoder = built(simple())
    additive, calls = SCORES["additive"], []

    def counted_keys(layer, value):
        calls.append(value)
        return additive.keys(layer, value)

    monkeypatch.setitem(SCORES, "additive", additive._replace(keys=counted_keys))
    states = decoder.cell.start(value, mask)
    for t in range(5):
        _, states = decoder.cell(inputs[:, t], states)
    assert len(calls) == 1
    decoder(inputs, value, mask=mask)
    assert len(calls) == 2


@pytest.mark.long
@needs_tensorflow
def test_trains_under_xla_with_dynamic_batch_and_time():
    """XLA cannot differentiate every matrix product in a loop whose sizes are unknown."""
    attention = Attention("additive", window=1)
    cell = AttentionDecoderCell(keras.layers.SimpleRNNCell(4), attention, memory_size=6, style="luong")
    inputs, value = keras.Input((None, 3)), keras.Input((None, 6))
    model = keras.Model([inputs, value], AttentionDecoder(cell)(inputs, value))
    model.compile("sgd", "mse", jit_compile=True)
    loss = model.train_on_batch([normal(2, 3, 3), normal(2, 4, 6)], np.ones((2, 3, 4)))
    assert np.isfinite(loss)


@pytest.mark.parametrize(
    "make",
    [
        lambda: simple(style="additive"),
        lambda: simple(input_feeding=True),
        lambda: simple(output_units=4),
        lambda: luong(output_units=0),
        lambda: AttentionDecoderCell(keras.layers.GRUCell(4), BahdanauAttention(4), memory_size=0),
        lambda: AttentionDecoderCell(keras.layers.StackedRNNCells([PeepholeLSTMCell(4)]), BahdanauAttention(4), 4),
        lambda: simple().start(np.ones((2, 3, 4), "float32")),
        lambda: simple().start(np.ones((2, 3, 6), "float32"), states=[np.ones((2, 5), "float32")] * 2),
        lambda: keras.layers.RNN(simple())(np.ones((2, 3, 4), "float32")),
        lambda: AttentionDecoder(keras.layers.GRUCell(4)),
        lambda: AttentionDecoder(simple(), return_state=True),
        lambda: AttentionDecoder(simple(), go_backwards=True),
        lambda: AttentionDecoder(simple(), return_sequences=True),
    ],
)
def test_invalid_arguments_are_refused(make):
    message = "AttentionDecoder has no|style|at least 1|nested|memory|states were given|must be an AttentionDecoderCell"
    with pytest.raises(ValueError, match=message):
        make()
