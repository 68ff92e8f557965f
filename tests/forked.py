"""Processes that have imported TensorFlow already: they start in a tenth of the time, and can be killed.

They are forked from a process that has imported TensorFlow and has computed nothing yet. After the first operation,
TensorFlow has threads, which a fork does not copy, and would wait for them. All these processes order sets of strings
in the same way; what must not depend on that order needs a process of its own.
"""

import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """Runs `function(*arguments)` in a process of its own, which ends with the number that the function returns."""

    def __init__(self, function: Callable[..., int | None], *arguments):
        descriptor, self._errors = tempfile.mkstemp()
        os.close(descriptor)
        self._process = _context.Process(target=_run, args=(self._errors, function, arguments))
        self._process.start()

    def poll(self) -> int | None:
        """Returns the exit status as `subprocess.Popen.poll` does."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Sends a signal."""
        os.kill(self._process.pid, number)

    def finish(self) -> tuple[int, str]:
        """Waits for the end; returns the exit status and what was printed on stderr."""
        self._process.join(600)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        errors = Path(self._errors).read_text()
        Path(self._errors).unlink()
        return self._process.exitcode, errors


def _run(errors: str, function: Callable[..., int | None], arguments: tuple) -> None:
    for path, descriptor in ((os.devnull, 1), (errors, 2)):
        file = os.open(path, os.O_WRONLY)
        os.dup2(file, descriptor)
        os.close(file)
    sys.exit(function(*arguments))


class ForkedVerifier:
    """Takes the place of the fresh process in which pipelines/export/saved_model.py verifies an export."""

    def __init__(self):
        self.stdin = io.StringIO()

    def communicate(self, rest: str) -> tuple[str, str]:
        """Verifies as the script verify.py does, and sets `returncode`; returns what was printed."""
        self.returncode, errors = Forked(_verify, self.stdin.getvalue() + rest).finish()
        return "", errors


@contextlib.contextmanager
def forked_verifier():
    """Takes the place of `saved_model.verifier_process`."""
    yield ForkedVerifier()


def _verify(request: str) -> None:
    from pipelines.export import verify

    for name in list(sys.modules):  # the script refuses to run beside our code
        if name.partition(".")[0] in ("pipelines", "layers", "main", "unroll"):
            del sys.modules[name]
    sys.stdin = io.StringIO(request)
    verify.main()
