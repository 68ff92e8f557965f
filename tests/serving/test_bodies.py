"""The bodies of HTTP requests: their sizes, their time and their encoding."""

import gzip
import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from serving.rest import METRICS
from tests.serving.conftest import HANG_SECONDS, serving, wait_until

PREDICT = "/v1/models/upper:predict"


def send(client, *parts):
    """Sends bytes on a connection of their own. Returns the connection."""
    connection = socket.create_connection(("127.0.0.1", client.server.rest_port), timeout=HANG_SECONDS)
    for part in parts:
        connection.sendall(part)
    return connection


def header(length, *lines):
    lines = ["POST /v1/models/upper:predict HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *lines]
    return "\r\n".join([*lines, "", ""]).encode()


def compressed_request(client, body, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", client.server.rest_port)
    connection.request("POST", PREDICT, body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_a_body_that_is_too_large_is_not_read(client):
    status, answer = client.http(PREDICT, {"inputs": ["a" * 200_000]})
    assert status == 413 and "100000 bytes" in answer["error"]


def test_two_lengths_of_one_body_are_refused(client):
    """A proxy might believe the other one, and take the rest of the body for the next request."""
    with send(client, header(3, "Transfer-Encoding: chunked") + b"0\r\n\r\n" + header(3)) as connection:
        answer = connection.makefile("rb").read()  # until the server closes the connection
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1
    assert b"either Content-Length or Transfer-Encoding" in answer


def test_a_request_is_refused_before_its_body_is_sent(models, gate):
    with serving(models, max_requests=1) as client, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.http, PREDICT, {"inputs": ["wait"]})
        gate.wait_for_run()
        with send(client, header(1000)) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 429 ")
        gate.open.set()
        assert waiting.result()[0] == 200


def test_a_body_that_does_not_arrive_in_time_occupies_no_prediction(models):
    with serving(models, max_requests=1, body_timeout=1.0) as client:
        with send(client, header(1000), b'{"inputs"') as connection:
            assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200  # the only slot is free while the body is read
            answer = connection.makefile("rb").read()  # until the server closes the connection
        assert answer.startswith(b"HTTP/1.1 408 ") and b"within 1 seconds" in answer


def test_the_bytes_of_all_requests_together_have_a_limit(models, gate):
    with serving(models, max_queued_bytes=3000) as client, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.http, PREDICT, {"inputs": ["wait", "x" * 2000]})
        gate.wait_for_run()
        status, answer = client.http(PREDICT, {"inputs": ["x" * 2000]})
        assert status == 429 and "3000 bytes" in answer["error"]
        assert client.predict_error("x" * 2000) == grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.open.set()
        assert waiting.result()[0] == 200
        wait_until(lambda: ":tensorflow:serving:queued_bytes 0.0" in client.http(METRICS)[1])


def test_bodies_and_answers_can_be_gzip(client):
    body = gzip.compress(json.dumps({"inputs": ["a" * 2000]}).encode())
    response, content = compressed_request(client, body, **{"Content-Encoding": "gzip", "Accept-Encoding": "br, gzip"})
    assert response.status == 200 and response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(content))["outputs"]["length"] == [2000]
    response, content = compressed_request(client, body, **{"Content-Encoding": "gzip", "Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in response.headers and json.loads(content)["outputs"]["length"] == [2000]


@pytest.mark.parametrize(
    ("body", "encoding", "status", "message"),
    [
        (b"no gzip", "gzip", 400, b"not gzip"),
        (gzip.compress(b'{"inputs": ["a"]}', mtime=0)[:-5], "gzip", 400, b"not one complete gzip stream"),
        (gzip.compress(b"a" * 10_000_000, mtime=0), "gzip", 413, b"100000 bytes after decompression"),
        (b"{}", "br", 415, b"Content-Encoding br is not supported"),
    ],
)
def test_an_encoding_that_cannot_be_used_is_refused(client, body, encoding, status, message):
    response, content = compressed_request(client, body, **{"Content-Encoding": encoding})
    assert response.status == status and message in content
