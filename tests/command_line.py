"""How the tests of the command line call it."""

import os
import subprocess
import sys
from pathlib import Path

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


def assert_one_line(process, *parts):
    assert process.returncode == 2, process.stderr
    error = [line for line in lines_of(process.stderr) if line.startswith("error: ")]
    assert len(error) == 1 and error[0] == lines_of(process.stderr)[-1], process.stderr
    for part in parts:
        assert part in error[0]
    assert "Traceback" not in process.stderr
