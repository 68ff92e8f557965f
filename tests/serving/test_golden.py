"""The answers of a server of ours on loopback, over both APIs, compared with those of the SavedModel."""

import numpy as np
import pytest

from serving import client as clients
from serving import golden
from serving.client import Address, Unanswered

TOLERANCE = 1e-5


@pytest.fixture(params=["gRPC", "REST"])
def address(request, client):
    server = client.server
    return Address(
        f"127.0.0.1:{server.grpc_port}" if request.param == "gRPC" else f"http://127.0.0.1:{server.rest_port}"
    )


def findings(models, address, model="upper", version=1):
    found = list(golden.compare(models / "upper" / "1", address, model, version, TOLERANCE))
    return {each.check: each.problem for each in found}


def test_a_server_of_the_same_model_gives_its_answers(models, address):
    found = findings(models, address)
    expected = ["model upper, version 1", "signature serving_default", "serving_default, request 1 of 1 row"]
    assert list(found) == expected and not any(found.values())


def test_another_answer_is_named(models, address):
    """Version 2 answers with its number."""
    found = findings(models, address, version=2)
    assert found["serving_default, request 1 of 1 row"] == "version[0]: expected 1, got 2"
    assert findings(models, address, version=None)["serving_default, request 1 of 1 row"]  # the newest is version 2


def test_a_missing_model_version_or_signature_is_named(models, address, monkeypatch):
    ((check, problem),) = findings(models, address, "nobody").items()
    assert check == "model nobody" and problem.startswith("the server does not have it")
    assert findings(models, address, version=3) == {
        "model upper, version 3": "the server does not have this version: it has 1, 2"
    }
    assert clients.signatures(address.server, "upper", version=1) >= {"serving_default", "repeat", "words", "add"}
    monkeypatch.setattr(clients, "signatures", lambda *arguments, **flags: {"words"})
    assert findings(models, address)["signature serving_default"] == "the server does not have it"


def test_a_request_that_the_server_refuses_is_a_finding(models, address, monkeypatch):
    monkeypatch.setattr(golden, "_as_lists", lambda inputs, address: {"other": ["a"]})
    assert findings(models, address)["serving_default, request 1 of 1 row"].startswith("expected an answer, got: ")


def test_an_input_may_be_one_number_for_all_rows(models, address, monkeypatch):
    request = golden.Request("serving_default", {"text": np.array([b"a", b"b"], object), "k": np.array(2)})
    monkeypatch.setattr(golden, "read_requests", lambda folder: [request])
    monkeypatch.setattr(golden, "_answers", lambda folder, requests: [{}])
    assert "serving_default, request 1 of 2 rows" in findings(models, address)


def test_a_server_that_does_not_answer_is_an_error(models):
    for scheme in ("", "http://"):
        with pytest.raises(Unanswered, match="no answer from"):
            findings(models, Address(f"{scheme}127.0.0.1:1"))


def test_a_folder_without_requests_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="has no requests to send"):
        golden.read_requests(tmp_path)


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        ([0.5, 0.25], [0.500001, 0.25], []),
        ([1e6, 0.25], [1e6 + 1, 0.25], []),
        ([np.nan], [np.nan], []),
        ([0.5, 0.25], [0.5, 0.26], ["x[1]: expected 0.25, got 0.26 (1 of 2 values differ)"]),
        ([[0.5], [0.25]], [[0.1], [0.26]], ["x[0][0]: expected 0.5, got 0.1 (2 of 2 values differ)"]),
        ([b"a"], ["a"], []),
        ([b"a"], ["b"], ["x[0]: expected 'a', got 'b'"]),
        ([1], ["1"], ["x[0]: expected 1, got '1'"]),
        ([1, 2], [1], ["x: expected the shape [2], got [1]"]),
        ([], [], []),
    ],
)
def test_values_are_compared_within_the_tolerance(expected, got, lines):
    values = np.array(expected, object if expected and isinstance(expected[0], bytes) else None)
    assert golden.differences({"x": values}, {"x": got}, TOLERANCE) == lines


def test_outputs_that_only_one_side_has_are_named():
    one = np.ones(1)
    assert golden.differences({"a": one}, {"b": [1]}, TOLERANCE) == ["output a: missing", "output b: not expected"]


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (["b", "a", "c"], []),
        (["a", "c", "b"], ["top_labels[0][1]: expected 'b', got 'c' (2 of 3 values differ)"]),
        (["x", "b", "c"], ["top_labels[0][0]: expected 'a', got 'x' (1 of 3 values differ)"]),
    ],
)
def test_classes_of_equal_scores_may_be_swapped(found, lines):
    scores = [[0.4, 0.4 - 1e-7, 0.2]]
    expected = {"top_labels": np.array([[b"a", b"b", b"c"]], object), "top_scores": np.array(scores, np.float32)}
    assert golden.differences(expected, {"top_labels": [found], "top_scores": scores}, TOLERANCE) == lines
