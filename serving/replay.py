"""Answers the warm-up requests of a SavedModel with XLA disabled, as TF Serving does before a version is ready. Run as a script.

    python replay.py FOLDER    prints how many there were; ends with status 1 and a line on stderr where one fails.
"""

import ctypes
import os
import sys
from pathlib import Path


def main(folder: Path) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the ops)
    from tensorflow_serving.apis import prediction_log_pb2

    disable_xla(Path(tf.__file__).parent)
    signatures = tf.saved_model.load(str(folder), tags=["serve"]).signatures
    count, path = 0, folder / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(path)) if path.exists() else ():
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        signatures[request.model_spec.signature_name](**{name: tf.constant(tf.make_ndarray(p)) for name, p in request.inputs.items()})
        count += 1
    print(count)


def disable_xla(tensorflow_folder: Path) -> None:
    """Calls tensorflow::DisableXlaCompilation(), as TF Serving's main.cc does, where the library has it."""
    for library in sorted(tensorflow_folder.glob("libtensorflow_cc*")):
        try:
            function = ctypes.CDLL(str(library))["_ZN10tensorflow21DisableXlaCompilationEv"]
        except (AttributeError, OSError):
            continue
        function.restype = None
        function()
        return


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {str(error).splitlines()[0]}")
