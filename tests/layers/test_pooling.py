import keras
import numpy as np
import pytest
from keras import ops

from layers.pooling import AttentionPooling, MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling
from tests.layers.checks import check_gradients, close, in_float64, numpy_of, randomized


def mean_reference(x, mask):
    return np.stack([row[m].mean(axis=0) for row, m in zip(x, mask, strict=True)])


def max_reference(x, mask):
    return np.stack([row[m].max(axis=0) for row, m in zip(x, mask, strict=True)])


def last_reference(x, mask):
    return np.stack([row[m][-1] for row, m in zip(x, mask, strict=True)])


def attention_reference(x, mask, kernel, bias, query):
    pooled, weights = [], np.zeros(mask.shape)
    for i, (row, valid) in enumerate(zip(x, mask, strict=True)):
        scores = np.tanh(row[valid] @ kernel + bias) @ query[:, 0]
        weights[i, valid] = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        pooled.append(weights[i] @ row)
    return np.stack(pooled), weights


POOLINGS = pytest.mark.parametrize(
    ("pooling", "reference"),
    [(MaskedMeanPooling, mean_reference), (MaskedMaxPooling, max_reference), (MaskedLastPooling, last_reference)],
)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 9, 4)).astype("float32")
    lengths = np.array([9, 1, 4, 8, 2])  # one row has a single valid position
    return x, np.arange(9) < lengths[:, None]


@pytest.mark.any_backend
@POOLINGS
def test_equals_numpy(pooling, reference, batch):
    x, mask = batch
    close(pooling()(x, mask=mask), reference(x, mask), atol=1e-6)
    close(pooling()(x), reference(x, np.ones_like(mask)), atol=1e-6)


@pytest.mark.any_backend
@POOLINGS
def test_padding_and_other_rows_change_no_result(pooling, reference, batch):
    x, mask = batch
    alone = numpy_of(pooling()(x[2:3, :4], mask=mask[2:3, :4]))
    close(numpy_of(pooling()(x, mask=mask))[2:3], alone, atol=1e-6)


@POOLINGS
def test_no_valid_position_gives_zeros(pooling, reference):
    x = np.ones((1, 3, 2), "float32")
    np.testing.assert_array_equal(numpy_of(pooling()(x, mask=np.zeros((1, 3), bool))), np.zeros((1, 2)))


@POOLINGS
def test_passes_the_layer_test_of_keras(pooling, reference, keras_layer_test):
    keras_layer_test(
        pooling,
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 3),
        expected_num_trainable_weights=0,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )


@POOLINGS
def test_a_model_with_pooling_survives_saving(pooling, reference, batch, survives_saving):
    x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    survives_saving(keras.Model([x, mask], pooling()(x, mask=mask)), list(batch))


def test_the_mean_of_many_positions_is_precise_in_bfloat16():
    x = np.full((1, 4000, 1), 1.0, "float32")
    pooled = numpy_of(ops.cast(MaskedMeanPooling(dtype="mixed_bfloat16")(x), "float32"))
    assert pooled[0, 0] == 1.0  # a sum in bfloat16 would stop growing at 256


def test_last_pooling_works_with_gaps_and_left_padding():
    x = np.arange(8, dtype="float32").reshape(2, 4, 1)
    mask = np.array([[False, True, True, False], [True, False, True, False]])
    np.testing.assert_array_equal(numpy_of(MaskedLastPooling()(x, mask=mask)), [[2.0], [6.0]])


@pytest.fixture
def attention():
    return randomized(AttentionPooling(units=3), (None, None, 4), scale=1.0)


@pytest.mark.any_backend
def test_attention_equals_numpy(attention, batch):
    x, mask = batch
    for argument, valid in ((mask, mask), (None, np.ones_like(mask))):
        pooled, weights = attention(x, mask=argument, return_weights=True)
        expected, expected_weights = attention_reference(x, valid, *attention.get_weights())
        close(numpy_of(weights), expected_weights, atol=1e-6)
        close(numpy_of(pooled), expected, atol=1e-5)


@pytest.mark.any_backend
def test_attention_padding_and_other_rows_change_no_result(attention, batch):
    x, mask = batch
    alone = numpy_of(attention(x[2:3, :4], mask=mask[2:3, :4]))
    x[2, 4:] = 1e4
    close(numpy_of(attention(x, mask=mask))[2:3], alone, atol=1e-6)


def test_attention_of_no_valid_position_gives_zeros(attention):
    pooled, weights = attention(np.ones((1, 3, 4), "float32"), mask=np.zeros((1, 3), bool), return_weights=True)
    assert not np.any(numpy_of(pooled)) and not np.any(numpy_of(weights))


@pytest.mark.any_backend
@in_float64
@pytest.mark.parametrize("pooling", [MaskedMeanPooling, MaskedMaxPooling, MaskedLastPooling, AttentionPooling])
def test_gradient_equals_finite_differences(pooling, batch):
    x, mask = batch[0].astype("float64"), batch[1]
    layer = randomized(pooling(dtype="float64"), x.shape)
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, mask=mask))), layer.trainable_variables, [x])


def test_attention_pooling_passes_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        AttentionPooling,
        init_kwargs={"units": 4, "kernel_initializer": "he_normal"},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 3),
        expected_num_trainable_weights=3,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )


def test_a_model_with_attention_pooling_survives_saving(batch, survives_saving):
    x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    layer = AttentionPooling()
    model = keras.Model([x, mask], layer(x, mask=mask, return_weights=True))
    assert [tuple(y.shape) for y in model.outputs] == [(None, 4), (None, None)]
    assert layer.count_params() == 4 * 4 + 2 * 4
    survives_saving(model, list(batch))


def test_attention_of_one_position_is_that_position(attention):
    x = np.ones((2, 1, 4), "float32")
    close(numpy_of(attention(x)), x[:, 0], atol=1e-6)


def test_attention_refuses_units_below_one():
    with pytest.raises(ValueError, match="units is 0"):
        AttentionPooling(units=0)
