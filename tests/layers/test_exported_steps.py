"""A decoding step in a SavedModel, run as in TF Serving: with XLA disabled and without our code."""

import subprocess
import sys

import keras
import numpy as np
import pytest

from layers import AttentionDecoder, AttentionDecoderCell, LuongAttention, TransformerDecoderBlock
from tests.layers.checks import call, close, needs_tensorflow, normal, randomized

# XLA must be disabled before anything is compiled, so this runs in a fresh process.
SERVER = """
import ctypes, pathlib, sys
import numpy as np
import pytest
import tensorflow as tf

assert "layers" not in sys.modules
for library in sorted(pathlib.Path(tf.__file__).parent.glob("libtensorflow_cc*")):
    function = ctypes.CDLL(str(library))["_ZN10tensorflow21DisableXlaCompilationEv"]
    function.restype = None
    function()
    break
else:
    sys.exit("no libtensorflow_cc")

arrays = dict(np.load(sys.argv[1] + "/arrays.npz"))
model = tf.saved_model.load(sys.argv[1] + "/saved")
results = {}
for name in ("block", "cell"):
    inputs, memory, mask = (tf.constant(arrays[f"{name}_{kind}"]) for kind in ("inputs", "memory", "mask"))
    state = getattr(model, f"{name}_start")(memory, mask)
    outputs = []
    for t in range(inputs.shape[1]):
        output, state = getattr(model, f"{name}_step")(inputs[:, t], state)
        outputs.append(output)
    results[name] = np.stack(outputs, axis=1)

try:
    tf.function(lambda x: x + 1, jit_compile=True)(tf.zeros(3))
except tf.errors.InternalError as error:
    assert "XLA compilation disabled" in str(error), error
else:
    sys.exit("XLA is not disabled")
np.savez(sys.argv[1] + "/results.npz", **results)
"""


@pytest.mark.any_backend
@needs_tensorflow
@pytest.mark.long
def test_steps_equal_the_whole_sequence(tmp_path):
    import tensorflow as tf

    block = randomized(TransformerDecoderBlock(2, 16, rotary=True), (None, None, 8), (None, None, 6))
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(5), LuongAttention(window=2), 6, style="luong", input_feeding=True
    )
    decoder = randomized(AttentionDecoder(cell), (None, None, 8), (None, None, 6))
    memory = [tf.TensorSpec([None, None, 6], name="memory"), tf.TensorSpec([None, None], "bool", name="mask")]

    @tf.function(input_signature=memory)
    def block_start(memory, mask):
        batch = tf.shape(memory)[0]
        return {"cache": block.initial_cache(batch, 9, memory, mask), "position": tf.zeros(batch, "int32")}

    @tf.function
    def block_step(inputs, state):
        output, cache = block(inputs[:, None], cache=state["cache"], position=state["position"])
        return output[:, 0], {"cache": cache, "position": state["position"] + 1}

    @tf.function(input_signature=memory)
    def cell_start(memory, mask):
        return cell.start(memory, mask)

    @tf.function
    def cell_step(inputs, state):
        return cell(inputs, state)

    module = tf.Module()
    module.layers = [block, decoder]
    for name, start, step in (("block", block_start, block_step), ("cell", cell_start, cell_step)):
        state = tf.nest.map_structure(
            lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), start.get_concrete_function().structured_outputs
        )
        step.get_concrete_function(tf.TensorSpec([None, 8]), state)
        setattr(module, f"{name}_start", start)
        setattr(module, f"{name}_step", step)
    tf.saved_model.save(module, str(tmp_path / "saved"))

    inputs, memory = normal(3, 5, 8), normal(3, 7, 6, seed=1)
    mask = np.arange(7) < np.array([7, 1, 4])[:, None]
    arrays = {"inputs": inputs, "memory": memory, "mask": mask}
    named = {f"{name}_{kind}": x for name in ("block", "cell") for kind, x in arrays.items()}
    np.savez(tmp_path / "arrays.npz", **named)
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    results = np.load(tmp_path / "results.npz")
    close(results["block"], call(block, inputs, memory, encoder_mask=mask))
    close(results["cell"], call(decoder, inputs, memory, mask=mask))
