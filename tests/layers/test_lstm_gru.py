import keras
import numpy as np
import pytest
from keras import ops

from layers.lstm_gru import HoistedGRU, HoistedLSTM
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
    value_and_gradients,
)

SHAPE = (4, 7, 3)
MASK = np.arange(7) < np.array([7, 1, 4, 6])[:, None]  # one row has a single valid step

hoisted = pytest.mark.parametrize(
    ("ours", "keras_own"), [(HoistedLSTM, keras.layers.LSTM), (HoistedGRU, keras.layers.GRU)], ids=["lstm", "gru"]
)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def lstm_reference(layer, x, mask, activation=np.tanh, recurrent_activation=sigmoid):
    """The equations in NumPy, for one row and one step at a time: the output of every step."""
    w, u, b = layer.get_weights()
    outputs = np.zeros((*x.shape[:2], layer.units))
    for row in range(len(x)):
        h = c = np.zeros(layer.units)
        for t in range(x.shape[1]):
            if mask[row, t]:
                z_i, z_f, z_c, z_o = np.split(x[row, t] @ w + h @ u + b, 4)
                c = recurrent_activation(z_f) * c + recurrent_activation(z_i) * activation(z_c)
                h = recurrent_activation(z_o) * activation(c)
            outputs[row, t] = h
    return outputs


def gru_reference(layer, x, mask, activation=np.tanh, recurrent_activation=sigmoid):
    """The equations in NumPy, for one row and one step at a time: the output of every step."""
    w, u, (b, recurrent_b) = layer.get_weights()
    outputs = np.zeros((*x.shape[:2], layer.units))
    for row in range(len(x)):
        h = np.zeros(layer.units)
        for t in range(x.shape[1]):
            if mask[row, t]:
                x_z, x_r, x_g = np.split(x[row, t] @ w + b, 3)
                h_z, h_r, h_g = np.split(h @ u + recurrent_b, 3)
                z, r = recurrent_activation(x_z + h_z), recurrent_activation(x_r + h_r)
                h = z * h + (1 - z) * activation(x_g + r * h_g)
            outputs[row, t] = h
    return outputs


REFERENCES = {HoistedLSTM: lstm_reference, HoistedGRU: gru_reference}


@pytest.mark.any_backend
@hoisted
@pytest.mark.parametrize(
    ("masked", "go_backwards", "use_bias", "unroll"),  # pairs of options in all combinations
    [
        (False, False, True, False),
        (True, False, False, False),
        (False, True, False, False),
        (True, True, True, False),
        (False, False, False, True),
        (True, True, True, True),
    ],
    ids=["plain", "masked-no_bias", "backwards-no_bias", "masked-backwards", "unroll", "unroll-masked-backwards"],
)
def test_equals_keras_forward_and_gradient(ours, keras_own, masked, go_backwards, use_bias, unroll):
    mask = MASK if masked else None
    arrays = [normal(*SHAPE), *(normal(4, 5, seed=k) for k in range(2 if ours is HoistedLSTM else 1))]
    # Before the first valid step, Keras outputs zeros on TensorFlow and the initial state on JAX. Ignore these steps.
    counts = MASK[:, ::-1, None] if masked and go_backwards else 1.0
    weights = [normal(4, 7, 5, seed=3) * counts, *(normal(4, 5, seed=4 + k) for k in range(len(arrays) - 1))]
    weights = [ops.convert_to_tensor(w, "float32") for w in weights]  # Torch multiplies no tensor by a NumPy array
    options = {"go_backwards": go_backwards, "use_bias": use_bias}
    results = []
    for layer_class in (ours, keras_own):
        # Keras without unroll is the reference: its unrolled loop on Torch fails with a mask and go_backwards.
        layer = layer_class(
            5, return_sequences=True, return_state=True, unroll=unroll and layer_class is ours, **options
        )
        randomized(layer, SHAPE)

        def loss(x, *initial, layer=layer):
            outputs = layer(x, initial_state=list(initial), mask=mask)
            return sum(ops.sum(o * w) for o, w in zip(outputs, weights, strict=True))

        sequence, *states = call(layer, arrays[0], initial_state=arrays[1:], mask=mask)
        gradients = value_and_gradients(loss, layer.trainable_variables)([*arrays, *layer.get_weights()])
        results.append([sequence * counts, states, gradients])
    close(*results, rtol=1e-4, atol=2e-5)


