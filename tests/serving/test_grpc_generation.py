"""The method Generate, with a model that continues the alphabet."""

from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from serving import grpc_generation
from tests.serving import small_models, streaming_models
from tests.serving.conftest import HANG_SECONDS, make_request, serving, wait_until


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    root = tmp_path_factory.mktemp("generators")
    streaming_models.save(root)
    small_models.save(root, "upper", 1)
    with serving(root, max_rows=10) as client:
        yield client


def call(client, model="alphabet", timeout=HANG_SECONDS, **inputs):
    method = client.channel.unary_stream(
        grpc_generation.METHOD,
        request_serializer=predict_pb2.PredictRequest.SerializeToString,
        response_deserializer=predict_pb2.PredictResponse.FromString,
    )
    return method(make_request(model, inputs), timeout=timeout)


def texts(client, num_rows=1, **inputs):
    """The text and the end of each row."""
    found, ends = [""] * num_rows, [[] for _ in range(num_rows)]
    for response in call(client, **inputs):
        outputs = {name: tf.make_ndarray(proto).item() for name, proto in response.outputs.items()}
        assert response.model_spec.name == "alphabet" and response.model_spec.version.value == 1
        found[outputs["row"]] += outputs["text"].decode()
        ends[outputs["row"]].append(outputs["end"].decode())
    for of_row in ends:
        assert of_row[-1] in ("stop", "length") and set(of_row[:-1]) <= {""}
    return found


def test_options_that_are_not_given_have_the_defaults_of_the_card(client):
    assert texts(client, text=[b"c"]) == ["defgh"]


def test_each_row_has_its_options(client):
    inputs = {"text": [b"c", b"v"], "max_length": np.array([2, 9], "int32"), "stop": [b"yz", b"?"]}
    inputs["seed"] = np.array([5], "int32")  # of all rows
    assert texts(client, 2, **inputs) == ["de", "wxyz"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "the input text is missing"),
        ({"text": [b"a"], "width": [3]}, "alphabet has no input width"),
        ({"text": [b"a"], "max_length": np.array([1, 2], "int32")}, "max_length has 2 rows, but text has 1"),
        ({"text": [b"a"], "max_length": [1.5]}, "input max_length is of type DT_FLOAT"),
        ({"text": [b"a"] * 11}, "text has 11 rows: a request may have at most 10"),
        ({"text": b"a"}, "Tensor text has shape ()"),
        ({"text": [b"a"], "temperature": np.array([-1], "float32")}, "temperature must be at least 0"),
        ({"text": [b"a"], "model": "upper"}, "upper has no signature sample_start"),
    ],
)
def test_a_wrong_request_is_refused(client, inputs, message):
    with pytest.raises(grpc.RpcError) as caught:
        list(call(client, **inputs))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT and message in caught.value.details()


def test_a_model_that_is_not_there(client):
    with pytest.raises(grpc.RpcError) as caught:
        list(call(client, "none", text=[b"a"]))
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_client_that_cancels_frees_its_place(client):
    responses = call(client, text=[b"a"] * 10, max_length=np.array([1000], "int32"))
    next(iter(responses))
    responses.cancel()
    wait_until(lambda: client.server._admission.requests.num_taken == 0)


def test_the_service_is_that_of_the_proto_file():
    text = (Path(grpc_generation.__file__).parent / "generation.proto").read_text()
    service = grpc_generation.METHOD.split("/")[1]
    assert f"package {service.rpartition('.')[0]};" in text and f"service {service.rpartition('.')[2]} " in text
