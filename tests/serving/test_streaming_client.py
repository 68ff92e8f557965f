"""The client of streams against a real server, over both APIs."""

import http.server
import socket
import threading

import pytest

from serving.client import Address, Refused, Unanswered
from serving.streaming_client import stream
from tests.serving import small_models, streaming_models
from tests.serving.conftest import serving


@pytest.fixture(scope="module", params=["rest", "grpc"])
def address(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("generators")
    streaming_models.save(root)
    small_models.save(root, "upper", 1)
    with serving(root, timeout=20.0) as client:
        ports = {"rest": f"http://127.0.0.1:{client.server.rest_port}", "grpc": f"127.0.0.1:{client.server.grpc_port}"}
        yield Address(ports[request.param])


@pytest.mark.long
def test_the_pieces_of_a_text(address):
    found = list(stream(address, "alphabet", "c", {"max_length": 9, "temperature": 0.0, "seed": 3}))
    assert "".join(found) == "defghijkl" and len(found) > 1


def test_options_that_are_not_given_are_those_of_the_model(address):
    assert "".join(stream(address, "alphabet", "", {})) == "abcde"


def test_the_stop_text_is_a_part_of_the_text_and_an_empty_one_stops_nothing(address):
    assert "".join(stream(address, "alphabet", "c", {"max_length": 20, "stop": "gh"})) == "defgh"
    assert "".join(stream(address, "alphabet", "c", {"max_length": 3, "stop": ""})) == "def"


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("none", {}, "Servable not found"),
        ("upper", {}, "upper has no signature sample_start"),
        ("alphabet", {"temperature": -1.0}, "temperature must be at least 0"),
    ],
)
def test_what_the_server_refuses_is_named(address, model, options, message):
    with pytest.raises(Refused, match=message):
        list(stream(address, model, "c", options))


def test_a_server_that_is_not_there(address):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"{'http://' if address.is_rest else ''}127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Unanswered, match=f"no answer from {nobody}"):
            list(stream(Address(nobody), "alphabet", "c", {}))


class Other(http.server.BaseHTTPRequestHandler):
    """A server that answers everything with the same body."""

    body = b""

    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("body", [b"hello\n", b"data: 1\n", b'data: {"choices": []}\n', b"data: {}\n"])
def test_another_server_is_told_from_ours(body, monkeypatch):
    monkeypatch.setattr(Other, "body", body)
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(Unanswered, match="does not stream as this package's server does"):
            list(stream(Address(f"http://127.0.0.1:{server.server_port}"), "alphabet", "c", {}))


def test_an_error_in_the_middle_of_a_stream(monkeypatch):
    body = b'data: {"choices": [{"text": "a"}]}\n\ndata: {"error": {"message": "Deadline Exceeded"}}\n\n'
    monkeypatch.setattr(Other, "body", body)
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        pieces = stream(Address(f"http://127.0.0.1:{server.server_port}"), "alphabet", "c", {})
        assert next(pieces) == "a"
        with pytest.raises(Refused, match="Deadline Exceeded"):
            next(pieces)
