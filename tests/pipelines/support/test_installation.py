import sys
import tomllib
from pathlib import Path

import pytest

from pipelines.support import installation

ROOT = installation.ROOT


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """The code lies in a folder without pyproject.toml, and the current folder is another one."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(installation, "ROOT", tmp_path / "site-packages")


def test_the_folders_of_a_checkout_are_beside_main():
    assert (installation.default_folder("runs").parent / "main.py").is_file()


def test_python_finds_a_checkout_in_its_folder():
    assert installation.IMPORT_FOLDER == ROOT


def test_the_folders_of_an_installation_are_in_the_current_folder(installed):
    assert installation.default_folder("saved_models") == Path.cwd() / "saved_models"


@pytest.mark.parametrize(
    ("called", "name", "typed"),
    [
        ("/venv/bin/unroll", "unroll", "unroll"),
        ("main.py", "main.py", "python main.py"),
        ("-c", "main.py", "python main.py"),
    ],
)
def test_a_checkout_has_the_name_that_was_called(monkeypatch, called, name, typed):
    monkeypatch.setattr(sys, "argv", [called])
    assert (installation.called_name(), installation.shell_command()) == (name, typed)


def test_an_installation_is_called_unroll(installed, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert (installation.called_name(), installation.shell_command()) == ("unroll", "unroll")


@pytest.mark.parametrize("extra", ["encoders", "ray"])
def test_what_installs_optional_packages(extra):
    assert installation.installation(extra) == f"pip install -r requirements-{extra}.txt"
    assert (installation.ROOT / f"requirements-{extra}.txt").is_file()


@pytest.mark.parametrize("extra", ["encoders", "ray"])
def test_what_installs_optional_packages_beside_an_installation(installed, extra):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert extras["tool"]["setuptools"]["dynamic"]["optional-dependencies"][extra] == {
        "file": [f"requirements-{extra}.txt"]
    }
    assert installation.installation(extra) == f"pip install '.[{extra}]'"


def test_what_installs_ray():
    assert installation.ray_installation() == "pip install -r requirements-ray.txt"
