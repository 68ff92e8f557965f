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
else:
    # JAX compiles each operation and each loop: quickly rather than well, and what it has compiled before it need not again.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".pytest_cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


_LONG = ("test_main", "test_resume", "test_translator", "test_generator", "test_exporting")


def pytest_collection_modifyitems(items):
    """The long files come first: at the end, each worker then finds something short to do until all is done."""
    items.sort(key=lambda item: not item.path.name.startswith(_LONG))


@pytest.fixture(scope="session")
def imdb_file() -> Path:
    path = CORPORA / "imdb" / "train.csv.xz"
    if not path.exists():
        pytest.skip("the IMDB reviews are not on this machine")
    return path


@pytest.fixture(autouse=True)
def deterministic_no_longer_than_the_test():
    """A training in this process makes TensorFlow deterministic, and then Keras compiles nothing with XLA."""
    yield
    if "tensorflow" in sys.modules:
        from tensorflow.python.framework import config  # there is no public way back

        config.disable_op_determinism()


@pytest.fixture
def here(monkeypatch, capsys):
    """`main.main` in this process and the given folder: what a finished process would be."""
    import main as front_door

    def run(folder, *arguments):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        try:
            code = front_door.main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        output = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run


@pytest.fixture
def unverified(monkeypatch):
    """Exports are not checked in a process of their own: for tests of something else."""
    from pipelines import exporting

    monkeypatch.setattr(exporting, "_verify", lambda *arguments: None)
