import keras
import numpy as np
import pytest

from layers.averaging import MeanAfterTraining
from tests.layers.checks import close, normal, numpy_of

A, B = normal(3, 2), normal(3, 2, seed=1)


@pytest.mark.any_backend
def test_equals_the_mean_at_inference_and_the_first_input_in_training():
    layer = MeanAfterTraining()
    close(layer(A, B), (A + B) / 2)
    np.testing.assert_array_equal(numpy_of(layer(A, B, training=True)), A)


@pytest.mark.any_backend
def test_the_second_input_has_no_influence_in_training_and_equal_influence_at_inference():
    layer = MeanAfterTraining()
    np.testing.assert_array_equal(numpy_of(layer(A, B + 5, training=True)), numpy_of(layer(A, B, training=True)))
    close(layer(A, B + 5), numpy_of(layer(A + 5, B)))


@pytest.mark.any_backend
def test_the_weight_is_that_of_the_second_input():
    close(MeanAfterTraining(0.75)(A, B), A / 4 + 3 * B / 4)
    with pytest.raises(ValueError, match="weight is 1.5: it must be from 0 to 1"):
        MeanAfterTraining(1.5)


def test_computes_in_float32_under_a_mixed_policy():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        assert keras.backend.standardize_dtype(MeanAfterTraining()(A, B).dtype) == "float32"
    finally:
        keras.config.set_dtype_policy("float32")


def test_a_model_with_the_layer_survives_saving(survives_saving):
    a, b = keras.Input((2,)), keras.Input((2,))
    survives_saving(keras.Model([a, b], MeanAfterTraining(0.25)(a, b)), [A, B])
