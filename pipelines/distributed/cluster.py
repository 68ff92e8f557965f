"""The Ray cluster of `--ray ADDRESS|local`: what it needs, how to connect, and why a connection fails."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from importlib import metadata, util

from pipelines.support import machine
from pipelines.support.errors import UserError
from pipelines.support.installation import ROOT, is_checkout

LOCAL = "local"
_CLIENT = "ray://"
_OBJECT_STORE = 512 * 2**20  # bytes, of a local cluster: what is on its way between tasks
_TIMEOUT = 5  # seconds, to reach the address
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
        raise UserError("--ray needs Ray, which is not installed: `pip install -r requirements-ray.txt`")
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


@contextlib.contextmanager
def connected(address: str, num_cpus: int | None = None) -> Iterator[None]:
    """Connects to a cluster for as long as the context lasts; "local" starts one on this machine and stops it.

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
    import ray

    on_sigterm = signal.getsignal(signal.SIGTERM)
    settings = {"log_to_driver": False, "configure_logging": False, "logging_level": "error"}
    try:
        if address == LOCAL:
            cores = num_cpus or machine.processor()["cores"]
            ray.init(
                LOCAL,
                include_dashboard=False,
                num_cpus=cores,
                object_store_memory=_OBJECT_STORE,
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
                **settings,
            )
        else:
            ray.init(address, runtime_env=_code(), **settings)
    except (RuntimeError, ConnectionError) as error:
        raise UserError(f"--ray {address}: {_reason(error)}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray's handler ends the process by SIGABRT
    try:
        yield
    finally:
        ray.shutdown()


def versions() -> dict[str, str]:
    """Returns package -> version of what all machines of a cluster must have alike."""
    names = ("ray", "tensorflow", "tensorflow-text", "keras")
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _code() -> dict:
    """Returns the environment of a cluster's processes: the code of this checkout."""
    return {"working_dir": str(ROOT), "excludes": _NOT_SENT} if is_checkout() else {}


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines)
    if "ersion mismatch" in text:
        return f"the cluster and this machine have different versions: {text}"
    return lines[0] if lines else type(error).__name__
