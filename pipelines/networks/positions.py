"""The positional encodings by their name on the command line (`--positions`)."""

import keras

from layers import LearnedPositionalEmbedding, SinusoidalPositionalEncoding
from pipelines.settings import Positions


def position_layer(
    positions: Positions, max_length: int, scale_embeddings: bool = True, name: str = "positions"
) -> keras.layers.Layer | None:
    """Returns the layer that adds them to the token vectors.

    Args:
        max_length: number of positions that "learned" has.
        scale_embeddings: multiply token vectors of size d by sqrt(d) before sines are added.

    Returns:
        None for "none", and for "rotary", which is a part of the self-attention of each block.
    """
    if positions == "sinusoidal":
        return SinusoidalPositionalEncoding(scale_inputs=scale_embeddings, name=name)
    if positions == "learned":
        return LearnedPositionalEmbedding(max_length, name=name)
    return None
