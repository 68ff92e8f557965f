"""The package that `pip install .` makes, in an environment of its own."""

import ast
import contextlib
import importlib.metadata
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import zipfile
from importlib import util
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import unroll
from pipelines.support.version import VERSION
from tests.command_line import ROOT
from tests.test_requirements import listed

PACKAGES = ("layers", "pipelines", "serving")
NAMES = (*PACKAGES, "main")  # of a checkout, which an installation must leave to other packages
REQUIREMENTS = ("requirements.txt", "requirements-encoders.txt", "requirements-ray.txt")
SOURCES = (*PACKAGES, "main.py", "unroll.py", "setup.py", "pyproject.toml", *REQUIREMENTS, "README.md")
TEXTS = ["A wonderful film.", "It is dull."]

pytestmark = pytest.mark.long


def copy_sources(folder: Path) -> Path:
    """A build leaves files in the source folder."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built where an earlier version has been built, whose wheel had other names."""
    folder = tmp_path_factory.mktemp("wheel")
    left = folder / "source" / "build" / "lib" / "pipelines"
    left.mkdir(parents=True)
    (left / "old.py").touch()
    copy_sources(folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    process = subprocess.run(command, cwd=folder / "source", capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (path,) = folder.glob("unroll-*.whl")
    return path


def install(folder: Path, *what) -> Path:
    """Makes an environment; returns its programs. The other packages are those of the tests: they are large."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    uv, python = Path(sys.executable).with_name("uv"), folder / "bin" / "python"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", "--python", python]
    subprocess.run([*command, *what], check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def bin_folder(wheel, tmp_path_factory) -> Path:
    """The programs of a new environment with the wheel."""
    return install(tmp_path_factory.mktemp("environment"), wheel)


def environment() -> dict[str, str]:
    """Returns the variables of this process without the checkout on Python's path."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(folder: Path, *command) -> str:
    """Runs a command in `folder`; returns what it prints."""
    process = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment(), capture_output=True, text=True, timeout=600
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def golden(tmp_path_factory) -> Path:
    """A folder of exports with `sentiment-sample`, of version 0.9.0."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(ROOT / "tests" / "golden" / "0.9.0" / "sentiment.tar.xz") as archive:
        archive.extractall(
            folder, [each for each in archive if each.name.startswith("sentiment-sample/")], filter="data"
        )
    return folder


def test_unroll_is_the_only_name_that_the_wheel_installs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        declared = archive.read(f"unroll-{VERSION}.dist-info/top_level.txt").decode().split()
    assert {name.split("/")[0] for name in names} == {"unroll", f"unroll-{VERSION}.dist-info"}
    assert declared == ["unroll"]


def test_the_wheel_has_every_file_of_the_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    modules = {path for path in files if path.suffix == ".py" and (path.parent / "__init__.py").exists()}
    data = {path for path in files if path.suffix not in (".py", ".pyc")}
    assert data
    assert {".css", ".html", ".js", ".json", ".proto", ".yaml", ".yml"} == {path.suffix for path in data}
    others = {"unroll/__init__.py", "unroll/__main__.py"}
    files = {name for name in names if name.startswith("unroll/")}
    assert files == {f"unroll/{path.relative_to(ROOT)}" for path in modules | data} | others


def test_the_wheel_names_no_module_as_a_checkout_does(wheel):
    imported, strings = set(), set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            for node in ast.walk(ast.parse(archive.read(name))) if name.endswith(".py") else ():
                if isinstance(node, ast.ImportFrom):
                    imported.add(node.module.split(".")[0])
                elif isinstance(node, ast.Import):
                    imported |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.Constant) and re.fullmatch(r"(pipelines|serving)\.[\w.]*", str(node.value)):
                    strings.add((name, node.value))
    assert "unroll" in imported and not imported & set(NAMES)
    # This module reads pickles with the names of a checkout.
    assert {name for name, _ in strings} == {"unroll/pipelines/tune/study.py"}, "setup.py changes no strings"


def test_the_wheel_has_the_version_and_the_listed_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "unpacked")
    (distribution,) = importlib.metadata.distributions(path=[str(wheel.parent / "unpacked")])
    assert distribution.version == VERSION
    required = [Requirement(line) for line in distribution.requires]
    assert {str(each) for each in required if not each.marker} == set(map(str, listed("requirements.txt")))
    assert {each.name for each in required if each.marker} == {
        each.name for extra in REQUIREMENTS[1:] for each in listed(extra)
    }


IMPORT = """
import importlib, pkgutil, sys, unroll

assert not {"tensorflow", "keras"} & set(sys.modules)
for module in pkgutil.walk_packages(unroll.__path__, "unroll."):
    if module.name != "unroll.__main__":
        importlib.import_module(module.name)
for name in %r:
    assert name not in sys.modules and importlib.util.find_spec(name) is None, name
"""


def test_every_module_can_be_imported_and_none_has_the_name_that_it_has_in_a_checkout(bin_folder, tmp_path):
    run(tmp_path, bin_folder / "python", "-c", IMPORT % (NAMES,))


@pytest.mark.parametrize("program", ["unroll", "python -m unroll"])
def test_the_command_has_help(bin_folder, program, tmp_path):
    name, *arguments = program.split()
    assert "usage: unroll " in run(tmp_path, bin_folder / name, *arguments, "--help")
    help_text = run(tmp_path, bin_folder / name, *arguments, "train", "nmt", "--help-all")
    assert "runs in the current folder" in " ".join(help_text.replace("│", " ").split())


def test_the_glossary_finds_the_code_of_a_term(bin_folder, tmp_path):
    assert "layers/lstm_gru.py, lines " in run(tmp_path, bin_folder / "unroll", "learn", "glossary", "LSTM")


LOAD = """
import json, sys, unroll

classifier = unroll.load("saved_models/sentiment-sample")
names = {name.split(".")[0] for name in sys.modules}
print(json.dumps([unroll.__file__, classifier.predict(["A wonderful film."]).tolist(), sorted(names & set(%r))]))
"""


def test_the_command_trains_and_predicts_in_the_current_folder(bin_folder, tmp_path):
    flags = ["--model", "linear", "--max-characters", "0", "--no-baseline"]
    summary = run(tmp_path, bin_folder / "unroll", "train", "sentiment", *flags)
    assert "unroll predict sentiment" in summary and "main.py" not in summary
    assert (tmp_path / "saved_models" / "sentiment-sample" / "1" / "saved_model.pb").is_file()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["sentiment"]
    path, labels, others = json.loads(run(tmp_path, bin_folder / "python", "-c", LOAD % (NAMES,)))
    assert Path(path).is_relative_to(bin_folder.parent) and labels[0] in ("negative", "positive")
    assert others == []


@contextlib.contextmanager
def served(folder: Path, program: list, *flags):
    """Starts `serve` in `folder`; gives the address of its REST API."""
    command = [*program, "serve", "--rest-port", "0", "--grpc-port", "0", *flags]
    process = subprocess.Popen(
        list(map(str, command)), cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        yield next(re.search(r"(http://\S+),", line)[1] for line in process.stderr if line.startswith("serving "))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def test_the_command_serves_models_and_its_page(bin_folder, golden):
    with served(golden.parent, [bin_folder / "python", "-m", "unroll"], "--saved-models", golden) as address:
        request = json.dumps({"instances": TEXTS}).encode()
        with urllib.request.urlopen(f"{address}/v1/models/sentiment-sample:predict", request) as response:
            assert len(json.load(response)["predictions"]) == len(TEXTS)
        for path, part in (("", b"<html"), ("page/page.js", b"document"), ("page/page.css", b"{")):
            with urllib.request.urlopen(f"{address}/{path}") as response:
                assert part in response.read(), path


def test_a_search_starts_its_processes(bin_folder, tmp_path):
    """Also where the current folder has a module of the name `unroll`: a checkout has one."""
    (tmp_path / "unroll.py").write_text("raise ImportError('the module of the current folder')")
    rows = (f"the {('dull', 'fine')[i % 2]} film {i},{i % 2}\n" for i in range(100))
    (tmp_path / "texts.csv").write_text("".join(["text,label\n", *rows]))
    flags = ["--data", "texts.csv", "--model", "linear", "--grid", "max-ngrams=100,200", "--max-characters", "0"]
    summary = run(tmp_path, bin_folder / "unroll", "tune", "sentiment", *flags)
    assert "max_ngrams 100" in summary and "max_ngrams 200" in summary


@pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed")
def test_processes_of_ray_find_the_package(bin_folder, golden, tmp_path):
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    model = ["--saved-models", golden, "--name", "sentiment-sample"]
    files = ["--input", "texts.txt", "--output", "labelled", "--ray", "local"]
    run(tmp_path, bin_folder / "unroll", "predict", "sentiment", *model, *files)
    (part,) = (tmp_path / "labelled").glob("part-*.csv")
    assert len(part.read_text().splitlines()) == 1 + len(TEXTS)


KERAS = """
import sys
import keras
import numpy as np
from unroll.layers import MaskedMeanPooling

model = keras.saving.load_model(sys.argv[1])
assert type(model.layers[-1]).__module__.startswith("unroll.layers."), type(model.layers[-1])
np.save(sys.argv[2], model(np.load(sys.argv[2])))
model.save(sys.argv[3])
"""


def test_keras_files_are_those_of_a_checkout(bin_folder, tmp_path):
    import keras
    import numpy as np

    from layers import LearnedPositionalEmbedding, MaskedMeanPooling, TransformerEncoderBlock

    ids = keras.Input((6,), dtype="int32")
    mask = keras.ops.not_equal(ids, 0)
    vectors = LearnedPositionalEmbedding(8)(keras.layers.Embedding(10, 4)(ids))
    outputs = MaskedMeanPooling()(TransformerEncoderBlock(2, 8)(vectors, mask=mask), mask=mask)
    model = keras.Model(ids, outputs)
    model.save(tmp_path / "model.keras")
    rows = np.array([[3, 4, 5, 0, 0, 0], [1, 2, 3, 4, 5, 6]], dtype="int32")
    np.save(tmp_path / "values.npy", rows)
    files = [tmp_path / name for name in ("model.keras", "values.npy", "again.keras")]
    run(tmp_path, bin_folder / "python", "-c", KERAS, *files)
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), model(rows), atol=1e-5)
    again = keras.saving.load_model(tmp_path / "again.keras")
    assert type(again.layers[-1]) is MaskedMeanPooling
    np.testing.assert_allclose(again(rows), model(rows), atol=1e-6)


PICKLES = """
import pickle, sys

with open(sys.argv[1], "rb") as file:
    classifier, others = pickle.load(file)
import unroll
assert all(type(estimator) is getattr(unroll, type(estimator).__name__) for estimator in (classifier, *others))
print(",".join(classifier.predict(sys.argv[3:])))
with open(sys.argv[2], "wb") as file:
    pickle.dump((classifier, others), file)
"""


class Recorder(pickle.Unpickler):
    """Records the modules that a pickle names."""

    def find_class(self, module, name):
        self.modules.add(module.split(".")[0])
        return super().find_class(module, name)


def unpickled(path: Path):
    """Loads a pickle that names no module of Unroll but `unroll`."""
    with open(path, "rb") as file:
        recorder = Recorder(file)
        recorder.modules = set()
        content = recorder.load()
    assert "unroll" in recorder.modules and not recorder.modules & set(NAMES)
    return content


def test_pickles_are_those_of_a_checkout(bin_folder, golden, tmp_path):
    classifier = unroll.load(golden / "sentiment-sample")
    names = [name for name in unroll.__all__ if name[0].isupper() and name not in ("HubEncoder", "UserError")]
    others = [getattr(unroll, name)() for name in names]
    assert len(others) == 5
    files = [tmp_path / name for name in ("checkout.pickle", "installed.pickle")]
    files[0].write_bytes(pickle.dumps((classifier, others)))
    labels = run(tmp_path, bin_folder / "python", "-c", PICKLES, *files, *TEXTS).strip().split(",")
    assert labels == classifier.predict(TEXTS).tolist()
    for path in files:
        again, others = unpickled(path)
        assert type(again) is unroll.TextClassifier
        assert [type(estimator) for estimator in others] == [getattr(unroll, type(each).__name__) for each in others]
    assert again.predict(TEXTS).tolist() == labels  # of the pickle that the installation has written


def test_an_editable_installation_is_the_checkout(tmp_path):
    (tmp_path / "source").mkdir()
    programs = install(tmp_path / "environment", "--editable", copy_sources(tmp_path / "source"))
    for program in ([programs / "unroll"], [programs / "python", "-m", "unroll"]):
        assert run(tmp_path, *program, "--version") == f"Unroll {VERSION}\n"
    code = "import unroll, pipelines; print(unroll.__file__)"
    assert Path(run(tmp_path, programs / "python", "-c", code).strip()) == tmp_path / "source" / "unroll.py"
