import contextlib
import json
import urllib.error
import urllib.request

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc

from serving.server import Server
from serving.settings import Limits, Settings
from tests.serving import small_models


class Client:
    """Plain HTTP and the official stubs, against one server."""

    def __init__(self, server: Server):
        self.server = server
        self.channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.model = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def http(self, path: str, body=None, method=None) -> tuple[int, object]:
        """(status, what the body is as JSON, or as it is)."""
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.rest_port}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text.decode()

    def ask(self, name: str, inputs: dict, signature: str = "", version: int | None = None, label: str = "", timeout: float = 60.0, outputs=()):
        """Over gRPC: output -> nested lists."""
        request = request_of(name, inputs, signature, version, label, outputs)
        response = self.prediction.Predict(request, timeout=timeout)
        return {key: tf.make_ndarray(value).tolist() for key, value in response.outputs.items()}


def request_of(name, inputs, signature="", version=None, label="", outputs=()):
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
def serving(root, poll_seconds=0.1, **limits):
    server = Server(Settings(root, rest_port=0, grpc_port=0, poll_seconds=poll_seconds, limits=Limits(**limits)))
    server.start()
    try:
        yield Client(server)
    finally:
        server.stop()


@pytest.fixture(scope="session")
def shouter(tmp_path_factory):
    """A folder of models with two versions of one; not to be changed."""
    root = tmp_path_factory.mktemp("served")
    for version in (1, 2):
        small_models.save(root, "shouter", version)
    return root


@pytest.fixture(scope="module")
def client(shouter):
    with serving(shouter, body_bytes=100_000, rows=100, text_bytes=5000) as client:
        yield client
