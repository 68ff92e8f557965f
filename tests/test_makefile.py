"""`make` reports in one line why it cannot set up the environment, and the lists of packages are complete."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.tiny_runs import RUNS

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-encoders.txt",
    "requirements-ray.txt",
    "requirements-docs.txt",
    "requirements-test-all.txt",
    "requirements-test-encoders.txt",
)
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-ray.lock",
    "requirements-encoders.lock",
    "requirements-docs.lock",
)


def make(folder, *arguments, **environment):
    for name in ("Makefile", *REQUIREMENTS, *LOCKS):
        shutil.copy(ROOT / name, folder)
    # Under `make test` these are set; with them this `make` would print the lines of a child of that one.
    inherited = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON")
    outer = {name: value for name, value in os.environ.items() if name not in inherited}
    return subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True, env={**outer, **environment}, timeout=60
    )


def script(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", ["demo", "check", "test", "test-all", "test-next", "docs"])
def test_a_python_that_is_too_old(tmp_path, target):
    process = make(tmp_path, target, f"PYTHON={script(tmp_path / 'bin' / 'python3.8', 'exit 1')}")
    assert process.returncode != 0
    assert process.stdout.strip().endswith("is not a Python 3.11, 3.12 or 3.13: name one with PYTHON=...")
    assert len(process.stdout.splitlines()) == 1


def test_the_parts_of_all_tests_have_every_file():
    text = (ROOT / "Makefile").read_text()
    assert '$(PYTEST) -m "not exhaustive" tests --ignore=tests/pipelines ||' in text
    patterns = re.findall(r"\$\(wildcard (tests/pipelines/\S+)\)", text)
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    assert found == sorted(path for path in (ROOT / "tests" / "pipelines").iterdir() if not path.name.startswith("__"))


def test_no_python_at_all(tmp_path):
    process = make(tmp_path, "demo", "PYTHON=")
    assert process.stdout.strip() == "Unroll needs Python 3.11, 3.12 or 3.13: install one, or name it with PYTHON=..."


@pytest.mark.parametrize("system", ["MINGW64_NT-10.0 x86_64", "Darwin x86_64"])
def test_an_unsupported_system(tmp_path, system):
    uname = script(tmp_path / "bin" / "uname", f"echo {system}")
    process = make(tmp_path, "demo", PATH=f"{uname.parent}:{os.environ['PATH']}")
    assert process.stdout.strip() == "Unroll runs on Linux and on Apple-silicon macOS; on Windows use WSL."


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_and_has_its_reason(name):
    lines = (ROOT / name).read_text().splitlines()
    requirements = [line for line in lines if not line.startswith(("#", "-r "))]
    assert requirements
    for line in requirements:
        package, _, reason = line.partition("#")
        assert "==" in package and reason.strip(), line


def test_test_all_contains_test_and_the_continuous_integration_runs_it():
    listed = subprocess.run(["make", "-n", "-C", ROOT, "test-all"], capture_output=True, text=True, check=True).stdout
    parts = [part for part in re.findall(r"-m pytest --numprocesses=2 (.*)", listed) if "any_backend" not in part]
    assert len(parts) == 3 and all(part.startswith('-m "not exhaustive" tests') for part in parts)
    assert "make test-all" in (ROOT / ".ci" / "run").read_text()


def test_what_test_all_leaves_out_has_a_target():
    command = ["make", "-n", "-C", ROOT, "test-exhaustive"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "-m pytest --numprocesses=2 -m exhaustive\n" in listed


def test_test_next_has_an_environment_of_its_own_with_the_next_keras():
    listed = subprocess.run(["make", "-n", "-C", ROOT, "test-next"], capture_output=True, text=True, check=True).stdout
    lines = listed[listed.index(".venv-next with") :].replace("\\\n", " ").splitlines()
    assert "--require-hashes -r requirements-dev.lock" in listed
    assert [line for line in lines if "uninstall" in line and line.endswith(" keras")]
    assert [line for line in lines if line.endswith("--no-deps --pre --upgrade keras-nightly")]
    *_, tests, runs = lines[: [i for i, line in enumerate(lines) if "replay.py" in line][0] + 1]
    assert tests.startswith(".venv-next/bin/python -m pytest") and tests.endswith(" tests/layers")
    names = runs.partition("--only ")[2].partition(" --output")[0].split()
    assert [RUNS[name][0] for name in names] == ["char-lm", "sentiment"]


def test_test_next_may_fail_and_its_environment_is_cleaned():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^test-next: .*\n((?:\t.*\n)+)", text, re.MULTILINE)[1]
    assert [line[:2] for line in recipe.splitlines()[-2:]] == ["\t-", "\t-"] and "may fail" in recipe
    assert not re.search(r"^[\w-]+:.*\btest-next\b", text, re.MULTILINE)  # no other target needs it
    assert " .venv-next " in text.partition("\nclean:\n")[2]
    assert ".venv-next" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
