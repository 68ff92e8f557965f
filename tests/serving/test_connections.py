import contextlib
import errno
import http.client
import json
import resource
import socket
import subprocess
import sys

import pytest

from serving import connections
from tests.command_line import ROOT
from tests.serving.conftest import HANG_SECONDS, serving, wait_until

PREDICT = "/v1/models/upper:predict"
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect(client):
    return socket.create_connection(("127.0.0.1", client.server.rest_port), timeout=HANG_SECONDS)


def ask(connection):
    """Sends a request, and returns the status of its answer."""
    connection.sendall(REQUEST)
    response = http.client.HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


def is_closed(connection):
    """Waits until the server closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(65536):
            pass
    return True


def closed(client, reason):
    return f'connections_closed{{reason="{reason}"}}' in client.server.core.metrics.page().decode()


def test_a_connection_without_a_complete_header_is_closed(models):
    with serving(models, header_timeout=0.2) as client:
        for sent in (b"", b"GET /healthz HTTP/1.1\r\nHost:", REQUEST + b"GET /"):
            with connect(client) as connection:
                connection.sendall(sent)
                assert is_closed(connection)
        assert closed(client, "timeout of header")


def test_a_header_that_arrives_byte_by_byte_has_the_same_limit(models):
    with serving(models, header_timeout=0.5) as client, connect(client) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        with pytest.raises(OSError):
            while True:
                connection.sendall(b"X: y\r\n")
                connection.settimeout(0.05)
                with contextlib.suppress(TimeoutError):
                    if not connection.recv(1):
                        raise ConnectionResetError
        assert closed(client, "timeout of header")


def test_an_idle_connection_is_closed(models):
    with serving(models, idle_timeout=0.2) as client, connect(client) as connection:
        assert ask(connection) == 200
        assert is_closed(connection)


def test_an_unread_answer_is_given_up(models, monkeypatch):
    with serving(models, body_timeout=0.5) as client, connect(client) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps({"inputs": ["a" * 1_000_000] * 7}).encode()
        connection.sendall(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (PREDICT.encode(), len(body))
        )
        connection.sendall(body)
        wait_until(lambda: closed(client, "timeout of reception"))


def test_the_connection_that_was_idle_longest_makes_room(models):
    with serving(models, max_connections=3) as client, contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(connect(client)) for _ in range(2))
        for connection in (second, first):  # `second` is idle longest
            assert ask(connection) == 200
        more = [stack.enter_context(connect(client)) for _ in range(2)]
        assert is_closed(second) and closed(client, "too many connections")
        assert [ask(connection) for connection in (first, *more)] == [200, 200, 200]


def test_a_connection_with_a_request_does_not_make_room(models, gate):
    with serving(models, max_connections=1) as client:
        busy = http.client.HTTPConnection("127.0.0.1", client.server.rest_port, timeout=HANG_SECONDS)
        busy.request("POST", PREDICT, b'{"inputs": ["wait"]}')
        gate.wait_for_run()
        with connect(client) as connection:
            assert is_closed(connection)
        gate.open.set()
        assert busy.getresponse().status == 200
        busy.close()


def test_answers_on_a_kept_connection_are_sent_without_delay(models):
    """Without this option, each answer waits for a delayed acknowledgement: 40 ms."""
    with connections.listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        accepted.close()


def test_malformed_http_is_counted(client):
    for sent in (
        b"\x00\xff\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    ):
        with connect(client) as connection:
            connection.sendall(sent)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert closed(client, "malformed HTTP")


def test_the_number_of_connections_leaves_descriptors_for_everything_else(monkeypatch):
    for limit, expected in ((1024, 384), (64, 24), (100_000, 1000), (resource.RLIM_INFINITY, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limit=limit: (limit, limit))
        assert connections.fit_to_descriptors(1000) == expected


def test_the_soft_limit_of_descriptors_is_raised_as_far_as_possible(monkeypatch):
    raised = []
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: raised.append(limits))
    for limits in ((100, 500), (100, 100_000), (100, resource.RLIM_INFINITY), (100_000, 100_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limits=limits: limits)
        connections.raise_descriptor_limit(1000)
    assert raised == [(500, 500), (2256, 100_000), (2256, resource.RLIM_INFINITY)]


def test_without_a_free_descriptor_waiting_connections_are_closed(monkeypatch):
    accept, errors = socket.socket.accept, [OSError(errno.EMFILE, "too many"), None, OSError(errno.EMFILE, "too many")]

    def accept_or_fail(self):
        error = errors.pop(0) if errors else None
        if error:
            raise error
        return accept(self)

    with connections.listen("127.0.0.1", 0) as listener:
        listener.setblocking(False)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(2)]
        monkeypatch.setattr(socket.socket, "accept", accept_or_fail)
        # The first client is accepted with the spare descriptor, and closed. Then the descriptors are exhausted again.
        with pytest.raises(BlockingIOError):
            errors.append(OSError(errno.EMFILE, "too many"))
            listener.accept()
        assert clients[0].recv(1) == b""
        accepted, _ = listener.accept()
        accepted.sendall(b"a")
        assert clients[1].recv(1) == b"a"
        for each in (accepted, *clients):
            each.close()


def is_answered(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    try:
        connection.request("POST", PREDICT, b'{"inputs": ["a"]}')
        return connection.getresponse().status == 200
    except ConnectionError:
        return False
    finally:
        connection.close()


@pytest.mark.long
def test_more_idle_connections_than_descriptors_stop_nothing(models, tmp_path):
    code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
sys.argv[1:] = ["serve", "--saved-models", sys.argv[1], "--rest-port", "0", "--grpc-port", "0"]
import main
sys.exit(main.main())
"""
    log = tmp_path / "log"
    with log.open("w") as stderr, contextlib.ExitStack() as stack:
        process = subprocess.Popen([sys.executable, "-c", code, str(models)], stderr=stderr, cwd=ROOT)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        wait_until(lambda: "\nserving " in "\n" + log.read_text())
        line = next(line for line in log.read_text().splitlines() if line.startswith("serving "))
        rest, grpc = (int(part.rsplit(":", 1)[1]) for part in line.split(", gRPC "))
        for port in (rest, grpc):
            for _ in range(400):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        for _ in range(3):
            wait_until(lambda: is_answered(rest))  # a connection may be closed while the server makes room
        assert log.stat().st_size < 100_000 and "Traceback" not in log.read_text()
