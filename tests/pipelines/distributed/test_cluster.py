"""The Ray cluster: refusals in one line, without waiting, and a cluster on this machine."""

import functools
import socket
import subprocess
import sys
from importlib import util

import pytest

from pipelines.distributed import cluster
from pipelines.support.errors import UserError

needs_ray = pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt")


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install -r requirements-ray\.txt"):
        cluster.check("local")


def test_without_ray_an_installation_names_the_extra(monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    monkeypatch.setattr("pipelines.support.installation.is_checkout", lambda: False)
    with pytest.raises(UserError, match=r"pip install '\.\[ray\]'`$"):
        cluster.check("local")


@needs_ray
@pytest.mark.parametrize("address", ["", "localhost", "localhost:", ":6379", "ray://x", "host:99999", "host:port"])
def test_an_address_of_another_form(address):
    with pytest.raises(UserError, match="HOST:PORT"):
        cluster.check(address)


@needs_ray
@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_nobody_at_the_address(prefix):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UserError, match=f"{port}: nothing answers there"):
        cluster.check(f"{prefix}127.0.0.1:{port}")


@needs_ray
def test_no_cluster_on_this_machine(monkeypatch):
    """In Ray's own words and in ours; another test may have a cluster on this machine."""
    from ray._private import services

    monkeypatch.setattr(services, "find_bootstrap_address", lambda temp_dir: None)
    monkeypatch.setattr(services, "find_gcs_addresses", functools.cache(set))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UserError) as error, cluster.connected("auto"):
        pass
    assert str(error.value) == (
        "--ray auto: no cluster runs on this machine: `ray start --head` starts one, --ray local needs none"
    )


@needs_ray
def test_versions_that_differ_are_one_line():
    error = RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.59.0\n    Python: 3.11.2\n")
    assert "\n" not in cluster._reason(error)
    assert "Ray: 2.59.0" in cluster._reason(error)


def refused(text):
    """The error of Ray for a cluster that refuses the connection because of the token."""
    try:
        try:
            raise RuntimeError(f"Failed to connect to GCS. Last connection error: Traceback:\n{text}\n")
        except RuntimeError as error:
            raise ConnectionError("Failed to connect to Ray cluster at 10.0.0.7:6379") from error
    except ConnectionError as error:
        return error


@needs_ray
@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        ("token", "Token authentication is enabled but no authentication token was found", "which has no token"),
        ("token", "AuthenticationError: RPC error: InvalidAuthToken: missing or incorrect", "has another token than"),
        ("disabled", "AuthenticationError: RPC error: InvalidAuthToken: missing or incorrect", "asks for a token"),
        ("disabled", "something else", "Failed to connect to Ray cluster at 10.0.0.7:6379"),
    ],
)
def test_another_token_is_named_with_the_remedy(monkeypatch, mode, text, message):
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    reason = cluster._reason(refused(text))
    assert message in reason and "\n" not in reason
    assert ("RAY_AUTH_TOKEN_PATH" in reason) == ("oken" in text)


@needs_ray
@pytest.mark.long
def test_a_cluster_on_this_machine_runs_tasks():
    with cluster.connected("local", num_cpus=1):
        import ray

        @ray.remote
        def versions():
            from pipelines.distributed import cluster

            return cluster.versions()

        assert ray.get(versions.remote()) == cluster.versions()
    assert not ray.is_initialized()


@needs_ray
@pytest.mark.parametrize("failures", [1, 2])
def test_a_cluster_that_does_not_start_in_time_is_started_once_more(monkeypatch, failures):
    import ray  # brings psutil
    from psutil import pid_exists

    started, running = [], []

    def init(address, **_):
        # Named as a process of Ray, so that it is found among the processes of the tests.
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "ray"])
        started.append(process.pid)
        if len(started) <= failures:
            node = [process]
            node.append(node)  # as Ray's objects, it refers to itself, and is alive until a collection
            raise Exception("The current node timed out during startup. This could happen because")
        running.append(process)

    def shutdown():
        for process in running:
            process.kill()
            process.wait(10)

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", shutdown)
    if failures == 1:
        with cluster.connected("local", 1):
            assert not pid_exists(started[0]) and pid_exists(started[1])
    else:
        with pytest.raises(UserError, match="--ray local: its processes did not start within 30 s, twice: is this"):
            with cluster.connected("local", 1):
                pass
    assert len(started) == 2 and not any(map(pid_exists, started))


@needs_ray
def test_what_ray_prints_does_not_appear(monkeypatch, capsys):
    """Also what it prints after an interruption, while it stops."""
    import ray

    monkeypatch.setattr(cluster, "_connect", lambda address, num_cpus: None)
    monkeypatch.setattr(ray, "shutdown", lambda: print("(raylet) Task failed. Error: The actor is dead"))
    with pytest.raises(KeyboardInterrupt), cluster.connected("local"):
        print("(raylet) the log of a process")
        raise KeyboardInterrupt
    print("the answer")
    assert capsys.readouterr().out == "the answer\n"


def test_processes_on_this_machine(monkeypatch):
    monkeypatch.setattr(cluster.machine, "processor", lambda: {"cores": 3})
    cluster.check_local_processes("--actors", 6)
    with pytest.raises(UserError, match="--actors 7: this machine has 3 processors: give at most 6, or the --ray"):
        cluster.check_local_processes("--actors", 7)
