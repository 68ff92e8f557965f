import keras
import numpy as np
import pytest
from keras import ops

from layers import MaskedMaxPooling, MaskedMeanPooling


def mean_reference(x, mask):
    return np.stack([row[m].mean(axis=0) for row, m in zip(x, mask, strict=True)])


def max_reference(x, mask):
    return np.stack([row[m].max(axis=0) for row, m in zip(x, mask, strict=True)])


POOLINGS = pytest.mark.parametrize(
    ("pooling", "reference"), [(MaskedMeanPooling, mean_reference), (MaskedMaxPooling, max_reference)]
)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 9, 4)).astype("float32")
    lengths = np.array([9, 1, 4, 8, 2])  # a row with a single valid position among them
    return x, np.arange(9) < lengths[:, None]


@POOLINGS
def test_equals_numpy(pooling, reference, batch):
    x, mask = batch
    np.testing.assert_allclose(ops.convert_to_numpy(pooling()(x, mask=mask)), reference(x, mask), atol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(pooling()(x)), reference(x, np.ones_like(mask)), atol=1e-6)


@POOLINGS
def test_padding_and_neighbours_change_nothing(pooling, reference, batch):
    x, mask = batch
    alone = ops.convert_to_numpy(pooling()(x[2:3, :4], mask=mask[2:3, :4]))
    np.testing.assert_allclose(ops.convert_to_numpy(pooling()(x, mask=mask))[2:3], alone, atol=1e-6)


@POOLINGS
def test_no_valid_position_gives_zeros(pooling, reference):
    x = np.ones((1, 3, 2), "float32")
    np.testing.assert_array_equal(ops.convert_to_numpy(pooling()(x, mask=np.zeros((1, 3), bool))), np.zeros((1, 2)))


@POOLINGS
def test_keras_own_layer_test(pooling, reference, keras_layer_test):
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
def test_saved_in_a_model(pooling, reference, batch, survives_saving):
    x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    survives_saving(keras.Model([x, mask], pooling()(x, mask=mask)), list(batch))


def test_mean_of_many_positions_survives_bfloat16():
    x = np.full((1, 4000, 1), 1.0, "float32")
    pooled = ops.convert_to_numpy(ops.cast(MaskedMeanPooling(dtype="mixed_bfloat16")(x), "float32"))
    assert pooled[0, 0] == 1.0  # summed in bfloat16 it would stop at 256
