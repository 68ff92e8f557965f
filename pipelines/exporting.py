"""From a servable to a versioned SavedModel that appears whole or not at all."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines import models, verify_export
from pipelines.files import write_json
from pipelines.models import CARD, Exported
from pipelines.quiet import descriptor_2_caught

_VERIFIER = Path(verify_export.__file__)


def export(servable: tf.Module, name: str, root: Path, card: dict, requests: dict[str, dict]) -> Exported:
    """Writes `servable` to `root/<name>/<n+1>`.

    It is built, given its card and warm-up requests, and verified in a folder beside, which is then renamed.

    Args:
        servable: a tf.Module whose `signatures()` gives its signatures, "serving_default" (text -> ...) among them.
        card: what model_card.json says.
        requests: signature -> input -> values, realistic ones for every signature: for the warm-up and the verification.

    Raises:
        RuntimeError: the SavedModel, loaded by a process that has none of our code, gives other answers than `servable`.
    """
    parent = root / name
    part = parent / f".tmp-{os.getpid()}"
    part.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(parent)
    try:
        signatures = servable.signatures()
        with descriptor_2_caught():  # TensorFlow says here where it writes, as a warning
            tf.saved_model.save(servable, str(part), signatures=signatures)
        write_json(part / CARD, card)
        tensors = {key: _tensors(signatures[key], requests[key]) for key in signatures}
        _write_warm_up(part, name, tensors)
        _verify(part, signatures, tensors)
        while True:  # another run may take a number at the same moment
            version = max(models.versions(parent), default=0) + 1
            try:
                os.rename(part, parent / str(version))
                return Exported(name, version, parent / str(version))
            except OSError:
                if not (parent / str(version)).exists():
                    raise
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _remove_leftovers(parent: Path) -> None:
    """Removes what an export that was killed has left; one whose process still runs is left alone."""
    for path in parent.glob(".tmp-*"):
        process = path.name.removeprefix(".tmp-")
        try:
            os.kill(int(process), 0)
        except (ValueError, ProcessLookupError):
            shutil.rmtree(path, ignore_errors=True)
        except PermissionError:
            pass


def _tensors(signature, inputs: dict) -> dict[str, tf.Tensor]:
    dtypes = {spec.name: spec.dtype for spec in tf.nest.flatten(signature.structured_input_signature)}
    return {name: tf.constant(values, dtypes[name]) for name, values in inputs.items()}


def _write_warm_up(folder: Path, name: str, requests: dict[str, dict[str, tf.Tensor]]) -> None:
    """Requests that TF Serving replays before it calls a version ready.

    https://www.tensorflow.org/tfx/serving/saved_model_warmup: a TFRecord file of PredictionLog.
    """
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    extra = folder / "assets.extra"
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        for signature, inputs in requests.items():
            for rows in (slice(1), slice(None)):
                request = predict_pb2.PredictRequest()
                request.model_spec.name = name
                request.model_spec.signature_name = signature
                for key, value in inputs.items():
                    request.inputs[key].CopyFrom(tf.make_tensor_proto(value[rows]))
                log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
                writer.write(log.SerializeToString())


def _verify(folder: Path, signatures: dict, requests: dict[str, dict[str, tf.Tensor]]) -> None:
    cases = {}
    for key, signature in signatures.items():
        outputs = signature(**requests[key])
        cases[key] = {"inputs": _jsonable(requests[key]), "expected": _jsonable(outputs)}
    request = {"folder": str(folder.resolve()), "cases": cases}
    # -I: without this folder, PYTHONPATH or a user's site, so the process can't find our code even if it wanted it.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [sys.executable, "-I", str(_VERIFIER)], input=json.dumps(request), env=environment, text=True, capture_output=True
    )
    if result.returncode:
        raise RuntimeError(f"the export in {folder} does not answer as the trained model does:\n{result.stderr}")


def _jsonable(tensors: dict[str, tf.Tensor]) -> dict:
    as_text = np.frompyfunc(bytes.decode, 1, 1)
    values = {name: tensor.numpy() for name, tensor in tensors.items()}
    return {name: (as_text(value) if value.dtype == object else value).tolist() for name, value in values.items()}
