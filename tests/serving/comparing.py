"""Compares the answers of a server with those of the SavedModel in this process."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from pipelines.export.exported import Exported
from serving import check
from tests.serving.conftest import HANG_SECONDS, Client, serving
from tests.serving.small_models import WARM_UP


@contextlib.contextmanager
def served_as_in_process(root: Path, name: str, place: Path) -> Iterator[Client]:
    """Sends the warm-up requests of a model's newest version over gRPC and REST, and runs `check` on it.

    Yields the client of the server. It serves this model alone, through a link in the empty folder `place`: loading the
    other models of `root` would take longer than the comparison.
    """
    version = max(int(path.name) for path in (root / name).iterdir() if path.name.isdecimal())
    folder = root / name / str(version)
    with pytest.MonkeyPatch.context() as patch:  # the server runs the warm-up requests
        patch.setattr(check, "_check_warm_up", lambda folder: check.Finding("warm-up requests"))
        assert [finding for finding in check.check(folder) if finding.problem] == []
    records = tf.data.TFRecordDataset(str(folder / WARM_UP)).as_numpy_iterator()
    requests = [prediction_log_pb2.PredictionLog.FromString(record).predict_log.request for record in records]
    loaded = Exported(name, version, folder).load()
    (place / name).symlink_to(root / name)
    requested = set()
    with serving(place) as client:
        for request in requests:
            signature = request.model_spec.signature_name or "serving_default"
            requested.add(signature)
            inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
            outputs = loaded.signatures[signature](**{key: tf.constant(value) for key, value in inputs.items()})
            expected = {key: value.numpy() for key, value in outputs.items()}
            response = client.prediction.Predict(request, timeout=HANG_SECONDS)
            assert_same({key: tf.make_ndarray(value) for key, value in response.outputs.items()}, expected)
            columns = {key: _to_json(value) for key, value in inputs.items()}
            body = {"signature_name": signature, "inputs": columns}
            status, answer = client.http(f"/v1/models/{name}:predict", body)
            assert status == 200, answer
            got = answer["outputs"] if len(expected) > 1 else {next(iter(expected)): answer["outputs"]}
            assert_same({key: _to_array(value, expected[key]) for key, value in got.items()}, expected)
        assert requested == set(loaded.signatures)
        yield client


def assert_same(got: dict, expected: dict) -> None:
    assert set(got) == set(expected)
    for key, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(got[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
        else:
            np.testing.assert_array_equal(got[key], value, err_msg=key)


def _to_json(value: np.ndarray):
    if value.dtype != object:
        return value.tolist()
    return np.vectorize(bytes.decode, otypes=[object])(value).tolist()


def _to_array(value, like: np.ndarray) -> np.ndarray:
    if like.dtype != object:
        return np.array(value, like.dtype).reshape(like.shape)
    return np.vectorize(str.encode, otypes=[object])(np.array(value, object)).reshape(like.shape)
