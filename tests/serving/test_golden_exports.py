"""The exports of every released version can still be checked and served, with the answers of then."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from pipelines.support.version import VERSION
from serving import check
from tests.golden.make import ANSWERS
from tests.serving.comparing import assert_same
from tests.serving.conftest import HANG_SECONDS, serving

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ARCHIVES = sorted(GOLDEN.glob("*/*.tar.xz"))
VERSIONS = sorted({path.parent.name for path in ARCHIVES}, key=lambda version: [*map(int, version.split("."))])


def marks_of(version: str) -> tuple:
    """`make test-all` has the first version and this one; those between are in `make test-exhaustive`."""
    return () if version in (VERSIONS[0], VERSION) else (pytest.mark.exhaustive,)


def unpack(archive: Path, folder: Path) -> Path:
    """Returns the folder of the export's version."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (version,) = folder.glob("*/1")
    return version


def test_golden_exports_of_this_version_have_every_signature(tmp_path):
    """tests/golden/make.py writes those of a new version."""
    asked = set()
    for path in (GOLDEN / VERSION).glob("*.tar.xz"):
        with tarfile.open(path) as packed:
            packed.extract(ANSWERS, tmp_path, filter="data")
        for record in tf.data.TFRecordDataset(str(tmp_path / ANSWERS)).as_numpy_iterator():
            request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
            asked.add(request.model_spec.signature_name)
    listed = json.loads((GOLDEN.parent / "pipelines" / "export" / "signatures.json").read_text())
    # Models of several columns have signatures beyond those that are listed for each task.
    assert asked >= {name for signatures in listed.values() for name in signatures}


@pytest.mark.long
@pytest.mark.parametrize("version", [pytest.param(version, marks=marks_of(version)) for version in VERSIONS])
def test_a_golden_export_of_every_version_passes_all_checks(version, tmp_path):
    """The checks run its warm-up requests in a fresh process, with XLA disabled. For all exports that takes minutes."""
    folder = unpack(GOLDEN / version / "sentiment.tar.xz", tmp_path)
    assert [finding for finding in check.check(folder) if finding.problem] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "archive",
    [pytest.param(path, marks=marks_of(path.parent.name), id=f"{path.parent.name}-{path.name}") for path in ARCHIVES],
)
def test_a_golden_export_is_checked_and_served(archive, tmp_path, monkeypatch):
    """Neither the checks nor the server run the warm-up requests, which are those whose answers are compared here.

    The first call of a signature takes long, and the graphs of an earlier version do not change any more: one request
    shows that such an export is served. Exports of this version answer all requests.
    """
    folder = unpack(archive, tmp_path)
    shutil.rmtree(folder / "assets.extra")
    monkeypatch.setattr(check, "_check_warm_up", lambda folder: check.Finding("warm-up requests"))
    assert [finding for finding in check.check(folder) if finding.problem] == []
    records = list(tf.data.TFRecordDataset(str(tmp_path / ANSWERS)).as_numpy_iterator())
    assert records
    if archive.parent.name != VERSION:
        records = records[:1]
    with serving(tmp_path) as client:
        for record in records:
            log = prediction_log_pb2.PredictionLog.FromString(record).predict_log
            outputs = client.prediction.Predict(log.request, timeout=HANG_SECONDS).outputs
            assert_same(
                {key: tf.make_ndarray(value) for key, value in outputs.items()},
                {key: tf.make_ndarray(value) for key, value in log.response.outputs.items()},
            )
