"""Whatever comes in, the answer is a proper one, and the server lives on. FUZZ=100000 tries that many of each kind."""

import json
import os

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serving.conftest import request_of

EXAMPLES = int(os.environ.get("FUZZ", "150"))
REST_STATUSES = {200, 400, 404, 405, 413, 429, 501}
GRPC_CODES = {
    grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.UNIMPLEMENTED,
}  # fmt: skip
fuzzed = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.fixed_dictionaries({"b64": st.text(max_size=8)}),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["text", "ids", "flag", "scale", "b64", "x"]), inner, max_size=3),
    max_leaves=12,
)
documents = st.fixed_dictionaries(
    {}, optional={"instances": values, "inputs": values, "signature_name": st.sampled_from(["serving_default", "add", "repeat", "words", "no"]) | values}
)


def answered(client, path, body):
    status, answer = client.http(path, body)
    assert status in REST_STATUSES, (status, answer)
    assert set(answer) in ({"error"}, {"predictions"}, {"outputs"})
    assert (status == 200) == ("error" not in answer)


@fuzzed
@given(document=documents)
def test_json_of_any_kind(client, document):
    answered(client, "/v1/models/shouter:predict", json.dumps(document).encode())


@fuzzed
@given(document=documents, place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_json_with_a_byte_changed(client, document, place, byte):
    body = bytearray(json.dumps(document).encode())
    body[place % len(body)] = byte
    answered(client, "/v1/models/shouter:predict", bytes(body))


@fuzzed
@given(body=st.binary(max_size=200))
def test_any_bytes(client, body):
    answered(client, "/v1/models/shouter:predict", body)


@fuzzed
@given(name=st.text(min_size=1, max_size=30), rest=st.sampled_from(["", ":predict", "/metadata", "/versions/1:predict", "/labels/x:predict"]))
def test_any_path(client, name, rest):
    import urllib.parse

    answered(client, f"/v1/models/{urllib.parse.quote(name, safe='')}{rest}", b'{"instances": ["a"]}')


@fuzzed
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4), cut=st.integers(0, 10_000))
def test_protos_with_bytes_changed(client, changes, cut):
    message = bytearray(request_of("shouter", {"text": ["abc", "defg"]}).SerializeToString())
    for place, byte in changes:
        message[place % len(message)] = byte
    message = bytes(message[: len(message) - cut % 7 if cut % 2 else len(message)])
    call = client.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    try:
        call(message, timeout=60)
    except grpc.RpcError as error:
        malformed = error.code() == grpc.StatusCode.INTERNAL and "deserializ" in error.details()
        assert malformed or error.code() in GRPC_CODES, (error.code(), error.details())


@pytest.fixture(autouse=True)
def alive(client):
    yield
    assert client.ask("shouter", {"text": ["a"]})["label"] == [b"A"]
