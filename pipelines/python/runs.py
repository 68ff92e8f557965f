"""A run that is started from Python: its folder, its data as files, and what it must leave as it was in the process."""

import contextlib
import json
import logging
import os
import random
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pipelines.python.errors import UserError
from pipelines.python.fitted import temporary_folder
from pipelines.runs import run_folder
from pipelines.support.files import check_folder, make_folders, written_beside

_TEMPORARY_NAME = "fit"
_ONE_TRAINING = threading.RLock()  # seeds and Keras's settings belong to the process


class Place:
    """The folder of a run: `runs/<task>/<run>/` in the current folder, or a temporary one that lives as long as this.

    Args:
        task: name in the registry.
        run: name of the run; None makes a temporary folder.

    Raises:
        UserError: the name cannot be that of a folder, or nothing can be written there.
    """

    def __init__(self, task: str, run: str | None):
        self.temporary = run is None
        self.runs = temporary_folder(self) if run is None else Path("runs").absolute()
        self.name = _TEMPORARY_NAME if run is None else run_folder.check_name("run", run)
        self.folder = self.runs / task / self.name
        check_folder(self.folder, "--run")

    @contextlib.contextmanager
    def opened(self) -> Iterator[Path]:
        """Yields the folder. If it is new and the training does not start, it is removed."""
        is_new = not self.folder.exists()
        make_folders(self.folder)
        try:
            yield self.folder
        finally:
            if is_new and not (self.folder / "checkpoints").exists():
                shutil.rmtree(self.folder, ignore_errors=True)


def write_table(path: Path, columns: dict[str, Sequence[str]]) -> str:
    """Writes columns of texts as JSON lines; returns the path as a str."""
    with written_beside(path, "wb") as file:
        for row in zip(*columns.values(), strict=True):
            line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
            file.write(line.encode("utf-8", "replace") + b"\n")
    return str(path)


def write_lines(path: Path, texts: Sequence[str]) -> str:
    """Writes each text as one line, with spaces for the line ends in it; returns the path as a str."""
    with written_beside(path, "wb") as file:
        file.writelines(" ".join(text.splitlines()).encode("utf-8", "replace") + b"\n" for text in texts)
    return str(path)


def write_text(path: Path, texts: Sequence[str]) -> str:
    """Writes the texts as one long text, each from the start of a line; returns the path as a str."""
    with written_beside(path, "wb") as file:
        file.writelines(text.encode("utf-8", "replace") + b"\n" for text in texts)
    return str(path)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Trains one model at a time, and restores afterwards what a training changes in the whole process.

    These are the random states of Python and NumPy, TensorFlow's deterministic mode and log, and Keras's dtype policy.

    Raises:
        UserError: Keras runs on another backend than TensorFlow.
    """
    with _ONE_TRAINING:
        _require_tensorflow()
        states = random.getstate(), np.random.get_state()
        policy = sys.modules["keras"].config.dtype_policy() if "keras" in sys.modules else None
        deterministic = "tensorflow" in sys.modules and _determinism().is_op_determinism_enabled()
        log = logging.getLogger("tensorflow")
        log.addFilter(_is_error)
        try:
            yield
        finally:
            log.removeFilter(_is_error)
            random.setstate(states[0])
            np.random.set_state(states[1])
            if policy is not None:
                sys.modules["keras"].config.set_dtype_policy(policy)
            if "tensorflow" in sys.modules and not deterministic:
                _determinism().disable_op_determinism()


def _is_error(record: logging.LogRecord) -> bool:
    """Whether a line of TensorFlow's log is an error.

    The others say nothing to a user: that files are written, and that the second training in a process is traced again.
    """
    return record.levelno >= logging.ERROR


def _require_tensorflow() -> None:
    backend = sys.modules["keras"].config.backend() if "keras" in sys.modules else "tensorflow"
    if backend != "tensorflow":
        raise UserError(
            f"Keras runs on {backend} in this process, and Unroll trains on TensorFlow: start a new process without "
            f"KERAS_BACKEND={os.environ.get('KERAS_BACKEND', backend)}"
        )


def _determinism():
    """TensorFlow's module with the deterministic mode. There is no public function that ends the mode."""
    from tensorflow.python.framework import config

    return config
