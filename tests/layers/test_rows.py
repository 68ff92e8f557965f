import keras
import numpy as np
import pytest
from keras import ops

from layers import TransformerDecoderBlock, TransformerEncoderBlock
from layers.rows import as_rows, as_sequences
from tests.layers.checks import needs_tensorflow, normal


@pytest.mark.any_backend
@pytest.mark.parametrize("time", [1, 3])
def test_sequences_of_rows_are_the_sequences(time):
    x = normal(2, time, 4)
    rows = as_rows(ops.convert_to_tensor(x))
    assert rows.shape == (2 * time, 4)
    np.testing.assert_array_equal(ops.convert_to_numpy(as_sequences(rows, x)), x)
    np.testing.assert_array_equal(ops.convert_to_numpy(as_sequences(rows, x, (2, 2))), np.reshape(x, (2, time, 2, 2)))
    assert as_sequences(rows[:, :3], x).shape == (2, time, 3)


@needs_tensorflow
@pytest.mark.parametrize("time", [None, 1])
@pytest.mark.parametrize("block", [TransformerEncoderBlock, TransformerDecoderBlock])
def test_every_layer_of_a_block_multiplies_two_matrices(block, time):
    import tensorflow as tf

    layer = block(num_heads=2, intermediate_size=12)
    layer.build((None, None, 8))
    function = tf.function(layer, input_signature=[tf.TensorSpec([None, time, 8])], autograph=False)
    graph = function.get_concrete_function().graph
    products = [op for op in graph.get_operations() if op.type == "MatMul"]
    assert len(products) == 6  # query, key, value and output; the feed-forward network's two
    # Around a product of three axes, Tensordot has these.
    assert not [op.name for op in graph.get_operations() if op.type in ("Prod", "GatherV2", "Tensordot")]


def test_a_functional_model_takes_any_length(tmp_path):
    x, mask = normal(2, 5, 8), np.arange(5) < np.array([[5], [2]])
    inputs = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    model = keras.Model(inputs, TransformerEncoderBlock(2, 12)(inputs[0], mask=inputs[1]))

    expected = model([x, mask])
    padded = model([np.pad(x, [(0, 0), (0, 3), (0, 0)]), np.pad(mask, [(0, 0), (0, 3)])])

    np.testing.assert_allclose(padded[:, :5], expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded([x, mask]), expected)
