import json
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request

import grpc
import pytest

from serving import server as server_module
from serving.logs import JsonFormatter, logger
from serving.server import Server, run
from serving.settings import Settings
from tests.serving import small_models
from tests.serving.conftest import Client, serving, wait_until


def test_new_versions_are_found_while_the_server_runs(tmp_path):
    with serving(tmp_path) as client:
        assert client.http("/v1/models/upper")[0] == 404
        small_models.save(tmp_path, "upper", 1)
        wait_until(lambda: client.http("/v1/models/upper:predict", {"inputs": ["a"]})[0] == 200)


def test_the_log_contains_no_text_of_a_request(models, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with serving(models) as client, caplog.at_level("INFO", logger.name):
        client.http("/v1/models/upper:predict", {"inputs": ["secret one"]})
        client.http("/v1/models/upper:predict", {"inputs": [["secret two"]]})
        client.predict("upper", {"text": ["secret three"]})
    lines = [JsonFormatter().format(record) for record in caplog.records]
    requests = [line for line in map(json.loads, lines) if line["event"] == "request"]
    assert [line["status"] for line in requests] == ["OK", "INVALID_ARGUMENT", "OK"]
    assert "secret" not in "".join(lines)


def test_an_error_of_the_search_does_not_end_it(models, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("INFO", logger.name), serving(models, poll_seconds=0.01) as client:
        finds = iter([OSError("unreadable")])
        find_models = client.server.manager._find_models

        def find_after_an_error():
            for error in finds:
                raise error
            found.set()
            return find_models()

        found = threading.Event()
        client.server.manager._find_models = find_after_an_error
        wait_until(found.is_set)
    assert [r.fields for r in caplog.records if r.message == "cannot search for versions"] == [{"error": "unreadable"}]


@pytest.mark.parametrize("api", ["rest_port", "grpc_port"])
def test_a_port_that_is_not_free_is_an_error(models, api):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {"rest_port": 0, "grpc_port": 0, api: taken.getsockname()[1]}
        with pytest.raises(OSError, match="Address already in use|cannot listen at 127.0.0.1:"):
            Server(Settings(models, **ports))


@pytest.fixture(scope="module")
def tls_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    options += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        command = ["openssl", "req", *options, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return certificate, key


def test_both_apis_are_encrypted_with_a_certificate(models, tls_files):
    certificate, key = tls_files
    server = Server(Settings(models, rest_port=0, grpc_port=0, tls_certificate=certificate, tls_key=key))
    server.start()
    try:
        context = ssl.create_default_context(cafile=certificate)
        url = f"https://127.0.0.1:{server.rest_port}/v1/models/upper"
        with urllib.request.urlopen(url, context=context) as response:
            assert len(json.load(response)["model_version_status"]) == 2
        client = Client(server)
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        client.channel = grpc.secure_channel(f"localhost:{server.grpc_port}", credentials)
        call = client.channel.unary_unary("/grpc.health.v1.Health/Check")
        assert call(b"", wait_for_ready=True) == b"\x08\x01"  # SERVING
    finally:
        server.stop()


def test_tls_files_that_do_not_fit_are_an_error(models, tls_files, tmp_path):
    (tmp_path / "key.pem").write_text("nonsense")
    with pytest.raises(ValueError, match="key.pem cannot be used"):
        Server(Settings(models, rest_port=0, grpc_port=0, tls_certificate=tls_files[0], tls_key=tmp_path / "key.pem"))


def test_a_config_file_names_the_models(models, tmp_path):
    config = tmp_path / "models.config"
    config.write_text(f'model_config_list {{ config {{ name: "other" base_path: "{models}/upper" }} }}')
    server = Server(Settings(models, config, rest_port=0, grpc_port=0))
    server.start()
    try:
        assert server.manager.readiness() == {"other": True}
        assert [version.number for version in server.manager.versions("other")] == [2]
    finally:
        server.stop()
    config.write_text("nonsense")
    with pytest.raises(ValueError, match="not a models.config"):
        Server(Settings(models, config, rest_port=0, grpc_port=0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_after_it_was_ready(monkeypatch, models, number):
    events = []

    class FakeServer:
        def __init__(self, settings):
            assert settings.models == models

        def start(self):
            events.append("start")

        def stop(self):
            events.append("stop")

    def on_ready(server):
        events.append("ready")
        signal.raise_signal(number)

    monkeypatch.setattr(server_module, "Server", FakeServer)
    handlers = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        run(Settings(models), on_ready)
    finally:
        for name, handler in handlers.items():
            signal.signal(name, handler)
    assert events == ["start", "ready", "stop"]