@pytest.mark.any_backend
@in_float64
@hoisted
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forwards", "backwards"])
def test_gradient_equals_finite_differences(ours, keras_own, go_backwards):
    layer = randomized(ours(4, go_backwards=go_backwards, dtype="float64"), SHAPE)
    x = normal(*SHAPE, dtype="float64")
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, mask=MASK))), layer.trainable_variables, [x])


@pytest.mark.any_backend
@hoisted
def test_padding_and_other_rows_and_later_steps_change_no_result(ours, keras_own):
    x, layer = normal(*SHAPE), randomized(ours(4, return_sequences=True), SHAPE)
    outputs = call(layer, x, mask=MASK)
    close(outputs[2:3, :4], call(layer, x[2:3, :4]))
    close(call(layer, x + ~MASK[:, :, None], mask=MASK), outputs)


@pytest.mark.any_backend
@hoisted
@pytest.mark.parametrize("unroll", [False, True], ids=["loop", "unroll"])
def test_equals_the_equation(ours, keras_own, unroll):
    x, layer = normal(*SHAPE), randomized(ours(4, return_sequences=True, unroll=unroll), SHAPE)
    close(call(layer, x, mask=MASK), REFERENCES[ours](layer, x, MASK))


@pytest.mark.any_backend
@hoisted
def test_other_activations_equal_the_equation(ours, keras_own):
    options = {"activation": "relu", "recurrent_activation": "hard_sigmoid"}
    x, layer = normal(*SHAPE), randomized(ours(4, return_sequences=True, **options), SHAPE, scale=0.3)

    def hard_sigmoid(x):
        return np.clip(x / 6 + 0.5, 0, 1)

    close(call(layer, x, mask=MASK), REFERENCES[ours](layer, x, MASK, relu, hard_sigmoid))


@hoisted
def test_dropout_drops_the_same_inputs_at_every_step(ours, keras_own):
    """Without recurrence (zero recurrent kernel, a GRU's update gate closed) equal inputs give equal outputs."""
    layer = randomized(ours(4, dropout=0.5, return_sequences=True, seed=1), SHAPE)
    kernel, recurrent_kernel, bias = layer.get_weights()
    if ours is HoistedGRU:
        bias[0, :4] = -100.0  # z = 0: the new state does not depend on the old one
    else:
        bias[4:8] = -100.0  # f = 0: the new cell state does not depend on the old one
    layer.set_weights([kernel, 0 * recurrent_kernel, bias])
    x = np.repeat(normal(40, 1, 3), 7, axis=1)
    outputs = numpy_of(layer(x, training=True))
    close(outputs, np.repeat(outputs[:, :1], 7, axis=1))
    # Each output is that of some subset of the inputs, scaled by 1 / (1 - 0.5); all eight subsets occur.
    subsets = np.array([[i >> k & 1 for k in range(3)] for i in range(8)])
    candidates = np.stack([numpy_of(layer(2.0 * x[:, :1] * subset.astype("float32")))[:, 0] for subset in subsets])
    distances = np.abs(candidates - outputs[:, 0]).max(axis=-1)  # [subset, row]
    assert (distances.min(axis=0) < 1e-5).all()
    assert set(distances.argmin(axis=0)) == set(range(8))


@hoisted
@pytest.mark.parametrize("option", ["dropout", "recurrent_dropout"])
def test_dropout_acts_in_training_only_and_follows_the_seed(ours, keras_own, option):
    x = normal(*SHAPE)
    plain, layer, same_seed, other_seed = (
        randomized(ours(4, **options), SHAPE)
        for options in ({}, {option: 0.5, "seed": 5}, {option: 0.5, "seed": 5}, {option: 0.5, "seed": 6})
    )
    # Keras samples the dropout masks of every call, also outside of training: the compared calls must have one history.
    in_training = call(layer, x, mask=MASK, training=True)
    close(call(same_seed, x, mask=MASK, training=True), in_training)
    assert np.abs(call(other_seed, x, mask=MASK, training=True) - in_training).max() > 1e-3
    expected = call(plain, x, mask=MASK)
    close(call(layer, x, mask=MASK), expected)
    assert np.abs(in_training - expected).max() > 1e-3


