"""What all tests share. TensorFlow is imported without its log lines, and only if a test needs it."""

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from pipelines.export.exported import Exported
from pipelines.support.quiet import import_tensorflow
from tests.forked import forked_verifier

ROOT = Path(__file__).resolve().parent.parent
# Real corpora, for measurements: tests that use them skip where they are absent.
CORPORA = ROOT.parent / "shared" / "data"
# By default, Ray's processes have a low priority, and would wait for the tests that run beside them.
os.environ.setdefault("RAY_worker_niceness", "0")


class TensorFlowInSilence(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports TensorFlow and Keras as the pipelines do, when a test is the first to import one of them."""

    def find_spec(self, name, path=None, target=None):
        if name not in ("tensorflow", "keras"):
            return None
        sys.meta_path.remove(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # while tests are collected, warnings are errors
            import_tensorflow()
        self._spec = sys.modules[name].__spec__
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return sys.modules[spec.name]

    def exec_module(self, module):
        module.__spec__ = self._spec


if os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow":
    sys.meta_path.insert(0, TensorFlowInSilence())
elif os.environ["KERAS_BACKEND"] == "jax":
    # JAX compiles each operation and each loop: compile quickly rather than well, and keep what is compiled for the
    # next run.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".pytest_cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def pytest_collection_modifyitems(items):
    """Runs the slow files first, so that at the end no worker waits long for another one."""
    slow_files = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in slow_files)


def pytest_collection_finish():
    gc.freeze()  # see `stop_scanning_what_stays`


@pytest.fixture(scope="session")
def imdb_file() -> Path:
    path = CORPORA / "imdb" / "train.csv.xz"
    if not path.exists():
        pytest.skip("the IMDB reviews are not on this machine")
    return path


@pytest.fixture(autouse=True)
def restore_op_determinism():
    """Ends the deterministic mode that a training in this process starts: in it, Keras compiles nothing with XLA."""
    yield
    if "tensorflow" in sys.modules:
        from tensorflow.python.framework import config  # there is no public function to end it

        config.disable_op_determinism()


@pytest.fixture(autouse=True)
def restore_logging():
    """Undoes what `serve` and `tune` do to the loggers of this process.

    pytest captures a logger without propagation twice, and a database that Optuna makes disables all existing loggers.
    """
    yield
    for name in ("unroll.serving", "uvicorn", "grpc"):
        log = logging.getLogger(name)
        log.handlers, log.propagate, log.disabled = [], True, False


@pytest.fixture(autouse=True, scope="module")
def forget_generated_modules():
    """Removes the thousands of modules that AutoGraph generates: Hypothesis reads the source of every loaded module."""
    yield
    for name in [name for name in sys.modules if name.startswith("__autograph_generated_file")]:
        del sys.modules[name]


@pytest.fixture(autouse=True, scope="module")
def stop_scanning_what_stays():
    """Excludes what the imports and the finished modules leave from later garbage collections.

    That is millions of objects, such as Keras's and TensorFlow's caches, and each collection would read them all.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def load_each_export_once():
    """Commands that tests run in this process share what they load: loading takes seconds."""
    load = Exported.load

    @functools.lru_cache(maxsize=8)
    def load_files(folder, files):
        return load(Exported("", 0, folder))

    def load_once(self):
        folder = self.path.resolve()
        files = ((file, file.stat()) for file in sorted(folder.rglob("*")))
        return load_files(folder, tuple((file, stat.st_size, stat.st_mtime_ns, stat.st_ino) for file, stat in files))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exported, "load", load_once)
        yield


@pytest.fixture(autouse=True, scope="session")
def verify_exports_in_forked_processes():
    """Exports of this process are verified in processes that have imported TensorFlow: importing it takes seconds.

    tests/pipelines/export has the tests of the fresh process.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "tensorflow" in sys.modules:  # a test file imports it
            from pipelines.export import saved_model

            fresh = saved_model.verifier_process
            patch.setattr(saved_model, "verifier_process", forked_verifier)
            yield fresh
        else:
            yield None


@pytest.fixture
def fresh_verifier(verify_exports_in_forked_processes, monkeypatch):
    """Exports are verified in a fresh process, as they are outside of the tests."""
    from pipelines.export import saved_model

    if verify_exports_in_forked_processes:
        monkeypatch.setattr(saved_model, "verifier_process", verify_exports_in_forked_processes)


@pytest.fixture
def run_main(monkeypatch, capsys):
    """Runs `main.main` in this process and the given folder; returns what a finished process would return."""
    import main

    def run(folder, *arguments):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        try:
            code = main.main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        output = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run


@pytest.fixture
def without_verification(monkeypatch):
    """Exports are not checked in a fresh process: for tests of something else."""
    from pipelines.export import saved_model

    monkeypatch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
    monkeypatch.setattr(saved_model, "_verify", lambda *arguments: None)


@pytest.fixture
def small_samples(monkeypatch):
    """The embedded samples are a few seconds of training: for tests of what comes after it."""
    from pipelines.data import pairs, sample_reviews, sample_tags, texts

    generate, text = sample_reviews.generate, texts.sample_text()[:100_000]
    monkeypatch.setattr(
        sample_reviews, "generate", lambda num_reviews=500, seed=1: generate(min(num_reviews, 500), seed)
    )
    monkeypatch.setattr(sample_tags, "_NUM_TRAIN", 500)
    monkeypatch.setattr(pairs, "SAMPLE_SIZE", 500)
    monkeypatch.setattr(texts, "sample_text", lambda: text)
