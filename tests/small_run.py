"""Runs the small task of tests/pipelines/runs/test_run.py in its own process: `python small_run.py [FUNCTION] FOLDER`.

The process kills itself when saved_model.py calls FUNCTION.
"""

import contextlib
import dataclasses
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.support.quiet import import_tensorflow  # noqa: E402

import_tensorflow()

from pipelines.export import saved_model  # noqa: E402
from pipelines.task import TASKS  # noqa: E402
from tests.pipelines.runs.test_run import Entry, SmallTask, train  # noqa: E402

saved_model._verifier = contextlib.nullcontext
saved_model._verify = lambda *arguments: None
entry = dataclasses.replace(TASKS["classification"], name="small", data_kind="text", defaults={})
TASKS["small"] = Entry(**vars(entry), module=SmallTask())
if len(sys.argv) > 2:
    setattr(saved_model, sys.argv[1], lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
train(Path(sys.argv[-1]))
