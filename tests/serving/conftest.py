"""A server in this process, a client for it, and ways to hold its runs without any timing."""

import contextlib
import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc

from serving.servable import Signature
from serving.server import Server
from serving.settings import Limits, Settings
from tests.serving import small_models

HANG_SECONDS = 300  # no test measures time; this only ends a test that would wait forever


class Client:
    """Plain HTTP and the official stubs, for one server."""

    def __init__(self, server: Server):
        self.server = server
        self.channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.model = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def http(self, path: str, body=None, method=None) -> tuple[int, object]:
        """Returns the status, and the body as JSON if it is JSON, else as text."""
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.rest_port}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text.decode()

    def predict(self, name: str, inputs: dict, signature="", version=None, label="", timeout=HANG_SECONDS, outputs=()):
        """Sends a request over gRPC. Returns output -> nested lists."""
        request = make_request(name, inputs, signature, version, label, outputs)
        response = self.prediction.Predict(request, timeout=timeout)
        return {key: tf.make_ndarray(value).tolist() for key, value in response.outputs.items()}

    def predict_error(self, text="a") -> grpc.StatusCode:
        """The status of a prediction over gRPC that must fail."""
        with pytest.raises(grpc.RpcError) as caught:
            self.predict("upper", {"text": [text]})
        return caught.value.code()


def make_request(name, inputs, signature="", version=None, label="", outputs=()) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    if version is not None:
        request.model_spec.version.value = version
    if label:
        request.model_spec.version_label = label
    request.output_filter.extend(outputs)
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


@contextlib.contextmanager
def serving(root, poll_seconds=0.1, shutdown_delay=0, **limits):
    """A client for a server of the models in `root`."""
    settings = Settings(
        root,
        rest_port=0,
        grpc_port=0,
        poll_seconds=poll_seconds,
        shutdown_delay=shutdown_delay,
        limits=Limits(**limits),
    )
    server = Server(settings)
    server.start()
    try:
        yield Client(server)
    finally:
        server.stop()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > end:
            pytest.fail("the condition never became true")
        time.sleep(0.01)


class Gate:
    """Holds every run of a signature that contains the text "wait" until `open` is set. `entered` counts these runs."""

    def __init__(self):
        self.entered, self.open = threading.Semaphore(0), threading.Event()

    def wait_for_run(self) -> None:
        assert self.entered.acquire(timeout=HANG_SECONDS)


@pytest.fixture
def gate(monkeypatch):
    gate, run = Gate(), Signature.__call__

    def held_run(signature, inputs, seconds=None):
        if b"wait" in inputs["text"]:
            gate.entered.release()
            assert gate.open.wait(HANG_SECONDS)
        return run(signature, inputs, seconds)

    monkeypatch.setattr(Signature, "__call__", held_run)
    yield gate
    gate.open.set()


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with two versions of the model `upper`; tests do not change it."""
    root = tmp_path_factory.mktemp("served")
    for version in (1, 2):
        small_models.save(root, "upper", version)
    return root


@pytest.fixture(scope="module")
def client(models):
    with serving(models, max_body_bytes=100_000, max_rows=100, max_text_bytes=5000) as client:
        yield client


@pytest.fixture(scope="session")
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
