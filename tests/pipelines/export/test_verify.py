"""verify.py runs as a script in a process of its own; here its functions are called, and one process is started."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.export import verify

XLA = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import tensorflow as tf, keras
from pipelines.export.verify import disable_xla
if not disable_xla(Path(tf.__file__).parent):
    sys.exit(77)
tf.function(lambda x: keras.ops.slice_update(x, [0], tf.ones([1])))(tf.zeros([3]))
"""


@pytest.mark.long
def test_xla_is_really_disabled():
    result = subprocess.run([sys.executable, "-c", XLA, os.getcwd()], capture_output=True, text=True)
    if result.returncode == 77:
        pytest.skip("the library of this TensorFlow has no function that disables XLA")
    assert result.returncode == 1
    assert "XLA compilation disabled" in result.stderr


def test_a_folder_without_tensorflows_library_cannot_disable_xla(tmp_path):
    assert verify.disable_xla(tmp_path) is False
    (tmp_path / "libtensorflow_cc.so.2").write_bytes(b"no library")
    assert verify.disable_xla(tmp_path) is False


def test_ops_of_functions_are_listed(tmp_path):
    from tensorflow.core.protobuf import saved_model_pb2

    module = tf.Module()
    module.call = tf.function(tf.strings.upper, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path))
    proto = saved_model_pb2.SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    assert {"StringUpper", "Placeholder"} <= verify.ops_of(proto)


@pytest.fixture(scope="module", params=[verify.load_into_session, verify.load_eagerly])
def signature(request, tmp_path_factory):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def call(self, text):
            return {"length": tf.cast(tf.strings.length(text), tf.float32) / 3, "upper": tf.strings.upper(text)}

    module, folder = Module(), str(tmp_path_factory.mktemp("saved"))
    tf.saved_model.save(module, folder, {"serving_default": module.call.get_concrete_function()})
    return request.param(Path(folder))["serving_default"]


class CountWords(tf.Module):
    """Tracks a Keras layer: its variables are then exported twice, and a session restores the other ones."""

    def __init__(self):
        super().__init__()
        self.layer = keras.layers.Embedding(8, 1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="ids")])
    def call(self, ids):
        return {"features": self.layer(ids)}


def test_variables_that_only_python_restores_are_noticed(tmp_path):
    module = CountWords()
    expected = module.call(tf.constant([1, 2]))["features"].numpy()
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.call.get_concrete_function()})
    eager = verify.load_eagerly(tmp_path)["serving_default"]({"ids": [1, 2]})
    np.testing.assert_array_equal(eager["features"], expected)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Could not find variable"):
        verify.load_into_session(tmp_path)["serving_default"]({"ids": [1, 2]})


def compare(signature, **expected):
    verify._compare("serving_default", signature({"text": ["a", "bb"]}), expected)


def test_equal_results_pass_and_numbers_may_differ_by_the_tolerance(signature):
    compare(signature, length=[1 / 3, 2 / 3 + 0.9e-5], upper=["A", "BB"])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"length": [1 / 3, 2 / 3 + 1e-4], "upper": ["A", "BB"]}, "serving_default: length is"),
        ({"length": [1 / 3, 2 / 3], "upper": ["A", "B"]}, "serving_default: upper is"),
        ({"length": [1 / 3, 2 / 3]}, r"serving_default: outputs \['length', 'upper'\], expected \['length'\]"),
    ],
)
def test_other_results_end_the_process_with_a_message(signature, expected, message):
    with pytest.raises(SystemExit, match=message):
        compare(signature, **expected)


def test_nan_is_not_equal():
    assert not verify._equal(np.array([float("nan")]), [0.0])


def test_the_last_bits_of_a_large_sum_may_differ():
    """A float32 of this size is accurate to 3e-5, so an absolute tolerance alone would refuse an equal export."""
    result = np.array([-479.0484924316406], np.float32)
    assert verify._equal(result, [-479.0485534667969])
    assert not verify._equal(result, [-479.06])


@pytest.mark.parametrize(("found", "passes"), [("bac", True), ("acb", False), ("xbc", False), ("bbc", False)])
def test_classes_of_equal_scores_may_be_swapped(found, passes):
    scores = np.array([[0.4, 0.4, 0.2]], np.float32)
    outputs = {"top_labels": np.array([[name.encode() for name in found]], object), "top_scores": scores}
    expected = {"top_labels": [list("abc")], "top_scores": [[0.4, 0.4 - 1e-7, 0.2]]}
    with contextlib.nullcontext() if passes else pytest.raises(SystemExit, match="serving_default: top_labels is"):
        verify._compare("serving_default", outputs, expected)
    with pytest.raises(SystemExit, match="top_labels is"):  # more names than expected
        verify._compare("serving_default", outputs, {**expected, "top_labels": [list("abcd")]})