@hoisted
def test_recurrent_dropout_does_not_change_the_first_step(ours, keras_own):
    """At the first step the state is zero, so there is no state to drop."""
    x, options = normal(*SHAPE), {"return_sequences": True, "seed": 5}
    plain = call(randomized(ours(4, **options), SHAPE), x)
    dropped = call(randomized(ours(4, recurrent_dropout=0.5, **options), SHAPE), x, training=True)
    close(dropped[:, 0], plain[:, 0])
    assert np.abs(dropped[:, 1:] - plain[:, 1:]).max() > 1e-3


@hoisted
def test_a_stateful_layer_continues_at_its_last_state(ours, keras_own):
    x = normal(*SHAPE)
    expected = call(randomized(ours(4), SHAPE), x)
    layer = randomized(ours(4, stateful=True), SHAPE)
    layer(x[:, :3])
    close(layer(x[:, 3:]), expected)
    layer.reset_state()
    close(layer(x), expected)


@pytest.mark.long
@needs_tensorflow
@hoisted
def test_an_unrolled_layer_trains_in_a_compiled_model(ours, keras_own):
    inputs, mask = keras.Input((7, 3)), keras.Input((7,), dtype="bool")
    layer = ours(4, unroll=True)
    model = keras.Model([inputs, mask], layer(inputs, mask=mask))
    trains(model, [normal(*SHAPE), MASK], np.ones((4, 4)))


@hoisted
def test_passes_the_layer_test_of_keras(ours, keras_own, keras_layer_test):
    keras_layer_test(
        ours,
        {"units": 4, "dropout": 0.2, "return_sequences": True},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=3,
        expected_num_losses=0,
        supports_masking=True,
    )


@pytest.mark.long
@hoisted
def test_bidirectional_is_saved_with_dynamic_batch_and_time(ours, keras_own, survives_saving):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    outputs = keras.layers.Bidirectional(ours(4, return_sequences=True))(inputs, mask=mask)
    model = keras.Model([inputs, mask], ours(4)(outputs, mask=mask))
    x = normal(*SHAPE)
    expected = survives_saving(model, [x, MASK])
    close(call(model, [x[2:3, :4], MASK[2:3, :4]]), expected[2:3])


@pytest.mark.any_backend
@hoisted
def test_bidirectional_equals_keras_with_padding(ours, keras_own):
    x, results = normal(*SHAPE), []
    for layer_class in (ours, keras_own):
        layer = keras.layers.Bidirectional(layer_class(4, return_sequences=True))  # sets zero_output_for_mask
        results.append(call(randomized(layer, SHAPE), x, mask=MASK))
    close(*results)
    assert not numpy_of(results[0])[~MASK].any()


@hoisted
def test_mixed_bfloat16_is_near_float32(ours, keras_own):
    x = normal(*SHAPE)
    exact, mixed = randomized(ours(4), SHAPE), randomized(ours(4, dtype="mixed_bfloat16"), SHAPE)
    got = call(mixed, x, mask=MASK)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    close(float32_of(got), call(exact, x, mask=MASK), atol=3e-2)


@pytest.mark.parametrize(("layer", "expected"), [(HoistedGRU(256), 295_680 + 3 * 256), (HoistedLSTM(256), 394_240)])
def test_parameter_counts(layer, expected):
    layer.build((None, None, 128))
    assert layer.count_params() == expected


@needs_tensorflow
@hoisted
def test_graph_needs_no_xla(ours, keras_own):
    import tensorflow as tf

    layer = randomized(ours(4), SHAPE)
    specs = [tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None), tf.bool)]
    assert "MatMul" in ops_without_xla(tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs))


@pytest.mark.parametrize("make", [lambda: HoistedLSTM(0), lambda: HoistedGRU(3, reset_after=False)])
def test_invalid_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units|reset_after is False"):
        make()
