import asyncio
import contextlib
import http.client
import json
import queue
import signal
import socket
import ssl
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from serving import manager
from serving import server as server_module
from serving.logs import JsonFormatter, logger
from serving.server import Server, run
from serving.settings import Settings
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, Client, serving, wait_until

PORTS = {"rest_port": 0, "grpc_port": 0, "shutdown_delay": 0}


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


def test_both_apis_are_encrypted_with_a_certificate(models, tls_files):
    certificate, key = tls_files
    server = Server(Settings(models, **PORTS, tls_certificate=certificate, tls_key=key))
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
        Server(
            Settings(
                models,
                rest_port=0,
                grpc_port=0,
                shutdown_delay=0,
                tls_certificate=tls_files[0],
                tls_key=tmp_path / "key.pem",
            )
        )


def test_a_config_file_names_the_models(models, tmp_path):
    config = tmp_path / "models.config"
    config.write_text(
        f'model_config_list {{ config {{ name: "other" base_path: "{models}/upper" model_platform: "tensorflow" }} }}'
    )
    server = Server(Settings(models, config, **PORTS))
    server.start()
    try:
        assert server.manager.readiness() == {"other": True}
        assert [version.number for version in server.manager.versions("other")] == [2]
    finally:
        server.stop()
    config.write_text("nonsense")
    with pytest.raises(ValueError, match="not a models.config"):
        Server(Settings(models, config, **PORTS))


@pytest.fixture(autouse=True)
def signals_stay():
    """Nothing of the server's handling of signals may outlive it."""
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    yield
    wakeup = signal.set_wakeup_fd(-1)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), wakeup) == (*handlers, -1)


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
            return True

    def on_ready(server):
        events.append("ready")
        signal.raise_signal(number)

    monkeypatch.setattr(server_module, "Server", FakeServer)
    run(Settings(models), on_ready)
    assert events == ["start", "ready", "stop"]


def test_a_second_signal_ends_the_process(monkeypatch):
    exits, events = queue.SimpleQueue(), queue.SimpleQueue()
    monkeypatch.setattr(server_module.os, "_exit", exits.put)
    with server_module._signals_into(events):
        signal.raise_signal(signal.SIGTERM)
        assert events.get(timeout=HANG_SECONDS) == signal.SIGTERM and exits.empty()
        signal.raise_signal(signal.SIGINT)
        assert exits.get(timeout=HANG_SECONDS) == 130


def test_a_signal_that_another_thread_receives_is_noticed():
    events = queue.SimpleQueue()
    with server_module._signals_into(events):
        threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM)).start()
        assert events.get(timeout=HANG_SECONDS) == signal.SIGTERM


def test_the_thread_that_waits_for_signals_ends_with_the_server():
    before = set(threading.enumerate())
    with server_module._signals_into(queue.SimpleQueue()):
        (thread,) = [each for each in set(threading.enumerate()) - before if each.name == "signals"]
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()


def test_a_server_that_stops_is_not_ready_but_answers_for_a_moment(models, monkeypatch):
    server, end = Server(Settings(models, **PORTS)), threading.Event()

    async def wait_for_end():
        await asyncio.to_thread(end.wait)

    monkeypatch.setattr(server, "_let_load_balancers_notice", wait_for_end)
    server.start()
    client = Client(server)
    stopper = threading.Thread(target=server.stop)
    stopper.start()
    wait_until(lambda: client.http("/readyz")[0] == 503)
    assert client.http("/healthz")[0] == 200
    call = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    assert call(b"") == b"\x08\x02"  # NOT_SERVING
    assert client.predict("upper", {"text": ["a"]})["label"] == [b"A"]
    assert client.http("/v1/models/upper:predict", {"inputs": ["a"]})[0] == 200
    end.set()
    stopper.join()
    assert not is_listening(server.rest_port)


