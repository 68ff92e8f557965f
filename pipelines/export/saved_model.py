"""Exports a servable as a versioned SavedModel that appears complete or not at all."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pipelines.export import verify as verifier
from pipelines.export.card import CARD
from pipelines.export.exported import Exported, files_of, versions
from pipelines.support.files import make_folders, sync, sync_tree, write_json
from pipelines.support.quiet import capture_stderr_descriptor
from pipelines.support.temporary import temporary_folder

_VERIFIER = Path(verifier.__file__)
_WARM_UP_FOLDER, _WARM_UP = "assets.extra", "tf_serving_warmup_requests"


def export(
    servable: tf.Module,
    name: str,
    root: Path,
    card: dict,
    requests: dict[str, dict],
    plan: Callable[[dict[str, dict]], None] = lambda files: None,
    verify: bool = True,
    verifier: subprocess.Popen | None = None,
) -> Exported:
    """Writes `servable` to `root/<name>/<n+1>`.

    The SavedModel is written, given its card and its warm-up requests, made durable, and verified in a folder beside,
    which is then renamed.

    Args:
        servable: its attributes and its `signatures()` are exported: name -> `tf.function` with an input signature, or
            concrete function. "serving_default" (text -> ...) is one of them.
        name: of the exported model.
        root: folder of all exports.
        card: content of model_card.json.
        requests: signature -> input -> values: a realistic request for every signature, for warm-up and verification.
        plan: called with the files of the export (see `files_of`) before it appears.
        verify: whether to compare the export with `servable` in a fresh process.
        verifier: that process, of `verifier_process`; None: it is started here, while the SavedModel is written.

    Raises:
        ValueError: `requests` lacks a signature or an input of one.
        RuntimeError: the SavedModel, loaded by a process without our code, gives other results than `servable`.
    """
    signatures = {name: concrete_function(function) for name, function in servable.signatures().items()}
    tensors = {key: _request_tensors(key, signatures[key], requests) for key in signatures}
    parent = root / name
    make_folders(parent)
    started: AbstractContextManager[Any] = contextlib.nullcontext(verifier)
    if verify and verifier is None:
        started = verifier_process()
    with temporary_folder(parent) as part, started as verifier:
        with capture_stderr_descriptor():  # TensorFlow prints the folder as a warning
            tf.saved_model.save(attributes(servable), str(part), signatures=signatures)
        write_json(part / CARD, card)
        _write_warm_up(part, name, tensors)
        sync_tree(part)
        if verify:
            _verify(verifier, part, signatures, tensors)
        plan(files_of(part))
        return _publish(part, parent)


def copy(source: Path, loaded, name: str, root: Path, version: int | None = None) -> Exported:
    """Copies an export to `root/<name>/<version>`, and verifies the copy as `export` does.

    Args:
        source: folder of a version, with its warm-up requests.
        loaded: the same SavedModel, loaded in this process; the copy must give its answers.
        name: of the exported model.
        root: folder of all exports.
        version: None takes the next one.

    Raises:
        RuntimeError: the copy, loaded by a process without our code, gives other results than `loaded`.
    """
    parent = root / name
    make_folders(parent)
    requests = _read_warm_up(source)
    with temporary_folder(parent) as part, verifier_process() as verifier:
        shutil.copytree(source, part, ignore=shutil.ignore_patterns(_WARM_UP), dirs_exist_ok=True)
        _write_warm_up(part, name, requests)  # the requests hold the name
        sync_tree(part)
        _verify(verifier, part, {key: loaded.signatures[key] for key in requests}, requests)
        return _publish(part, parent, version)


def concrete_function(function):
    """Returns a signature of a servable as a concrete function."""
    return function.get_concrete_function() if hasattr(function, "get_concrete_function") else function


def attributes(servable) -> tf.train.Checkpoint:
    """Returns an object with the attributes of `servable`, thus its variables and tables, but without its methods.

    What the methods compute is in the signatures. TensorFlow would trace each method that is a tf.function once more
    to save it.
    """
    kept = tf.train.Checkpoint()
    for name, value in vars(servable).items():
        if not name.startswith("_self_"):  # TensorFlow's own record of what an object refers to
            setattr(kept, name, value)
    return kept


def _request_tensors(name: str, signature, requests: dict[str, dict]) -> dict[str, tf.Tensor]:
    """Returns the example request of a signature: input -> tensor."""
    remedy = "return one from example_requests()"
    if name not in requests:
        raise ValueError(f"the signature {name!r} has no example request: {remedy}")
    tensors = {}
    for spec in tf.nest.flatten(signature.structured_input_signature):
        if spec.name not in requests[name]:
            raise ValueError(f"the example request of the signature {name!r} has no input {spec.name!r}: {remedy}")
        tensors[spec.name] = tf.constant(requests[name][spec.name], spec.dtype)
    return tensors


def _write_warm_up(folder: Path, name: str, requests: dict[str, dict[str, tf.Tensor]]) -> None:
    """Writes the requests that TF Serving replays before a version is available, as a TFRecord file of PredictionLog.

    Source: https://www.tensorflow.org/tfx/serving/saved_model_warmup
    """
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    path = folder / _WARM_UP_FOLDER / _WARM_UP
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests.items():
            for rows in (slice(1), slice(None)):
                request = predict_pb2.PredictRequest()
                request.model_spec.name = name
                request.model_spec.signature_name = signature
                for key, value in inputs.items():
                    request.inputs[key].CopyFrom(tf.make_tensor_proto(value[rows] if value.shape.rank else value))
                log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
                writer.write(log.SerializeToString())


def _read_warm_up(folder: Path) -> dict[str, dict[str, tf.Tensor]]:
    """Returns the requests that `_write_warm_up` wrote: signature -> input -> tensor."""
    from tensorflow_serving.apis import prediction_log_pb2

    requests = {}
    for record in tf.data.TFRecordDataset(str(folder / _WARM_UP_FOLDER / _WARM_UP)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        # The last request of each signature has all rows.
        requests[request.model_spec.signature_name] = {
            key: tf.constant(tf.make_ndarray(value)) for key, value in request.inputs.items()
        }
    return requests


@contextlib.contextmanager
def verifier_process():
    """Yields a process without our code, which imports TensorFlow and then waits for its request on stdin."""
    # -I: without the current folder, PYTHONPATH and the user's site-packages, so that our code cannot be imported.
    with subprocess.Popen(
        [sys.executable, "-I", str(_VERIFIER)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _verify(
    verifier: subprocess.Popen, folder: Path, signatures: dict, requests: dict[str, dict[str, tf.Tensor]]
) -> None:
    """Compares the results of the SavedModel, in a process without our code, with those of the signatures."""
    inputs = {key: _as_lists(requests[key]) for key in signatures}
    with contextlib.suppress(BrokenPipeError):  # it has ended: its return code says why
        print(json.dumps({"folder": str(folder.resolve()), "inputs": inputs}), file=verifier.stdin, flush=True)
    expected = {key: _as_lists(signature(**requests[key])) for key, signature in signatures.items()}
    _, errors = verifier.communicate(json.dumps(expected))
    if verifier.returncode:
        raise RuntimeError(f"the export in {folder} gives other results than the trained model:\n{errors}")


def _publish(part: Path, parent: Path, version: int | None = None) -> Exported:
    """Renames `part` to a version in `parent`; None is the next one."""
    while True:  # another run may take the number at the same moment
        number = max(versions(parent), default=0) + 1 if version is None else version
        path = parent / str(number)
        try:
            os.rename(part, path)
            break
        except OSError:
            if version is not None or not path.exists():
                raise
    sync(parent)
    return Exported(parent.name, number, path)


def _as_lists(tensors: dict[str, tf.Tensor]) -> dict[str, list]:
    """Converts tensors to lists for JSON."""
    decode = np.frompyfunc(bytes.decode, 1, 1)
    values = {name: tensor.numpy() for name, tensor in tensors.items()}
    return {name: (decode(value) if value.dtype == object else value).tolist() for name, value in values.items()}
