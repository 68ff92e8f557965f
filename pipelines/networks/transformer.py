"""Stacked Transformer blocks."""

from typing import Any

from keras import layers

from layers import TransformerDecoderBlock, TransformerEncoderBlock


def stacked_transformer(
    x,
    num_layers: int,
    num_heads: int,
    feedforward_size: int,
    *,
    mask=None,
    causal: bool = False,
    rotary: bool = False,
    dropout: float = 0.0,
):
    """Returns the outputs of stacked Transformer blocks with normalization before each sublayer, and after the last.

    Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", with GELU.

    Args:
        x: float [batch, time, size].
        feedforward_size: of the hidden layer of each block.
        mask: bool [batch, time]; all positions are valid if not given. Causal blocks need none.
        causal: whether a position attends only to itself and those before it.
        rotary: whether queries and keys are rotated by their positions.

    Returns:
        float [batch, time, size].
    """
    options: dict[str, Any] = {"norm": "pre", "activation": "gelu", "dropout": dropout, "rotary": rotary}
    for i in range(num_layers):
        block = (TransformerDecoderBlock if causal else TransformerEncoderBlock)(
            num_heads, feedforward_size, **options, name=f"block_{i + 1}"
        )
        x = block(x) if causal else block(x, mask=mask)
    return layers.LayerNormalization(name="last_norm")(x)
