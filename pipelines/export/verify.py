"""Verifies a SavedModel in a process without our code. saved_model.py runs this file as a script.

Reads {"folder", "cases": signature -> {"inputs", "expected": name -> values}} as JSON from stdin, loads the folder with
TensorFlow and tensorflow_text alone, with XLA disabled as in TF Serving, and compares the outputs. The exit status is 0
if they are equal; else the difference is printed on stderr.
"""

import ctypes
import json
import sys
from pathlib import Path

TOLERANCE = 1e-5


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
    names = set()
    for graph in saved_model.meta_graphs:
        names.update(node.op for node in graph.graph_def.node)
        for function in graph.graph_def.library.function:
            names.update(node.op for node in function.node_def)
    return names


def main() -> None:
    """Verifies the SavedModel of the request on stdin."""
    request = json.load(sys.stdin)
    folder = Path(request["folder"])
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers its operations)
    from tensorflow.core.protobuf import saved_model_pb2

    ours = [name for name in ("pipelines", "layers", "main") if name in sys.modules]
    if ours:
        sys.exit(f"this check must not see our code, but it imported {ours}")
    saved_model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    xla_ops = sorted(name for name in ops_of(saved_model) if name.startswith("Xla"))
    if xla_ops:
        sys.exit(f"operations that TF Serving cannot run: {', '.join(xla_ops)}")
    disable_xla(Path(tf.__file__).parent)

    loaded = tf.saved_model.load(str(folder))
    for signature, case in request["cases"].items():
        _compare(signature, loaded.signatures[signature], case["inputs"], case["expected"])


def _compare(name: str, signature, inputs: dict[str, list], expected: dict[str, list]) -> None:
    """Exits with a message if the outputs of a signature are not the expected ones."""
    import tensorflow as tf

    specs = signature.structured_input_signature[1]
    outputs = signature(**{key: tf.constant(values, specs[key].dtype) for key, values in inputs.items()})
    if set(outputs) != set(expected):
        sys.exit(f"{name}: outputs {sorted(outputs)}, expected {sorted(expected)}")
    for key, values in expected.items():
        result = outputs[key].numpy()
        if not _equal(result, values):
            sys.exit(f"{name}: {key} is {result.tolist()}, expected {values}")


def _equal(result, expected: list) -> bool:
    """Whether an array equals the expected values: strings exactly, numbers within TOLERANCE."""
    import numpy as np

    if result.dtype == object:
        return [item.decode() for item in result.ravel()] == np.ravel(expected).tolist()
    return np.allclose(result, expected, rtol=0, atol=TOLERANCE)


if __name__ == "__main__":
    main()
