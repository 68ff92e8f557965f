import keras
import numpy as np
import pytest

from layers import MaxOfConvolutions, OverTokens
from tests.layers.checks import call, close, normal, numpy_of, randomized

SHAPE = (3, 4, 6, 5)  # [batch, time, characters, features]


def mask_of_lengths(lengths, size):
    return np.arange(size) < np.asarray(lengths)[..., None]


def convolution_reference(x, mask, weights):
    """x [time, features]; the maximum over the valid positions of each convolution, with padding "same"."""
    x = np.where(mask[:, None], x, 0)
    maxima = []
    for kernel, bias in weights:  # kernel [length, features, filters]
        length = len(kernel)
        before = (length - 1) // 2
        padded = np.pad(x, ((before, length - 1 - before), (0, 0)))
        values = [np.einsum("ld,ldf->f", padded[t : t + length], kernel) + bias for t in range(len(x))]
        values = np.maximum(np.array(values), 0)
        maxima.append(values[mask].max(axis=0) if mask.any() else np.zeros(len(bias)))
    return np.concatenate(maxima)


def convolutions(filters=7, lengths=(2, 3)):
    return randomized(MaxOfConvolutions(filters, lengths), (None, None, 5))


def weights_of(layer):
    arrays = [numpy_of(weight.value) for weight in layer.weights]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


@pytest.mark.any_backend
def test_convolutions_equal_numpy():
    layer, x, mask = convolutions(), normal(4, 6, 5), mask_of_lengths([6, 1, 3, 0], 6)
    expected = [convolution_reference(row, valid, weights_of(layer)) for row, valid in zip(x, mask, strict=True)]
    close(call(layer, x, mask=mask), np.stack(expected))
    unmasked = [convolution_reference(row, np.ones(6, bool), weights_of(layer)) for row in x]
    close(call(layer, x), np.stack(unmasked))


@pytest.mark.any_backend
def test_padding_and_other_tokens_change_no_result():
    layer, x = OverTokens(convolutions()), normal(*SHAPE)
    layer.build(SHAPE)
    mask = mask_of_lengths([[6, 2, 3, 1], [1, 1, 0, 0], [4, 5, 6, 2]], 6)
    together = call(layer, x, mask=mask)
    x[~mask] = np.nan
    close(call(layer, x, mask=mask), together)
    close(call(layer, x[1:2, :1, :1], mask=mask[1:2, :1, :1]), together[1:2, :1])


@pytest.mark.any_backend
@pytest.mark.parametrize("inner", [convolutions, lambda: keras.layers.GRU(7)])
def test_is_the_inner_layer_of_each_token(inner):
    layer, x = OverTokens(inner()), normal(*SHAPE)
    layer.build(SHAPE)
    mask = mask_of_lengths([[6, 2, 3, 1], [1, 6, 5, 4], [4, 5, 6, 2]], 6)
    outputs = call(layer, x, mask=mask)
    assert outputs.shape[:2] == SHAPE[:2]
    for i in range(SHAPE[0]):
        close(outputs[i], numpy_of(layer.layer(x[i], mask=mask[i])))


def test_shape_of_a_functional_model_with_unknown_axes():
    x = keras.Input((None, None, 5))
    model = keras.Model(x, OverTokens(MaxOfConvolutions(7, (2, 3)))(x))
    assert model.output_shape == (None, None, 14)
    assert model(normal(*SHAPE)).shape == (3, 4, 14)
    assert model(normal(1, 1, 1, 5)).shape == (1, 1, 14)


def test_is_the_same_after_saving(tmp_path):
    x = keras.Input((None, None, 5))
    bidirectional = keras.layers.Bidirectional(keras.layers.LSTM(3))
    outputs = [OverTokens(MaxOfConvolutions(7, (2, 3)))(x), OverTokens(bidirectional)(x)]
    model = keras.Model(x, outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    close(loaded(normal(*SHAPE)), model(normal(*SHAPE)))


def test_convolutions_pass_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        MaxOfConvolutions,
        init_kwargs={"filters": 4, "lengths": (2, 3)},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 8),
        expected_num_trainable_weights=4,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )


def test_number_of_parameters():
    assert convolutions(7, (2, 3)).count_params() == (2 * 5 * 7 + 7) + (3 * 5 * 7 + 7)


@pytest.mark.parametrize(("filters", "lengths"), [(0, (2,)), (3, ()), (3, (0, 2))])
def test_impossible_sizes_are_refused(filters, lengths):
    with pytest.raises(ValueError, match="at least 1"):
        MaxOfConvolutions(filters, lengths)
