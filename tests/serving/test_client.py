"""The client with a real server over both APIs, and with servers that are no TF Serving."""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from serving.client import Unanswered, predict, signatures
from serving.server import Server
from serving.settings import Settings


@pytest.fixture(params=["gRPC", "REST"])
def address(request, client):
    server = client.server
    return f"127.0.0.1:{server.grpc_port}" if request.param == "gRPC" else f"http://127.0.0.1:{server.rest_port}"


def test_both_apis_return_lists_and_strings(address):
    outputs = predict(address, "upper", {"text": ["a", "\u00e4"]})
    assert outputs["label"] == ["A", "\u00c4"] and outputs["length"] == [1, 1]
    assert outputs["probabilities"][0] == pytest.approx([0.5, 0.5])


def test_a_single_output_has_its_name(address):
    inputs = {"text": ["a", "b"], "temperature": [1.0, 1.0], "times": [2, 3]}
    assert predict(address, "upper", inputs, "repeat") == {"text": ["aa", "bbb"]}


def test_an_error_of_the_server_is_reported(address):
    with pytest.raises(Unanswered, match="Servable not found for request"):
        predict(address, "nobody", {"text": ["a"]})


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_server_that_cannot_be_reached(scheme):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Unanswered, match=f"no answer from {scheme}127.0.0.1:{port}"):
        predict(f"{scheme}127.0.0.1:{port}", "upper", {"text": ["a"]})


def test_both_apis_can_use_tls(models, tls_files):
    certificate, key = tls_files
    server = Server(
        Settings(models, rest_port=0, grpc_port=0, shutdown_delay=0, tls_certificate=certificate, tls_key=key)
    )
    server.start()
    rest, grpc = f"https://localhost:{server.rest_port}", f"localhost:{server.grpc_port}"
    try:
        for address in (rest, grpc, f"grpcs://{grpc}"):
            assert predict(address, "upper", {"text": ["a"]}, ca_file=certificate)["label"] == ["A"]
        for address in (rest, f"grpcs://{grpc}"):  # the system does not trust this certificate
            with pytest.raises(Unanswered, match="no answer from"):
                predict(address, "upper", {"text": ["a"]}, timeout=5)
        with pytest.raises(Unanswered, match="is not a PEM file of certificates"):
            predict(rest, "upper", {"text": ["a"]}, ca_file=key)
        with pytest.raises(Unanswered, match="write https://"):
            predict(rest.replace("https", "http"), "upper", {"text": ["a"]}, ca_file=certificate)
    finally:
        server.stop()


@contextlib.contextmanager
def http_server(body: bytes, status_line=b"HTTP/1.0 200 OK\r\n\r\n"):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(status_line + body)

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"answer": 1}'])
def test_a_web_server_that_is_no_tf_serving(body):
    with http_server(body) as address, pytest.raises(Unanswered, match="does not answer as TF Serving's REST API does"):
        predict(address, "upper", {"text": ["a"]})


def test_a_server_that_does_not_speak_http():
    with http_server(b"", status_line=b"\x00\x00\x12\x04\r\n") as address, pytest.raises(Unanswered, match="REST API"):
        predict(address, "upper", {"text": ["a"]})


def test_the_names_of_the_signatures(address):
    assert {"serving_default", "repeat"} <= signatures(address, "upper")
    with pytest.raises(Unanswered, match="Servable not found for request"):
        signatures(address, "nobody")
