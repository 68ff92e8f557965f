"""What a server answers to others while one model, one kind of request or one client asks for everything."""

import contextlib
import http.client
import json
import time

import grpc
import pytest

from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, make_request, serving

MAX_REQUESTS = 256
MAX_STREAMS = 360  # calls that fit into one connection
OTHER_CLIENT = "127.0.0.9"


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    root = tmp_path_factory.mktemp("two")
    for name in ("slow", "other"):
        small_models.save_generator(root, name, 1)
    return root


def generate(model, text, length):
    return make_request(model, {"text": [text], "max_length": [length]})


def post(client, path, body, source=None):
    """The status of a POST that comes from the address `source`."""
    connection = http.client.HTTPConnection("127.0.0.1", client.server.rest_port, HANG_SECONDS, source and (source, 0))
    with contextlib.closing(connection):
        try:
            connection.connect()
        except OSError:  # macOS has one loopback address
            pytest.skip(f"this machine has no address {source}")
        connection.request("POST", path, json.dumps(body))
        return connection.getresponse().status


def ask(client, model, length=1, source=None):
    inputs = {"text": ["a"], "max_length": [length]}
    return post(client, f"/v1/models/{model}:predict", {"inputs": inputs}, source)


def num_in_lanes(shares):
    return sum(num for holder, num in list(shares._held.items()) if holder[0] == "lane")


@contextlib.contextmanager
def flooded(client, gate, requests):
    """Sends the requests one after the other. Gives those that wait for the gate. At the end all are answered."""
    shares, waiting = client.server._admission.requests, []
    try:
        for request in requests:
            call = client.prediction.Predict.future(request)
            while not call.done() and num_in_lanes(shares) == len(waiting):
                time.sleep(0.001)
            if not call.done():
                waiting.append(call)
            else:
                assert call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "try again later" in call.details()
        yield waiting
    finally:
        gate.open.set()
        for call in waiting:
            call.result(HANG_SECONDS)


def test_long_requests_to_one_model_leave_room_for_its_short_ones_and_for_other_models(two_models, gate):
    with serving(two_models) as client, flooded(client, gate, [generate("slow", "wait", 2000)] * MAX_REQUESTS) as held:
        assert len(held) == MAX_REQUESTS // 2 + 1
        assert ask(client, "other") == 200
        assert ask(client, "other", length=2000) == 200
        assert ask(client, "slow") == 200
        assert ask(client, "slow", length=2000) == 429
        assert ask(client, "slow", length=2000, source=OTHER_CLIENT) == 429


def test_requests_of_all_kinds_to_one_model_leave_room_for_other_models(two_models, gate):
    requests = [generate("slow", "wait", length) for length in (2000, 1)] * (MAX_STREAMS // 2)
    with serving(two_models) as client, flooded(client, gate, requests) as held:
        assert MAX_REQUESTS // 2 < len(held) <= 2 * MAX_REQUESTS // 3 + 1
        assert ask(client, "slow", source=OTHER_CLIENT) == 429
        assert ask(client, "other") == 200


def test_one_client_leaves_room_for_others(two_models, gate):
    kinds = [generate("slow", "wait", 2000), generate("slow", "wait", 1), generate("other", "wait", 2000)]
    requests = kinds * (MAX_STREAMS // len(kinds))
    with serving(two_models) as client, flooded(client, gate, requests) as held:
        assert 2 * MAX_REQUESTS // 3 < len(held) <= 3 * MAX_REQUESTS // 4 + 1
        assert ask(client, "other") == 429
        assert ask(client, "other", source=OTHER_CLIENT) == 200
