"""What all tests share. TensorFlow is imported here, once and without its noise, before any test module is."""

import os
from pathlib import Path

import pytest

from pipelines.quiet import import_tensorflow

ROOT = Path(__file__).resolve().parent.parent
CORPORA = ROOT.parent / "shared" / "data"  # real corpora lie here on machines that measure; nothing needs them

if os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow":
    import_tensorflow()


@pytest.fixture(scope="session")
def imdb_file() -> Path:
    path = CORPORA / "imdb" / "train.csv.xz"
    if not path.exists():
        pytest.skip("the IMDB reviews are not on this machine")
    return path

