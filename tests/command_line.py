"""How the tests of the command line call it."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def lines_of(text):
    return [line for line in text.splitlines() if line.strip()]


def where(place):
    return ["--runs", place / "runs", "--saved-models", place / "saved"]


def main(folder, *arguments, input=None, **environment):
    """A real process."""
    command = [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]
    env = {**os.environ, "HOME": str(folder), "COLUMNS": "100", **environment}
    return subprocess.run(command, capture_output=True, text=True, input=input, env=env, cwd=folder, timeout=300)


def train_here(folder, *arguments):
    """`main.main` in this process, without the check of the export in a fresh one, which takes long."""
    import main
    from pipelines.export import saved_model

    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        contextlib.chdir(folder),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
        patch.setattr(saved_model, "_verify", lambda *arguments: None)
        code = main.main([str(argument) for argument in arguments])
    output, errors = (file.buffer.getvalue().decode() for file in (stdout, stderr))
    return subprocess.CompletedProcess(arguments, code, output, errors)


def assert_one_line(process, *parts):
    assert process.returncode == 2, process.stderr
    error = [line for line in lines_of(process.stderr) if line.startswith("error: ")]
    assert len(error) == 1 and error[0] == lines_of(process.stderr)[-1], process.stderr
    for part in parts:
        assert part in error[0]
    assert "Traceback" not in process.stderr
