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


def export(servable: tf.Module, name: str, root: Path, card: dict, texts: list[str]) -> Exported:
    """Writes `servable` to `root/<name>/<n+1>`.

    It is built, given its card and warm-up requests, and verified in a folder beside, which is then renamed.

    Args:
        servable: a tf.Module whose `signatures()` gives its signatures, "serving_default" (text -> ...) among them.
        card: what model_card.json says.
        texts: realistic requests, for the warm-up and the verification.

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
        _write_warm_up(part, name, texts)
        _verify(part, signatures, texts)
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


def _write_warm_up(folder: Path, name: str, texts: list[str]) -> None:
    """Requests that TF Serving replays before it calls a version ready.

    https://www.tensorflow.org/tfx/serving/saved_model_warmup: a TFRecord file of PredictionLog.
    """
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    extra = folder / "assets.extra"
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        for batch in ([texts[0]], texts):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = name
            request.model_spec.signature_name = "serving_default"
            request.inputs["text"].CopyFrom(tf.make_tensor_proto(batch, tf.string))
            log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
            writer.write(log.SerializeToString())


def _verify(folder: Path, signatures: dict, texts: list[str]) -> None:
    expected = {}
    for key, signature in signatures.items():
        expected[key] = _jsonable({name: value.numpy() for name, value in signature(text=tf.constant(texts)).items()})
    request = {"folder": str(folder.resolve()), "texts": texts, "expected": expected}
    # -I: without this folder, PYTHONPATH or a user's site, so the process can't find our code even if it wanted it.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [sys.executable, "-I", str(_VERIFIER)], input=json.dumps(request), env=environment, text=True, capture_output=True
    )
    if result.returncode:
        raise RuntimeError(f"the export in {folder} does not answer as the trained model does:\n{result.stderr}")


def _jsonable(outputs: dict[str, np.ndarray]) -> dict:
    as_text = np.frompyfunc(bytes.decode, 1, 1)
    return {name: (as_text(value) if value.dtype == object else value).tolist() for name, value in outputs.items()}
