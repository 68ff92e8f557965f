"""Verifies a SavedModel in a process without our code. saved_model.py runs this file as a script.

Reads two lines of JSON from stdin: {"folder", "inputs": signature -> input -> values}, and the expected outputs,
signature -> output -> values. Loads the folder with TensorFlow and tensorflow_text alone, with XLA disabled as in TF
Serving, and compares the outputs. The folder is loaded twice: into a session, as TF Serving does it, and with
`tf.saved_model.load`. The two restore variables in different ways, and each can fail where the other works. The exit
status is 0 if all outputs are equal; else the difference is printed on stderr.
"""

import ctypes
import functools
import json
import runpy
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Of a probability, and of a float32 sum over a text, such as a log-probability of -479, in proportion to its size: two
# graphs that add up in another order differ in the last bits.
TOLERANCE = 1e-5
_NEAR_TIES = Path(__file__).resolve().parents[2] / "serving" / "near_ties.py"  # as a file: our packages are not there


def disable_xla(tensorflow_folder: Path) -> bool:
    """Calls tensorflow::DisableXlaCompilation(), as TF Serving does. Returns whether TensorFlow's library has it."""
    for library in sorted(tensorflow_folder.glob("libtensorflow_cc*")):
        try:
            function = ctypes.CDLL(str(library))["_ZN10tensorflow21DisableXlaCompilationEv"]
        except (AttributeError, OSError):
            continue
        function.restype = None
        function()
        return True
    return False


def ops_of(saved_model) -> set[str]:
    """Returns the names of all operations in the graph and in its functions."""
    names: set[str] = set()
    for graph in saved_model.meta_graphs:
        names.update(node.op for node in graph.graph_def.node)
        for function in graph.graph_def.library.function:
            names.update(node.op for node in function.node_def)
    return names


def main() -> None:
    """Verifies the SavedModel of the request on stdin."""
    # TensorFlow would import these for what is not used here, which takes seconds (as in pipelines/support/quiet.py).
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(("IPython", "jax", "matplotlib", "sklearn")))
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers its operations)
    from tensorflow.core.protobuf import saved_model_pb2

    request = json.loads(sys.stdin.readline())  # after the imports: there is no SavedModel when the process starts
    folder = Path(request["folder"])
    ours = [name for name in ("pipelines", "layers", "main", "unroll") if name in sys.modules]
    if ours:
        sys.exit(f"this check must not see our code, but it imported {ours}")
    saved_model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    xla_ops = sorted(name for name in ops_of(saved_model) if name.startswith("Xla"))
    if xla_ops:
        sys.exit(f"operations that TF Serving cannot run: {', '.join(xla_ops)}")
    disable_xla(Path(tf.__file__).parent)

    def outputs_of(load: Callable) -> list[tuple[str, dict]]:
        signatures = load(folder)
        return [(name, signatures[name](inputs)) for name, inputs in request["inputs"].items()]

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(outputs_of, (load_into_session, load_eagerly)))
    expected = json.loads(sys.stdin.readline())  # which the other process has computed at the same time
    for name, outputs in found[0] + found[1]:
        _compare(name, outputs, expected[name])


def load_into_session(folder: Path) -> dict[str, Callable]:
    """Returns signature -> function of inputs (name -> lists), which returns the outputs (name -> array)."""
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.saved_model.loader_impl import SavedModelLoader

    session = tf.compat.v1.Session(graph=tf.Graph())
    definitions = SavedModelLoader(str(folder)).load(session, ["serve"]).signature_def

    def run(definition, inputs: dict[str, list]) -> dict:
        feeds = {}
        for key, values in inputs.items():
            info = definition.inputs[key]
            feeds[info.name] = np.array(values, tf.as_dtype(info.dtype).as_numpy_dtype)
        return session.run({key: info.name for key, info in definition.outputs.items()}, feeds)

    return {name: functools.partial(run, definition) for name, definition in definitions.items()}


def load_eagerly(folder: Path) -> dict[str, Callable]:
    """As `load_into_session`, with `tf.saved_model.load`."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(folder))

    def run(name: str, inputs: dict[str, list]) -> dict:
        signature = loaded.signatures[name]  # `loaded` must live as long as its signatures
        specs = signature.structured_input_signature[1]
        outputs = signature(**{key: tf.constant(values, specs[key].dtype) for key, values in inputs.items()})
        return {key: tensor.numpy() for key, tensor in outputs.items()}

    return {name: functools.partial(run, name) for name in loaded.signatures}


def _compare(name: str, outputs: dict[str, Any], expected: dict[str, list]) -> None:
    """Exits with a message if the outputs of a signature are not the expected ones."""
    if set(outputs) != set(expected):
        sys.exit(f"{name}: outputs {sorted(outputs)}, expected {sorted(expected)}")
    for key, values in expected.items():
        if not _equal(outputs[key], values) and not _is_near_tie(key, outputs, expected):
            sys.exit(f"{name}: {key} is {outputs[key].tolist()}, expected {values}")


def _equal(result, expected: list) -> bool:
    """Whether an array equals the expected values: strings exactly, numbers within TOLERANCE, absolute or relative."""
    import numpy as np

    if result.dtype == object:
        return _decoded(result).ravel().tolist() == np.ravel(expected).tolist()
    return np.allclose(result, expected, rtol=TOLERANCE, atol=TOLERANCE)


def _is_near_tie(key: str, outputs: dict[str, Any], expected: dict[str, list]) -> bool:
    """Whether the names of an output differ from the expected ones only in the order of equal scores."""
    import numpy as np

    if outputs[key].dtype != object or outputs[key].shape != np.shape(expected[key]):
        return False
    found = {name: _decoded(values) for name, values in outputs.items()}
    right = {name: np.array(values, found[name].dtype) for name, values in expected.items()}
    excused = runpy.run_path(str(_NEAR_TIES))["excused"](key, right, found, TOLERANCE)
    return bool(np.all((found[key] == right[key]) | excused))


def _decoded(values):
    """Returns an array with strings in place of bytes."""
    import numpy as np

    return np.frompyfunc(bytes.decode, 1, 1)(values) if values.dtype == object else values


if __name__ == "__main__":
    main()
