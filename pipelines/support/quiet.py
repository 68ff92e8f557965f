"""Imports TensorFlow without its messages, and without packages that it imports for what is not used here.

During the import, TensorFlow's C++ code writes to file descriptor 2 (CPU features, missing CUDA libraries). That is
below Python's `sys.stderr`, and happens before TensorFlow's own log level applies. Therefore the descriptor itself is
redirected to a file during the import. The messages are printed only if the import fails.
"""

import contextlib
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import Any

# Keras and TensorFlow import these if they are installed, for `keras.wrappers`, `keras.visualization`, the editor of
# weight files and `tf.lite`. That takes seconds.
_UNUSED = ("IPython", "jax", "matplotlib", "sklearn")

# The descriptor belongs to the process: of two threads, the second one would restore the file of the first one.
_capturing = threading.RLock()


@contextlib.contextmanager
def capture_stderr_descriptor():
    """Captures what is written to file descriptor 2, and prints it only if the block raises."""
    with _capturing, tempfile.TemporaryFile() as captured:
        sys.stderr.flush()
        stderr_copy = os.dup(2)
        os.dup2(captured.fileno(), 2)
        try:
            yield
        except BaseException:
            sys.stderr.flush()
            os.dup2(stderr_copy, 2)
            captured.seek(0)
            os.write(2, captured.read())
            raise
        finally:
            os.dup2(stderr_copy, 2)
            os.close(stderr_copy)


@contextlib.contextmanager
def hidden(packages: Iterable[str]):
    """Within the block, to import one of the packages raises ModuleNotFoundError, unless it is imported already."""
    absent = [name for name in packages if name not in sys.modules]
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(absent))  # Python reads None as: cannot be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def import_tensorflow(
    parallel_ops: int | None = None,
    before_first_operation: Callable[[], None] = lambda: None,
    keeps_memory: bool = True,
) -> None:
    """Imports TensorFlow, its text operations and Keras. Afterwards `import tensorflow` is silent and takes no time.

    What Keras does with scikit-learn and matplotlib (`keras.wrappers`, `keras.visualization`) works in this process
    only if those were imported before.

    Args:
        parallel_ops: number of operations that run in parallel and share the cores. By default TensorFlow chooses. Only
            the first call of a process has an effect.
        before_first_operation: called after the import; what it writes on stderr is captured, too.
        keeps_memory: whether the memory of large tensors is kept for the next ones. By default TensorFlow returns it to
            the system, and the pages of the next tensors are filled with zeros again, in each step of a training.
            Where TensorFlow uses the kernels of oneDNN, the memory is always kept.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"  # the pipelines trace Keras models into SavedModels
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if keeps_memory:
        os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")
        os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", str(2**24))  # no limit; the default is 64 GB
    if parallel_ops:
        os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(parallel_ops))
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(max(1, (os.cpu_count() or 1) // parallel_ops)))
    with capture_stderr_descriptor():
        with hidden(_UNUSED):
            for name in ("tensorflow", "tensorflow_text", "keras"):
                importlib.import_module(name)
        before_first_operation()
        # The first operation searches for devices and prints what it does not find.
        importlib.import_module("tensorflow").zeros([])
