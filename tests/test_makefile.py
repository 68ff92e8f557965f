"""`make` says in one line why it can't."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def make(folder, *arguments, **environment):
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copy(ROOT / "requirements.txt", folder)
    # Under `make test` these are set, and would have this `make` speak as its child.
    outer = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON")}
    return subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True, env={**outer, **environment}, timeout=60
    )


def script(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", ["demo", "test"])
def test_a_python_that_is_too_old(tmp_path, target):
    process = make(tmp_path, target, f"PYTHON={script(tmp_path / 'bin' / 'python3.8', 'exit 1')}")
    assert process.returncode != 0
    assert process.stdout.strip().endswith("is not a Python 3.11, 3.12 or 3.13: name one with PYTHON=...")
    assert len(process.stdout.splitlines()) == 1


def test_no_python_at_all(tmp_path):
    process = make(tmp_path, "demo", "PYTHON=")
    assert process.stdout.strip() == "Unroll needs Python 3.11, 3.12 or 3.13: install one, or name it with PYTHON=..."


@pytest.mark.parametrize("system", ["MINGW64_NT-10.0 x86_64", "Darwin x86_64"])
def test_another_system(tmp_path, system):
    uname = script(tmp_path / "bin" / "uname", f"echo {system}")
    process = make(tmp_path, "demo", PATH=f"{uname.parent}:{os.environ['PATH']}")
    assert process.stdout.strip() == "Unroll runs on Linux and on Apple-silicon macOS; on Windows use WSL."


def test_every_requirement_is_pinned_and_has_its_reason():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        assert "==" in line.split("#")[0] and line.split("#")[1].strip(), line
