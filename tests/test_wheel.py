"""The package that `pip install .` makes, in an environment of its own."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pipelines.version import VERSION
from tests.command_line import ROOT
from tests.test_requirements import listed

PACKAGES = ("layers", "pipelines", "serving")
SOURCES = (*PACKAGES, "main.py", "unroll.py", "pyproject.toml", "requirements.txt", "README.md")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy: a build leaves files in the source folder."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    process = subprocess.run(command, cwd=folder / "source", capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (path,) = folder.glob("unroll-*.whl")
    return path


@pytest.fixture(scope="module")
def bin_folder(wheel, tmp_path_factory) -> Path:
    """The programs of a new environment with the wheel. The other packages are those of the tests: they are large."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(folder: Path, *command) -> str:
    """Runs a command in `folder`, without the checkout on Python's path; returns what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_wheel_has_every_file_of_the_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    modules = {path for path in files if path.suffix == ".py" and (path.parent / "__init__.py").exists()}
    data = {path for path in files if path.suffix not in (".py", ".pyc")}
    assert data
    assert {str(path.relative_to(ROOT)) for path in modules | data} <= names
    assert {"main.py", "unroll.py"} <= names and not any(name.startswith("tests/") for name in names)


def test_the_wheel_has_the_version_and_the_listed_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "unpacked")
    (distribution,) = importlib.metadata.distributions(path=[str(wheel.parent / "unpacked")])
    assert distribution.version == VERSION
    required = {str(Requirement(line)) for line in distribution.requires}
    assert required == set(map(str, listed("requirements.txt")))


def test_the_command_trains_and_predicts_in_the_current_folder(bin_folder, tmp_path):
    assert "usage: unroll " in run(tmp_path, bin_folder / "unroll", "--help")
    help_text = run(tmp_path, bin_folder / "unroll", "train", "nmt", "--help")
    assert "runs in the current folder" in " ".join(help_text.replace("│", " ").split())
    summary = run(tmp_path, bin_folder / "unroll", "train", "sentiment", "--epochs", "1", "--model", "bag")
    assert "unroll predict sentiment" in summary and "main.py" not in summary
    assert (tmp_path / "saved_models" / "sentiment-sample" / "1" / "saved_model.pb").is_file()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["sentiment"]
    code = (
        "import json, unroll\n"
        "classifier = unroll.load('saved_models/sentiment-sample')\n"
        "print(json.dumps([unroll.__file__, classifier.predict(['A wonderful film.']).tolist()]))"
    )
    path, labels = json.loads(run(tmp_path, bin_folder / "python", "-c", code))
    assert Path(path).is_relative_to(bin_folder.parent) and labels[0] in ("negative", "positive")
