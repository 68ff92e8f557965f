"""Comparison with the corresponding layers of keras-hub (in requirements-dev.txt; only these tests need it)."""

import warnings

import numpy as np
import pytest

from layers.positional import SinusoidalPositionalEncoding
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock
from tests.layers.checks import call, close, normal, randomized

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # keras-hub's imports raise warnings
    import keras_hub

MASK = np.arange(7) < np.array([7, 1, 4])[:, None]
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


def sublayers(theirs):
    """The sublayers of a block of keras-hub, in the order of our weights."""
    cross = getattr(theirs, "_cross_attention_layer", None)
    return [
        theirs._self_attention_layer,
        theirs._self_attention_layer_norm,
        *([cross, theirs._cross_attention_layer_norm] if cross else []),
        theirs._feedforward_intermediate_dense,
        theirs._feedforward_output_dense,
        theirs._feedforward_layer_norm,
    ]


def copy_weights(ours, theirs):
    weights = ours.get_weights()
    for layer in sublayers(theirs):
        layer.set_weights([weights.pop(0).reshape(w.shape) for w in layer.weights])
    assert not weights


@pytest.mark.parametrize("depth", [6, 7])
def test_sinusoidal_positions_are_those_of_keras_hub(depth):
    x = normal(2, 50, depth)
    theirs = keras_hub.layers.SinePositionEncoding()
    close(SinusoidalPositionalEncoding()(x), x + np.array(theirs(x)), atol=2e-5)
    close(SinusoidalPositionalEncoding()(x, start=9), x + np.array(theirs(x, start_index=9)), atol=2e-5)


@NORMS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_block_is_that_of_keras_hub(norm, activation):
    ours = randomized(TransformerEncoderBlock(2, 16, norm=norm, activation=activation), (None, None, 8))
    theirs = keras_hub.layers.TransformerEncoder(16, 2, activation=activation, normalize_first=norm == "pre")
    theirs.build((None, None, 8))
    copy_weights(ours, theirs)
    x = normal(3, 7, 8)
    close(call(ours, x, mask=MASK), call(theirs, x, padding_mask=MASK), atol=2e-5)


@NORMS
@pytest.mark.parametrize("cross", [False, True])
def test_decoder_block_is_that_of_keras_hub(norm, cross):
    shapes = [(None, None, 8), (None, None, 6)] if cross else [(None, None, 8)]
    ours = randomized(TransformerDecoderBlock(2, 16, norm=norm), *shapes)
    theirs = keras_hub.layers.TransformerDecoder(16, 2, normalize_first=norm == "pre")
    theirs.build(*shapes)
    copy_weights(ours, theirs)
    x, z = normal(3, 5, 8), normal(3, 7, 6, seed=1)
    mask = np.arange(5) < np.array([5, 1, 3])[:, None]
    if cross:
        expected = call(theirs, x, z, decoder_padding_mask=mask, encoder_padding_mask=MASK)
        close(call(ours, x, z, mask=mask, encoder_mask=MASK), expected, atol=2e-5)
    else:
        close(call(ours, x, mask=mask), call(theirs, x, decoder_padding_mask=mask), atol=2e-5)


@NORMS
def test_decoder_block_with_a_cache_is_that_of_keras_hub(norm):
    ours = randomized(TransformerDecoderBlock(2, 16, norm=norm), (None, None, 8))
    theirs = keras_hub.layers.TransformerDecoder(16, 2, normalize_first=norm == "pre")
    theirs.build((None, None, 8))
    copy_weights(ours, theirs)
    x, cache, their_cache = normal(3, 4, 8), ours.initial_cache(3, 4), np.zeros((3, 2, 4, 2, 4), "float32")
    for t in range(4):
        got, cache = ours(x[:, t : t + 1], cache=cache, position=np.full(3, t, "int32"))
        expected, their_cache = theirs(
            x[:, t : t + 1], self_attention_cache=their_cache, self_attention_cache_update_index=t
        )
        close(got, expected, atol=2e-5)
