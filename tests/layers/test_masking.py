import keras
import numpy as np
import pytest
from keras import ops

from layers.masking import masked_softmax
from tests.layers.checks import check_gradients, close, in_float64, normal, numpy_of

SCORES = normal(4, 6) * 3
MASK = np.arange(6) < np.array([6, 1, 4, 0])[:, None]  # one row has a single valid position and one row has none


def reference(scores, mask):
    """The softmax in NumPy, for one row at a time, over its valid positions only."""
    weights = np.zeros(scores.shape)
    for row, valid in enumerate(mask):
        if valid.any():
            exps = np.exp(scores[row, valid])
            weights[row, valid] = exps / exps.sum()
    return weights


@pytest.mark.any_backend
def test_equals_numpy():
    close(masked_softmax(ops.convert_to_tensor(SCORES), ops.convert_to_tensor(MASK)), reference(SCORES, MASK))
    close(masked_softmax(ops.convert_to_tensor(SCORES)), reference(SCORES, np.ones_like(MASK)))


@pytest.mark.any_backend
def test_masked_positions_are_exactly_zero_and_padding_has_no_influence():
    weights = numpy_of(masked_softmax(ops.convert_to_tensor(SCORES), ops.convert_to_tensor(MASK)))
    assert (weights[~MASK] == 0).all() and (weights[MASK] > 0).all()
    other_padding = np.where(MASK, SCORES, 1e6).astype("float32")
    again = numpy_of(masked_softmax(ops.convert_to_tensor(other_padding), ops.convert_to_tensor(MASK)))
    np.testing.assert_array_equal(again, weights)


@pytest.mark.any_backend
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_of_numbers_equals_the_bool_mask(dtype):
    scores = ops.convert_to_tensor(SCORES)
    expected = masked_softmax(scores, ops.convert_to_tensor(MASK))
    close(masked_softmax(scores, ops.convert_to_tensor(MASK.astype(dtype))), expected)


def test_low_precision_scores_give_float32_weights():
    scores = ops.cast(ops.convert_to_tensor(SCORES), "bfloat16")
    weights = masked_softmax(scores, ops.convert_to_tensor(MASK))
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    close(weights, reference(numpy_of(ops.cast(scores, "float32")), MASK))


def test_a_single_position_has_weight_one_without_a_warning():
    # pytest.ini turns the warning of Keras about a softmax over one position into an error.
    scores, mask = ops.convert_to_tensor(SCORES[:2, :1]), ops.convert_to_tensor(np.array([[True], [False]]))
    close(masked_softmax(scores, mask), np.array([[1.0], [0.0]]))
    close(masked_softmax(scores), np.ones((2, 1)))


@pytest.mark.any_backend
@in_float64
def test_gradient_equals_finite_differences():
    weights = ops.convert_to_tensor(normal(4, 6, seed=1, dtype="float64"))
    check_gradients(
        lambda scores: ops.sum(masked_softmax(scores, ops.convert_to_tensor(MASK)) * weights),
        [],
        [normal(4, 6, dtype="float64")],
    )
