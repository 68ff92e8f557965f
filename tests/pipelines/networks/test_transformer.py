import keras
import numpy as np
import pytest

from layers import TransformerDecoderBlock, TransformerEncoderBlock
from pipelines.networks.transformer import stacked_transformer

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rotary", [False, True])
def test_the_blocks_follow_each_other_and_a_normalization_comes_last(causal, rotary):
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, stacked_transformer(inputs, 2, 2, 16, causal=causal, rotary=rotary, dropout=0.5))
    assert [layer.name for layer in model.layers[1:]] == ["block_1", "block_2", "last_norm"]
    blocks = [layer for layer in model.layers if "block" in layer.name]
    assert {type(block) for block in blocks} == {TransformerDecoderBlock if causal else TransformerEncoderBlock}
    expected = X
    for block in blocks:
        assert block.get_config()["norm"] == "pre" and block.get_config()["rotary"] == rotary
        expected = block(expected)
    expected = model.get_layer("last_norm")(expected)
    np.testing.assert_allclose(model(X), expected, atol=1e-6)
    changed = X.copy()
    changed[:, 3:] *= -1
    difference = np.abs(np.asarray(model(changed)) - np.asarray(model(X)))[:, :3].max()
    assert (difference < 1e-5) == causal


def test_padding_changes_nothing():
    inputs, mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, mask], stacked_transformer(inputs, 2, 2, 16, mask=mask))
    padded = np.pad(X, [(0, 0), (0, 2), (0, 0)], constant_values=9)
    of_padded = model([padded, np.arange(7)[None] < np.full((2, 1), 5)])
    np.testing.assert_allclose(of_padded[:, :5], model([X, np.ones((2, 5), bool)]), atol=1e-5)
