"""What every layer's tests need, on whichever backend Keras runs."""

import keras
import numpy as np
import pytest
from keras import ops
from keras.src import testing


@pytest.fixture
def keras_layer_test():
    """Keras's own test of a layer (build, shapes, config, serialization, training), in float32 and mixed_bfloat16."""

    def run(layer_class, init_kwargs=None, **expectations):
        for dtype in ("float32", "mixed_bfloat16"):
            testing.TestCase().run_layer_test(
                layer_class,
                init_kwargs={**(init_kwargs or {}), "dtype": dtype},
                assert_built_after_instantiation=False,
                run_mixed_precision_check=False,  # that one is mixed_float16
                **expectations,
            )

    return run


@pytest.fixture
def survives_saving(tmp_path):
    """Asserts that a functional model answers the same after `.keras`, and on TensorFlow also after a SavedModel.

    The arrays in `inputs` are in the order of the model's inputs; outputs may be a structure.
    """

    def check(model, inputs):
        expected = [ops.convert_to_numpy(x) for x in keras.tree.flatten(model(inputs))]
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        assert_close(again(inputs), expected)
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            archive = keras.export.ExportArchive()
            archive.track(model)
            signature = [tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in inputs]
            archive.add_endpoint("serve", lambda *tensors: model(list(tensors)), input_signature=signature)
            archive.write_out(str(tmp_path / "saved"), verbose=False)
            loaded = tf.saved_model.load(str(tmp_path / "saved"))  # its variables live only as long as it does
            assert_close(loaded.serve(*inputs), expected)

    def assert_close(outputs, expected):
        for got, want in zip(keras.tree.flatten(outputs), expected, strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(got), want, rtol=1e-5, atol=1e-5)

    return check
