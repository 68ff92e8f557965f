"""Fixtures of the layers' tests, for all backends."""

import keras
import pytest
from keras.src import testing

from tests.layers.checks import BACKEND, call, close


@pytest.fixture
def keras_layer_test():
    """Runs Keras's own test of a layer (build, shapes, config, serialization, training) in float32 and mixed_bfloat16.

    The layer's arguments are a dict, or a function from the dtype to a dict.
    """

    def run(layer_class, init_kwargs=None, **expectations):
        for dtype in ("float32", "mixed_bfloat16"):
            arguments = init_kwargs(dtype) if callable(init_kwargs) else init_kwargs or {}
            testing.TestCase().run_layer_test(
                layer_class,
                init_kwargs={**arguments, "dtype": dtype},
                assert_built_after_instantiation=False,
                run_mixed_precision_check=False,  # Keras's check is for mixed_float16
                **expectations,
            )

    return run


@pytest.fixture
def survives_saving(tmp_path):
    """Asserts that a functional model gives the same outputs after saving.

    It saves to `.keras` and, on TensorFlow, to a SavedModel. The arrays in `inputs` have the order of the model inputs.
    The outputs may be a structure. Returns the outputs.
    """

    def check(model, inputs):
        expected = call(model, inputs)
        model.save(tmp_path / "model.keras")
        close(call(keras.saving.load_model(tmp_path / "model.keras"), inputs), expected, rtol=1e-5)
        if BACKEND == "tensorflow":
            import tensorflow as tf

            archive = keras.export.ExportArchive()
            archive.track(model)
            signature = [tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in inputs]
            archive.add_endpoint("serve", lambda *tensors: model(list(tensors)), input_signature=signature)
            archive.write_out(str(tmp_path / "saved"), verbose=False)
            loaded = tf.saved_model.load(str(tmp_path / "saved"))  # keep a reference: it owns the variables
            close(loaded.serve(*inputs), expected, rtol=1e-5)
        return expected

    return check
