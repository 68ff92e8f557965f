"""TensorFlow without its noise.

TensorFlow's C++ writes to file descriptor 2 while it is imported (CPU features, CUDA stubs), below Python's `sys.stderr`
and before its own log level counts. So the descriptor itself points to a file during the import; what was caught is shown
only if the import fails.
"""

import contextlib
import importlib
import os
import sys
import tempfile


@contextlib.contextmanager
def descriptor_2_caught():
    """Keeps what is written to file descriptor 2 and passes it on only if the block raises."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        except BaseException:
            sys.stderr.flush()
            os.dup2(kept, 2)
            caught.seek(0)
            os.write(2, caught.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def import_tensorflow(side_by_side: int | None = None) -> None:
    """Imports TensorFlow, its text ops and Keras; afterwards a plain `import tensorflow` is silent and free.

    Args:
        side_by_side: operations that run at a time; they share the cores. TensorFlow chooses if not given. Counts for the first import.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"  # the pipelines trace Keras models into SavedModels
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if side_by_side:
        os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(side_by_side))
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(max(1, os.cpu_count() // side_by_side)))
    with descriptor_2_caught():
        for name in ("tensorflow", "tensorflow_text", "keras"):
            importlib.import_module(name)
        importlib.import_module("tensorflow").zeros([])  # the first op looks for devices, and says what it did not find
