"""The Ray cluster of `--ray ADDRESS|local`: what it needs, how to connect, and why a connection fails."""

import contextlib
import functools
import gc
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata, util
from typing import Any

from pipelines.support import machine, quiet
from pipelines.support.errors import UserError
from pipelines.support.installation import ROOT, is_checkout, ray_installation

LOCAL = "local"
_CLIENT = "ray://"
_OBJECT_STORE = 512 * 2**20  # bytes, of a local cluster: what is on its way between tasks
_TOO_SLOW = "timed out during startup"  # in what Ray says of it
_TIMEOUT = 5  # seconds, to reach the address
_MAX_PER_PROCESSOR = 2  # processes on this machine
_NOT_SENT = [".git", ".venv", "/runs", "/saved_models", "/tests", "/docs", "/benchmarks", "__pycache__"]


def check(address: str) -> None:
    """Checks that Ray is installed and that somebody answers at the address. Imports neither Ray nor TensorFlow.

    Args:
        address: "local"; "auto", the cluster of this machine; "HOST:PORT" of a cluster's head; or "ray://HOST:PORT" of
            its client server.

    Raises:
        UserError: Ray is not installed, the address has another form, or nothing answers there.
    """
    if util.find_spec("ray") is None:
        raise UserError(f"--ray needs Ray, which is not installed: `{ray_installation()}`")
    if address in (LOCAL, "auto"):
        return
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UserError(f"--ray {address}: give local, auto, HOST:PORT of the cluster's head, or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT).close()
    except OSError as error:
        raise UserError(
            f"--ray {address}: nothing answers there ({error.strerror or error}): is the cluster up? `ray start --head`"
            " starts one, --ray local needs none"
        ) from None


def check_local_processes(flag: str, count: int) -> None:
    """Checks that `count` processes, each of which uses a whole processor, are not too many for this machine.

    Args:
        flag: that gives the number, for the error.

    Raises:
        UserError: there are more than two for each processor.
    """
    cores = machine.processor()["cores"]
    most = _MAX_PER_PROCESSOR * cores
    if count > most:
        raise UserError(
            f"{flag} {count}: this machine has {cores} processors: give at most {most}, or the --ray ADDRESS of a "
            "cluster"
        )


@contextlib.contextmanager
def connected(address: str, num_cpus: int | None = None) -> Iterator[None]:
    """Connects to a cluster for as long as the context lasts; "local" starts one on this machine and stops it.

    In the context, nothing that is printed to stdout appears.

    The machines of a cluster need the packages of requirements.txt and requirements-ray.txt; a checkout's code is sent
    to them.

    Args:
        address: see `check`.
        num_cpus: processors that a local cluster may use; by default those that this process may use.

    Raises:
        UserError: as `check`; or the cluster has another version of Ray or Python.
    """
    check(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's makers
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # today's default warns
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of its C++ code, which writes to stderr
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with quiet.capture_stderr_descriptor():
        problem = _connect(address, num_cpus)
    if problem:
        raise UserError(f"--ray {address}: {problem}")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray's handler ends the process by SIGABRT
    import ray

    # Ray prints there, also while it stops, the logs of machines and processes that die. What they mean is raised.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            yield
        finally:
            ray.shutdown()


def _connect(address: str, num_cpus: int | None) -> str | None:
    """Connects to a cluster. Returns why it cannot; None if it has."""
    import ray

    # Warnings, of its default settings, are of no use to the user; errors are also raised.
    settings = {"log_to_driver": False, "logging_level": "critical"}
    try:
        if address == LOCAL:
            start = functools.partial(
                ray.init,
                LOCAL,
                include_dashboard=False,
                num_cpus=num_cpus or machine.processor()["cores"],
                object_store_memory=_OBJECT_STORE,
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
                **settings,
            )
            started_in_time(start)
        else:
            ray.init(address, runtime_env=_code(), **settings)
    except (RuntimeError, ConnectionError, ray.exceptions.RayError) as error:
        return _reason(error)
    return None


def started_in_time(start: Callable[[], Any]) -> Any:
    """Calls a function that starts processes of Ray, and returns what it returns.

    On a busy machine, they sometimes do not start in Ray's 30 s. Then they are stopped, and it is called once more.

    Raises:
        RuntimeError: they did not start either time.
    """
    for _ in range(2):
        before = set(_ray_processes())
        try:
            return start()
        except Exception as error:  # Ray raises no narrower one
            if _TOO_SLOW not in str(error):
                raise
            _kill(set(_ray_processes()) - before)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of Ray's objects for the processes that were stopped
            gc.collect()
    raise RuntimeError("its processes did not start within 30 s, twice: is this machine busy, or short of memory?")


def _kill(processes: set) -> None:
    import psutil

    for process in processes:
        process.kill()
    psutil.wait_procs(processes)


def _ray_processes() -> list:
    """Returns Ray's processes that this process has started."""
    import psutil  # Ray brings it

    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has ended
            if "ray" in " ".join(child.cmdline()):
                found.append(child)
    return found


def versions(*others: str) -> dict[str, str]:
    """Returns package -> version of what all machines of a cluster must have alike.

    Args:
        others: packages that the task needs besides those that all tasks need.
    """
    names = ("ray", "tensorflow", "tensorflow-text", "keras", *others)
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def difference(expected: dict[str, str]) -> str | None:
    """Returns the error of a machine with other packages than that of the command; None if it has the same.

    Args:
        expected: `versions` of the machine of the command.
    """
    found = versions(*expected)
    different = [
        f"{name} {found.get(name, 'is missing')} (here {version})"
        for name, version in expected.items()
        if found.get(name) != version
    ]
    if not different:
        return None
    what = "requirements.lock and requirements-ray.txt" if is_checkout() else "versions"
    return (
        f"the machine {this_machine()} of the cluster has {', '.join(different)}: install the same {what} on all "
        "machines"
    )


def this_machine() -> str:
    """Returns the address that this machine has in the cluster."""
    import ray

    return ray.util.get_node_ip_address()


def _code() -> dict:
    """Returns the environment of a cluster's processes: the code of this checkout."""
    return {"working_dir": str(ROOT), "excludes": _NOT_SENT} if is_checkout() else {}


def _reason(error: BaseException) -> str:
    """Returns in one line why a connection failed, and what to do."""
    errors = [error]
    while cause := errors[-1].__cause__ or errors[-1].__context__:
        errors.append(cause)
    text = " ".join(" ".join(str(each).split()) for each in errors)
    if "Could not find any running Ray instance" in text:  # the address is auto
        return "no cluster runs on this machine: `ray start --head` starts one, --ray local needs none"
    if "ersion mismatch" in text:
        return f"the cluster and this machine have different versions: {text}"
    if "no authentication token was found" in text:
        return (
            "RAY_AUTH_MODE is token on this machine, which has no token: copy the file with that of the cluster, and "
            "name it in RAY_AUTH_TOKEN_PATH"
        )
    if "InvalidAuthToken" in text and os.environ.get("RAY_AUTH_MODE", "").lower() == "token":
        return (
            "the cluster has another token than this machine: copy the file with that of the cluster, and name it in "
            "RAY_AUTH_TOKEN_PATH"
        )
    if "InvalidAuthToken" in text:
        return (
            "the cluster asks for a token: set RAY_AUTH_MODE=token, copy the file with its token, and name it in "
            "RAY_AUTH_TOKEN_PATH"
        )
    return (str(error).strip() or type(error).__name__).splitlines()[0]
