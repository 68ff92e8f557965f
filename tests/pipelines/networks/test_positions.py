import numpy as np
import pytest

from layers import LearnedPositionalEmbedding, SinusoidalPositionalEncoding
from pipelines.networks.positions import position_layer


@pytest.mark.parametrize(
    ("name", "expected"), [("sinusoidal", SinusoidalPositionalEncoding), ("learned", LearnedPositionalEmbedding)]
)
def test_the_layer_adds_positions(name, expected):
    layer = position_layer(name, 7)
    assert type(layer) is expected and layer.name == "positions"
    outputs = layer(np.zeros((1, 7, 4), "float32")).numpy()[0]
    assert len(np.unique(outputs.round(6), axis=0)) == 7


def test_learned_positions_have_a_length():
    with pytest.raises(ValueError, match="max_length is 7"):
        position_layer("learned", 7)(np.zeros((1, 8, 4), "float32"))


@pytest.mark.parametrize("name", ["none", "rotary"])
def test_there_is_no_layer_for(name):
    assert position_layer(name, 7) is None
