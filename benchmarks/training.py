"""Trainings with main.py, for the other files of this folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def trained(*command) -> dict:
    """What `main.py train COMMAND --json` says of its run."""
    whole = [sys.executable, ROOT / "main.py", "train", *command, "--json"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.run([str(part) for part in whole], stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(process.stdout)


def kept(path: Path, measure) -> dict:
    """What `measure()` gives, measured once."""
    if not path.exists():
        path.write_text(json.dumps(measure()))
    return json.loads(path.read_text())
