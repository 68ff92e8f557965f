"""Does a SavedModel answer as it should where none of our code is? Run as a script of its own by exporting.py.

Reads {"folder", "cases": signature -> {"inputs", "expected": name -> values}} as JSON from stdin, loads the folder with TensorFlow and
tensorflow_text alone, XLA disabled as TF Serving disables it, and compares. Exit status 0 if all is well; else the reason is on stderr.
"""

import ctypes
import json
import sys
from pathlib import Path

TOLERANCE = 1e-5


def disable_xla(tensorflow_folder: Path) -> bool:
    """Calls tensorflow::DisableXlaCompilation(), as TF Serving's main does; False where the library does not have it."""
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
    """Names of all ops in the graph and in its functions."""
    names = set()
    for graph in saved_model.meta_graphs:
        names.update(node.op for node in graph.graph_def.node)
        for function in graph.graph_def.library.function:
            names.update(node.op for node in function.node_def)
    return names


def main() -> None:
    request = json.load(sys.stdin)
    folder = Path(request["folder"])
    import numpy as np
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the ops)
    from tensorflow.core.protobuf import saved_model_pb2

    ours = [name for name in ("pipelines", "layers", "main") if name in sys.modules]
    if ours:
        sys.exit(f"this check must not see our code, but it imported {ours}")
    saved_model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    needs_xla = sorted(name for name in ops_of(saved_model) if name.startswith("Xla"))
    if needs_xla:
        sys.exit(f"ops that TF Serving cannot run: {', '.join(needs_xla)}")
    disable_xla(Path(tf.__file__).parent)

    loaded = tf.saved_model.load(str(folder))
    for signature, case in request["cases"].items():
        specs = loaded.signatures[signature].structured_input_signature[1]
        inputs = {name: tf.constant(values, specs[name].dtype) for name, values in case["inputs"].items()}
        outputs, expected = loaded.signatures[signature](**inputs), case["expected"]
        if set(outputs) != set(expected):
            sys.exit(f"{signature}: outputs {sorted(outputs)}, expected {sorted(expected)}")
        for name, values in expected.items():
            got = outputs[name].numpy()
            if got.dtype == object:
                same = [item.decode() for item in got.ravel()] == np.ravel(values).tolist()
            else:
                same = np.allclose(got, values, rtol=0, atol=TOLERANCE)
            if not same:
                sys.exit(f"{signature}: {name} is {got.tolist()}, expected {values}")


if __name__ == "__main__":
    main()
