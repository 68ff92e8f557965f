"""Random requests get a valid answer, and the server continues. FUZZ=N tries N requests of each kind."""

import collections
import json
import os
import random
import socket
import urllib.parse

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import serving_fuzz
from tests.serving.conftest import HANG_SECONDS, make_request

MAX_EXAMPLES = int(os.environ.get("FUZZ", "150"))
REST_STATUSES = {200, 400, 404, 405, 413, 429, 501}
GRPC_CODES = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
}
NUM_FAST = 700  # inputs of each API that are made without Hypothesis
fuzzed = settings(
    max_examples=MAX_EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)

NAMES = ["text", "ids", "flag", "scale", "b64", "x"]
SIGNATURES = ["serving_default", "add", "repeat", "words", "no"]
SUFFIXES = ["", ":predict", "/metadata", "/versions/1:predict", "/labels/x:predict"]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.fixed_dictionaries({"b64": st.text(max_size=8)}),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)
documents = st.fixed_dictionaries(
    {},
    optional={"instances": values, "inputs": values, "signature_name": st.sampled_from(SIGNATURES) | values},
)


def assert_valid_answer(client, path, body):
    status, answer = client.http(path, body)
    assert status in REST_STATUSES, (status, answer)
    assert set(answer) in ({"error"}, {"predictions"}, {"outputs"})
    assert (status == 200) == ("error" not in answer)


@fuzzed
@given(document=documents)
def test_json_of_any_structure(client, document):
    assert_valid_answer(client, "/v1/models/upper:predict", json.dumps(document).encode())


@fuzzed
@given(document=documents, position=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_json_with_a_changed_byte(client, document, position, byte):
    body = bytearray(json.dumps(document).encode())
    body[position % len(body)] = byte
    assert_valid_answer(client, "/v1/models/upper:predict", bytes(body))


@fuzzed
@given(body=st.binary(max_size=200))
def test_any_bytes(client, body):
    assert_valid_answer(client, "/v1/models/upper:predict", body)


@fuzzed
@given(name=st.text(min_size=1, max_size=30), suffix=st.sampled_from(SUFFIXES))
def test_any_path(client, name, suffix):
    assert_valid_answer(client, f"/v1/models/{urllib.parse.quote(name, safe='')}{suffix}", b'{"instances": ["a"]}')


@fuzzed
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    num_cut=st.sampled_from([0, 1, 2, 3, 4, 5, 6]),
)
def test_messages_with_changed_and_missing_bytes(client, changes, num_cut):
    message = bytearray(make_request("upper", {"text": ["abc", "defg"]}).SerializeToString())
    for position, byte in changes:
        message[position % len(message)] = byte
    message = bytes(message[: len(message) - num_cut])
    call = client.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    try:
        call(message, timeout=HANG_SECONDS)
    except grpc.RpcError as error:
        assert error.code() in GRPC_CODES, (error.code(), error.details())


def test_http_requests_as_in_the_benchmark(client):
    source, statuses, connection = random.Random(1), collections.Counter(), None
    for _ in range(NUM_FAST):
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", client.server.rest_port))
        request = serving_fuzz.rest_request(source, "upper")
        status, can_continue = serving_fuzz.send_rest(connection, *request)
        assert status is None or status in serving_fuzz.REST_STATUSES, request
        statuses[status] += 1
        if not can_continue:
            connection.close()
            connection = None
    if connection:
        connection.close()
    assert statuses[200] > 50 and statuses[400] > 200 and statuses[None] < 50, statuses


def test_calls_as_in_the_benchmark(client):
    source, codes = random.Random(1), collections.Counter()
    message = make_request("upper", {"text": ["a", "b"]}).SerializeToString()
    for _ in range(NUM_FAST):
        method, data = serving_fuzz.grpc_request(source, "upper", message)
        call = client.channel.unary_unary(method).future(data, timeout=HANG_SECONDS)
        if call.exception():
            assert call.code() in GRPC_CODES, (method, data, call.code(), call.details())
        codes[call.code()] += 1
    assert codes[grpc.StatusCode.OK] > 50 and codes[grpc.StatusCode.INVALID_ARGUMENT] > 200, codes


@pytest.fixture(autouse=True)
def server_continues(client):
    yield
    assert client.predict("upper", {"text": ["a"]})["label"] == [b"A"]
