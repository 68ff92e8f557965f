"""Runs the warm-up requests of a SavedModel with XLA disabled, as TF Serving does before a version is available.

A script, so that a fresh process can run it without our code:

    python replay.py FOLDER    prints the number of requests; if one fails, exits with status 1 and one line on stderr
"""

import ctypes
import os
import sys
from pathlib import Path

_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"


def main(folder: Path) -> None:
    """Runs the warm-up requests of the SavedModel in `folder`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the ops)
    from tensorflow.python.saved_model.loader_impl import SavedModelLoader
    from tensorflow_serving.apis import prediction_log_pb2

    disable_xla(Path(tf.__file__).parent)
    session = tf.compat.v1.Session(graph=tf.Graph())  # as TF Serving loads it
    definitions = SavedModelLoader(str(folder)).load(session, ["serve"]).signature_def
    num_requests, path = 0, folder / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(path)) if path.exists() else ():
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        name = request.model_spec.signature_name or "serving_default"
        if name not in definitions:
            raise ValueError(f"a warm-up request names the signature {name}, which does not exist")
        definition = definitions[name]
        feeds = {definition.inputs[key].name: tf.make_ndarray(proto) for key, proto in request.inputs.items()}
        session.run([info.name for info in definition.outputs.values()], feeds)
        num_requests += 1
    print(num_requests)


def disable_xla(tensorflow_folder: Path) -> None:
    """Calls tensorflow::DisableXlaCompilation(), as TF Serving's main.cc does, if the library has it."""
    for library in sorted(tensorflow_folder.glob("libtensorflow_cc*")):
        try:
            function = ctypes.CDLL(str(library))[_DISABLE_XLA]
        except (AttributeError, OSError):
            continue
        function.restype = None
        function()
        return


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        sys.exit(f"{type(error).__name__}: {first_line}")
