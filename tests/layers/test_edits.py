"""Edits of Transformer blocks; those of recurrent layers are in test_recurrent_trace.py."""

import numpy as np
import pytest

from layers.edits import replaced, scaled
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock
from tests.layers.checks import close, normal, numpy_of, randomized

NOWHERE = (np.zeros((1, 1, 1), bool), np.zeros((1, 1, 1), "float32"))
NO_HEAD = (np.zeros((1, 1, 1, 1), bool), np.zeros((1, 1, 1, 1), "float32"))
SUBLAYERS = ("attention_output", "attention_residual", "feed_forward_output", "feed_forward_residual")
BLOCKS = pytest.mark.parametrize("kind", [TransformerEncoderBlock, TransformerDecoderBlock])


def block_of(kind, **options):
    return randomized(kind(2, 16, **options), (None, None, 8))


def everywhere(value):
    return np.ones((1, 1, 1), bool), np.full((1, 1, 1), value, "float32")


@pytest.mark.any_backend
def test_values_are_replaced_and_scaled_where_they_are_set():
    x = np.float32([[1, 2], [3, 4]])
    edits = {"hidden": (np.array([[True, False]]), np.float32([[9, 9]]))}
    close(replaced(edits, "hidden", x), np.float32([[9, 2], [9, 4]]))
    close(scaled(edits, "hidden", x), np.float32([[9, 2], [27, 4]]))
    assert replaced(edits, "cell", x) is x is scaled(None, "hidden", x)


@BLOCKS
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.any_backend
def test_edits_that_set_nothing_change_nothing(kind, norm):
    block, x = block_of(kind, norm=norm), normal(2, 5, 8)
    edits = dict.fromkeys(("hidden", *SUBLAYERS), NOWHERE) | dict.fromkeys(("attention", "head"), NO_HEAD)
    close(block(x, edits=edits), block(x))


@BLOCKS
@pytest.mark.any_backend
def test_a_head_without_a_factor_is_one_whose_output_counts_nothing(kind):
    block, x = block_of(kind), normal(2, 5, 8)
    cut = block(x, edits={"head": (np.array([False, True]).reshape(1, 2, 1, 1), np.zeros((1, 1, 1, 1), "float32"))})
    kernel = block._self_attention._output.kernel
    of_heads = numpy_of(kernel).copy()  # [heads * head size, d]
    of_heads[4:] = 0
    kernel.assign(of_heads)
    close(cut, block(x))


@pytest.mark.any_backend
def test_attention_that_is_set_is_the_average_that_is_computed():
    block, x = block_of(TransformerEncoderBlock, norm="pre"), normal(2, 5, 8)
    weights = np.zeros((2, 2, 5, 5), "float32")
    weights[:, :, :, 1] = 1  # all attend to the second position
    is_set = np.ones_like(weights, bool)
    outputs, returned = block(x, return_weights=True, edits={"attention": (is_set, weights)})
    close(returned, weights)
    mask = np.tile(np.arange(5) == 1, (2, 1))
    close(outputs, block(x, mask=mask))


@BLOCKS
@pytest.mark.any_backend
def test_a_block_without_its_sublayers_passes_its_inputs_on(kind):
    block, x = block_of(kind, norm="pre"), normal(2, 5, 8)
    without = {"attention_output": everywhere(0), "feed_forward_output": everywhere(0)}
    close(block(x, edits=without), x)
    without_residuals = {"attention_residual": everywhere(0), "attention_output": everywhere(0)}
    zeros = np.zeros_like(x)
    close(block(x, edits=without_residuals), block._feed_forward(block._feed_forward_norm(zeros)))


@BLOCKS
@pytest.mark.any_backend
def test_outputs_that_are_set(kind):
    block, x = block_of(kind), normal(2, 5, 8)
    is_set = np.zeros((2, 5, 8), bool)
    is_set[0, 2, :3] = True
    outputs, plain = (
        numpy_of(block(x, edits={"hidden": (is_set, np.full((2, 5, 8), 7, "float32"))})),
        numpy_of(block(x)),
    )
    close(outputs, np.where(is_set, 7, plain))