def test_requests_in_progress_are_answered_before_the_server_ends(models, gate):
    answers, stopped = [], []
    server = Server(Settings(models, **PORTS))
    server.start()
    client = Client(server)
    sender = threading.Thread(target=lambda: answers.append(client.predict("upper", {"text": ["wait"]})["label"]))
    sender.start()
    gate.wait_for_run()
    stopper = threading.Thread(target=lambda: stopped.append(server.stop()))
    stopper.start()
    wait_until(lambda: not is_listening(server.rest_port))
    assert stopper.is_alive() and not answers
    gate.open.set()
    sender.join()
    stopper.join()
    assert answers == [[b"WAIT"]] and stopped == [True]


def is_listening(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_requests_that_do_not_end_are_abandoned_with_an_answer(models, gate, monkeypatch, caplog):
    monkeypatch.setattr(server_module, "_DRAIN_SECONDS", 0.1)
    monkeypatch.setattr(logger, "propagate", True)
    caplog.set_level("INFO", logger.name)
    server = Server(Settings(models, **PORTS))
    server.start()
    client, path = Client(server), "/v1/models/upper:predict"
    with (
        ThreadPoolExecutor(2) as threads,
        contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.rest_port)) as incomplete,
    ):
        over_rest = threads.submit(client.http, path, {"inputs": ["wait"]})
        gate.wait_for_run()
        over_grpc = threads.submit(client.predict_error)
        incomplete.putrequest("POST", path)
        incomplete.putheader("Content-Length", "100")
        incomplete.endheaders(b"{")
        wait_until(lambda: server._admission.requests.num_taken == 2 and server._admission.bytes.num_taken > 30)
        assert server.stop() is False
        assert over_rest.result(HANG_SECONDS) == (503, {"error": "the server stops: try again later"})
        assert over_grpc.result(HANG_SECONDS) == grpc.StatusCode.UNAVAILABLE
        assert incomplete.getresponse().status == 503
        gate.open.set()
    requests = [record.fields["status"] for record in caplog.records if record.message == "request"]
    assert requests == ["UNAVAILABLE"] * 3
    assert [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []


def test_a_load_in_progress_is_not_waited_for(models, monkeypatch):
    loading, release = threading.Event(), threading.Event()
    load = manager.Servable

    def load_slowly(path):
        loading.set()
        release.wait()
        return load(path)

    monkeypatch.setattr(manager, "Servable", load_slowly)
    server = Server(Settings(models, **PORTS))
    starter = threading.Thread(target=server.start)
    starter.start()
    assert loading.wait(HANG_SECONDS)
    client = Client(server)
    assert client.http("/healthz")[0] == 200 and client.http("/readyz")[0] == 503
    assert client.http("/v1/models/upper:predict", {"inputs": ["a"]})[0] == 503
    assert server.stop() is False
    release.set()
    starter.join()


def test_loads_are_counted(tmp_path):
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"nonsense")
    small_models.save(tmp_path, "upper", 1)
    with serving(tmp_path) as client:
        page = client.http("/monitoring/prometheus/metrics")[1]
    assert ':tensorflow:serving:model_loads{model_name="broken",status="FAILED"} 1.0' in page
    assert ':tensorflow:serving:model_loads{model_name="upper",status="OK"} 1.0' in page


def test_batches_and_waiting_requests_have_metrics(models, gate):
    with serving(models) as client:
        inputs = [{"text": ["wait"] * 3}, {"text": ["a"] * 3}]
        threads = [threading.Thread(target=client.predict, args=("upper", each)) for each in inputs]
        threads[0].start()
        gate.wait_for_run()
        threads[1].start()
        wait_until(lambda: ":serving:requests_waiting 1.0" in client.http("/monitoring/prometheus/metrics")[1])
        gate.open.set()
        for thread in threads:
            thread.join()
        page = client.http("/monitoring/prometheus/metrics")[1]
    assert ":serving:requests_waiting 0.0" in page
    assert ':serving:batch_rows_sum{model_name="upper"} 6.0' in page
    assert ':serving:batch_rows_count{model_name="upper"} 2.0' in page
