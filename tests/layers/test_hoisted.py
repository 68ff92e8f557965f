import keras
import numpy as np
import pytest
from keras import ops

from layers.hoisted import HoistedGRU, HoistedLSTM
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
    value_and_gradients,
)

SHAPE = (4, 7, 3)
MASK = np.arange(7) < np.array([7, 1, 4, 6])[:, None]  # a row with a single valid step among them

hoisted = pytest.mark.parametrize(
    ("ours", "keras_own"), [(HoistedLSTM, keras.layers.LSTM), (HoistedGRU, keras.layers.GRU)], ids=["lstm", "gru"]
)


@hoisted
@pytest.mark.parametrize(
    ("masked", "go_backwards", "use_bias"),  # of any two, each combination
    [(False, False, True), (True, False, False), (False, True, False), (True, True, True)],
    ids=["plain", "masked-no_bias", "backwards-no_bias", "masked-backwards"],
)
def test_equals_keras_forward_and_gradient(ours, keras_own, masked, go_backwards, use_bias):
    mask = MASK if masked else None
    arrays = [normal(*SHAPE), *(normal(4, 5, seed=k) for k in range(2 if ours is HoistedLSTM else 1))]
    # Before the first valid step Keras outputs zeros on TensorFlow and the initial state on JAX: it does not count.
    counts = MASK[:, ::-1, None] if masked and go_backwards else 1.0
    weights = [normal(4, 7, 5, seed=3) * counts, *(normal(4, 5, seed=4 + k) for k in range(len(arrays) - 1))]
    results = []
    for layer_class in (ours, keras_own):
        layer = layer_class(5, return_sequences=True, return_state=True, go_backwards=go_backwards, use_bias=use_bias)
        randomized(layer, SHAPE)

        def loss(x, *initial, layer=layer):
            outputs = layer(x, initial_state=list(initial), mask=mask)
            return sum(ops.sum(o * w) for o, w in zip(outputs, weights, strict=True))

        sequence, *states = call(layer, arrays[0], initial_state=arrays[1:], mask=mask)
        gradients = value_and_gradients(loss, layer.trainable_variables)([*arrays, *layer.get_weights()])
        results.append([sequence * counts, states, gradients])
    close(*results, rtol=1e-4, atol=2e-5)


@in_float64
@hoisted
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forwards", "backwards"])
def test_gradient_equals_finite_differences(ours, keras_own, go_backwards):
    layer = randomized(ours(4, go_backwards=go_backwards, dtype="float64"), SHAPE)
    x = normal(*SHAPE, dtype="float64")
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, mask=MASK))), layer.trainable_variables, [x])


@hoisted
def test_padding_and_neighbours_change_nothing_and_nothing_looks_ahead(ours, keras_own):
    x, layer = normal(*SHAPE), randomized(ours(4, return_sequences=True), SHAPE)
    whole = call(layer, x, mask=MASK)
    close(whole[2:3, :4], call(layer, x[2:3, :4]))
    close(call(layer, x + ~MASK[:, :, None], mask=MASK), whole)


@hoisted
@pytest.mark.parametrize("options", [{"recurrent_dropout": 0.5}, {"activation": "relu"}, {"dropout": 0.5}], ids=str)
def test_takes_the_options_of_keras(ours, keras_own, options):
    x, layers = normal(*SHAPE), [randomized(kind(4, seed=5, **options), SHAPE) for kind in (ours, keras_own)]
    for training in (False, True):
        close(*(call(layer, x, mask=MASK, training=training) for layer in layers))


@hoisted
def test_passes_keras_own_layer_test(ours, keras_own, keras_layer_test):
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
def test_bidirectional_is_saved_with_dynamic_batch_and_time(ours, keras_own, survives_saving):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    outputs = keras.layers.Bidirectional(ours(4, return_sequences=True))(inputs, mask=mask)
    model = keras.Model([inputs, mask], ours(4)(outputs, mask=mask))
    x = normal(*SHAPE)
    expected = survives_saving(model, [x, MASK])
    close(call(model, [x[2:3, :4], MASK[2:3, :4]]), expected[2:3])


@hoisted
def test_bidirectional_equals_keras_with_padding(ours, keras_own):
    x, results = normal(*SHAPE), []
    for layer_class in (ours, keras_own):
        layer = keras.layers.Bidirectional(layer_class(4, return_sequences=True))  # asks for zeros where masked
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
def test_impossible_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units|reset_after"):
        make()
