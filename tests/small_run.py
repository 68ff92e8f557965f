"""Runs the small task of tests/pipelines/runs/conftest.py in a process of its own: `python small_run.py FOLDER`."""

import contextlib
import dataclasses
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.export import saved_model  # noqa: E402
from pipelines.support.quiet import import_tensorflow  # noqa: E402
from pipelines.task import TASKS  # noqa: E402
from tests.pipelines.runs.conftest import Entry, SmallTask, train  # noqa: E402


def run(folder: Path, moment: str | None = None) -> None:
    """Trains in a folder; the process kills itself when saved_model.py calls the function `moment`."""
    import_tensorflow()
    saved_model.verifier_process = contextlib.nullcontext
    saved_model._verify = lambda *arguments: None
    entry = dataclasses.replace(TASKS["classification"], name="small", data_kind="text", defaults={})
    TASKS["small"] = Entry(**vars(entry), module=SmallTask())
    if moment:
        setattr(saved_model, moment, lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
    train(folder)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
