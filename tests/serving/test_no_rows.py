"""Requests without rows: an empty answer where the graph allows it, else an error that says what is wrong."""

import grpc
import pytest
import tensorflow as tf

from serving.client import Unanswered, predict
from tests.serving import small_models
from tests.serving.conftest import make_request, serving

NO_ROWS = "the request has no rows"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    root = tmp_path_factory.mktemp("rowless")
    small_models.save(root, "upper", 1)
    small_models.save_rowless(root, "rowless", 1)
    with serving(root) as client:
        yield client


def no_texts():
    return tf.constant([], tf.string)


def test_the_answer_is_empty_where_the_graph_allows_it(client):
    outputs = client.predict("upper", {"text": no_texts()})
    assert outputs == {"label": [], "length": [], "version": [], "rows": [], "probabilities": []}
    for body in ({"inputs": []}, {"inputs": {"text": []}}):
        status, answer = client.http("/v1/models/upper:predict", body)
        assert status == 200 and answer["outputs"]["label"] == []
    status, answer = client.http("/v1/models/upper:predict", {"instances": []})
    assert status == 400 and answer["error"].endswith("No values in 'instances' array")


@pytest.mark.parametrize("signature", ["serving_default", "padded"])
def test_the_error_is_clear_where_the_graph_needs_a_row(client, signature):
    with pytest.raises(grpc.RpcError, match=NO_ROWS) as caught:
        client.prediction.Predict(make_request("rowless", {"text": no_texts()}, signature))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    body = {"inputs": [], "signature_name": signature}
    status, answer = client.http("/v1/models/rowless:predict", body)
    assert status == 400 and NO_ROWS in answer["error"]
    status, answer = client.http("/v1/models/rowless:predict", body | {"inputs": ["a", "b"]})
    assert status == 200 and len(answer["outputs"]) == 2


def test_the_client_sends_a_request_without_rows(client):
    server = client.server
    for address in (f"127.0.0.1:{server.grpc_port}", f"http://127.0.0.1:{server.rest_port}"):
        assert predict(address, "upper", {"text": []})["label"] == []
        with pytest.raises(Unanswered, match=NO_ROWS):
            predict(address, "rowless", {"text": []})
