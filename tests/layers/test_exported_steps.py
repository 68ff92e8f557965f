"""Decoding in a SavedModel, run as in TF Serving: with XLA disabled and without our code."""

import subprocess
import sys

import keras
import numpy as np
import pytest

from layers import CRF, AttentionDecoder, AttentionDecoderCell, LuongAttention, TransformerDecoderBlock
from tests.layers.checks import call, close, needs_tensorflow, normal, ops_without_xla, randomized

# XLA must be disabled before anything is compiled, so this runs in a fresh process. DECODING fills `results`.
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
DECODING

try:
    tf.function(lambda x: x + 1, jit_compile=True)(tf.zeros(3))
except tf.errors.InternalError as error:
    assert "XLA compilation disabled" in str(error), error
else:
    sys.exit("XLA is not disabled")
np.savez(sys.argv[1] + "/results.npz", **results)
"""

STEPS = """
for name in ("block", "cell"):
    inputs, memory, mask = (tf.constant(arrays[f"{name}_{kind}"]) for kind in ("inputs", "memory", "mask"))
    state = getattr(model, f"{name}_start")(memory, mask)
    outputs = []
    for t in range(inputs.shape[1]):
        output, state = getattr(model, f"{name}_step")(inputs[:, t], state)
        outputs.append(output)
    results[name] = np.stack(outputs, axis=1)
"""

CRF_DECODING = """
for name, value in model.decode(tf.constant(arrays["logits"]), tf.constant(arrays["mask"])).items():
    results[name] = value.numpy()
"""


def decode_as_a_server(decoding, module, arrays, folder):
    """Saves the tf.Module, loads it in a fresh process and returns the results of the code `decoding`."""
    import tensorflow as tf

    tf.saved_model.save(module, str(folder / "saved"))
    np.savez(folder / "arrays.npz", **arrays)
    command = [sys.executable, "-c", SERVER.replace("DECODING", decoding), str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert process.returncode == 0, process.stderr
    return np.load(folder / "results.npz")


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
    inputs, memory = normal(3, 5, 8), normal(3, 7, 6, seed=1)
    mask = np.arange(7) < np.array([7, 1, 4])[:, None]
    arrays = {"inputs": inputs, "memory": memory, "mask": mask}
    named = {f"{name}_{kind}": x for name in ("block", "cell") for kind, x in arrays.items()}
    results = decode_as_a_server(STEPS, module, named, tmp_path)
    close(results["block"], call(block, inputs, memory, encoder_mask=mask))
    close(results["cell"], call(decoder, inputs, memory, mask=mask))


@pytest.mark.any_backend
@needs_tensorflow
@pytest.mark.long
def test_a_crf_decodes_any_length(tmp_path):
    import tensorflow as tf

    crf = randomized(CRF(allowed=[[True, True, False], [True, True, True], [True, False, True]]), (None, None, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3]), tf.TensorSpec([None, None], "bool")])
    def decode(logits, mask):
        tags, score = crf.decode(logits, mask)
        best_tags, best_scores = crf.decode_n_best(logits, mask, n=3)
        marginals = crf.marginals(logits, mask)
        return {"tags": tags, "score": score, "n": best_tags, "scores": best_scores, "marginals": marginals}

    ops_without_xla(decode)
    module = tf.Module()
    module.layers, module.decode = [crf], decode
    logits, mask = normal(4, 11, 3), np.arange(11) < np.array([11, 1, 0, 6])[:, None]
    results = decode_as_a_server(CRF_DECODING, module, {"logits": logits, "mask": mask}, tmp_path)
    close([results["tags"], results["score"]], crf.decode(logits, mask))
    close([results["n"], results["scores"]], crf.decode_n_best(logits, mask, n=3))
    close(results["marginals"], crf.marginals(logits, mask))
