import pytest

from pipelines.inspect import size
from tests.pipelines.inspect.exports import picture


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("recurrent_1/lstm_cell/kernel", (128, 1024), "n x 4 h = 128 x 4 x 256"),
        ("recurrent_1/lstm_cell/recurrent_kernel", (256, 1024), "h x 4 h = 256 x 4 x 256"),
        ("recurrent_1/gru_cell/bias", (2, 768), "2 x 3 h = 2 x 3 x 256"),
        ("recurrent_1/simple_rnn_cell/kernel", (128, 256), "n x h = 128 x 256"),
        ("tokens/embeddings", (69, 64), "V x n = 69 x 64"),
        ("logits/kernel", (256, 69), "inputs x outputs = 256 x 69"),
        ("convolution/kernel", (3, 8, 16), "3 x 8 x 16"),
    ],
)
def test_the_formula_of_a_matrix(name, shape, expected):
    assert size.formula(name, shape) == expected


@pytest.mark.parametrize(
    ("cell", "num_gates", "total"), [("simple_rnn", 1, 98_560), ("gru", 3, 295_680), ("lstm", 4, 394_240)]
)
def test_the_sizes_of_the_exercise(cell, num_gates, total):
    shapes = {"kernel": (128, 256 * num_gates), "recurrent_kernel": (256, 256 * num_gates), "bias": (256 * num_gates,)}
    variables = [(f"recurrent_1/{cell}_cell/{name}:0", shape) for name, shape in shapes.items()]
    variables.append(("seed_generator/state:0", (2,)))
    assert size.size_rows(variables)["parameters"].sum() == total
    (figure,) = size.figures("small/1", variables)
    assert f"{total:,} parameters" in figure.title and picture(figure).width > 300
