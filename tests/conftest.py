"""What all tests share. TensorFlow is imported here, once and without its noise, before any test module is."""

import os
import subprocess
import sys
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


@pytest.fixture
def unroll(tmp_path):
    """Runs `python main.py ARGUMENTS` as a user would, in a folder of its own: the finished process, with its output as text."""

    def run(*arguments, input=None, home=tmp_path, **environment):
        command = [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]
        env = {**os.environ, "HOME": str(home), "COLUMNS": "100", **environment}
        return subprocess.run(command, capture_output=True, text=True, input=input, env=env, cwd=tmp_path, timeout=300)

    return run
