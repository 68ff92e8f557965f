import http.client
import json
import math
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving.rest import METRICS
from tests.serving.conftest import HANG_SECONDS, wait_until

PREDICT = "/v1/models/upper:predict"


def test_the_answer_has_the_format_of_the_request(client):
    status, answer = client.http(PREDICT, {"instances": ["a", {"b64": "w6TDpA=="}]})
    assert status == 200
    assert [row["label"] for row in answer["predictions"]] == ["A", "\u00c4\u00c4"]
    assert answer["predictions"][1] == {
        "label": "\u00c4\u00c4",
        "length": 2,
        "version": 2,
        "rows": 2,
        "probabilities": [0.6666667, 0.3333333],
    }
    for inputs in (["a", "b"], {"text": ["a", "b"]}):
        status, answer = client.http(PREDICT, {"inputs": inputs})
        assert status == 200 and answer["outputs"]["label"] == ["A", "B"] and answer["outputs"]["length"] == [1, 1]
    assert client.http(PREDICT, {"instances": [{"text": "a"}]})[1]["predictions"][0]["label"] == "A"


def test_signatures_with_several_inputs_of_several_types(client):
    rows = [{"ids": [1, 2, 3], "flag": True, "scale": 0.5}, {"ids": [4, 5, 6], "flag": False, "scale": 1}]
    body = {"signature_name": "add", "instances": rows}
    assert client.http(PREDICT, body) == (200, {"predictions": [3.0, -1.0]})
    columns = {"ids": [[1, 2, 3]], "flag": [True], "scale": [2.0]}
    assert client.http(PREDICT, {"signature_name": "add", "inputs": columns}) == (200, {"outputs": [12.0]})


def test_outputs_whose_name_ends_in_bytes_are_base64(client):
    _, answer = client.http(PREDICT, {"signature_name": "words", "instances": ["a b", "c"]})
    assert answer["predictions"] == [
        {"raw_bytes": {"b64": "YSBi"}, "words": ["a", "b"]},
        {"raw_bytes": {"b64": "Yw=="}, "words": ["c", ""]},
    ]


@pytest.mark.parametrize(
    ("path", "version"),
    [("/versions/1", 1), ("/versions/2", 2), ("/labels/stable", 1), ("/labels/canary", 2), ("", 2)],
)
def test_versions_and_labels(client, path, version):
    _, answer = client.http(f"/v1/models/upper{path}:predict", {"inputs": ["a"]})
    assert answer["outputs"]["version"] == [version]


def test_status(client):
    status, answer = client.http("/v1/models/upper")
    assert status == 200
    ok = {"error_code": "OK", "error_message": ""}
    versions = [{"version": number, "state": "AVAILABLE", "status": ok} for number in ("2", "1")]
    assert answer == {"model_version_status": versions}
    for path, version in (("versions/1", "1"), ("labels/canary", "2")):
        _, answer = client.http(f"/v1/models/upper/{path}")
        assert [status["version"] for status in answer["model_version_status"]] == [version]


def test_metadata(client):
    status, answer = client.http("/v1/models/upper/metadata")
    assert status == 200 and answer["model_spec"] == {"name": "upper", "signature_name": "", "version": "2"}
    definition = answer["metadata"]["signature_def"]["signature_def"]["add"]
    assert definition["inputs"]["ids"]["dtype"] == "DT_INT64"
    assert definition["method_name"] == "tensorflow/serving/predict"
    assert [dim["size"] for dim in definition["inputs"]["ids"]["tensor_shape"]["dim"]] == ["-1", "3"]


def add_request(**values):
    return {"signature_name": "add", "instances": [{"ids": [1, 2, 3], "flag": True, "scale": 1.0} | values]}


def repeat_request(**values):
    return {"signature_name": "repeat", "inputs": {"text": ["a"], "times": [1]} | values}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error: The document is empty"),
        (b"{", "JSON Parse error: "),
        (b"[]", "JSON Value: [] Is not object"),
        (b"\xff\xfe{}", "JSON Parse error: "),
        (b'{"instances": [' + b"[" * 50_000, "JSON Parse error: "),
        (b'{"instances": [' + b"1" * 5000 + b"]}", "JSON Parse error: "),
        ({}, "Missing 'inputs' or 'instances' key"),
        ({"instances": ["a"], "inputs": ["a"]}, "only one of 'inputs' or 'instances' keys"),
        ({"instances": "a"}, "Excepting 'instances' to be an list/array"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": [1]}, "JSON Value: 1 Type: Number is not of expected type: string"),
        ({"instances": [None]}, "JSON Value: null Type: Null is not of expected type: string"),
        ({"instances": [{"text": "a"}, "b"]}, "Expecting object but got list at item 1 of input list"),
        ({"instances": ["a", {"text": "b"}]}, "Expecting value/list but got object at item 1 of input list"),
        ({"instances": [{"txt": "a"}]}, "JSON object: does not have named input: txt"),
        ({"instances": [{"b64": "!"}]}, "Unable to base64 decode"),
        ({"instances": [["a"]]}, "shape (1, 1)"),
        ({"inputs": "a"}, "shape ()"),
        ({"inputs": {"txt": ["a"]}}, "Missing named input: text in 'inputs' object."),
        ({"inputs": [["a"], ["b", "c"]]}, "Encountered list at unexpected size: 2 at level: 1 expected size: 1"),
        ({"inputs": ["a", ["b"]]}, "Encountered list at unexpected level: 1 expected < 1"),
        ({"inputs": [["a"], "b"]}, "found at incorrect level: 2 in the JSON DOM. Expected at level: 2"),
        ({"inputs": ["a"], "signature_name": 3}, "'signature_name' key must be a string value."),
        ({"inputs": ["a"], "signature_name": "no"}, 'Serving signature name: "no" not found in signature def'),
        ({"inputs": ["a"], "signature_name": "add"}, "inputs is a plain value/list, but expecting an object"),
        ({"instances": ["a"], "signature_name": "add"}, "instances is a plain list, but expecting list of objects"),
        (add_request(ids=[1, 2]), "shape (1, 2)"),
        (add_request(ids=[1, 2, 2**63]), "is not of expected type: int64"),
        (add_request(ids=[1, 2, 0.5]), "JSON Value: 0.5 Type: Number is not of expected type: int64"),
        (add_request(flag=1), "JSON Value: 1 Type: Number is not of expected type: bool"),
        (add_request(scale=True), "JSON Value: true Type: True is not of expected type: double"),
        (add_request(scale={"b64": "YQ=="}), "is not of expected type: double"),
        (repeat_request(temperature=[1e39]), "without loss of precision"),
        (repeat_request(temperature=[-1]), "temperature must be 0 or more"),
        ({"inputs": ["a"] * 101}, "101 rows: a request may have at most 100"),
        ({"inputs": ["a" * 5001]}, "a text of more than 5000 bytes"),
    ],
)
def test_an_invalid_request_has_status_400(client, body, message):
    status, answer = client.http(PREDICT, body)
    assert status == 400 and set(answer) == {"error"} and message in answer["error"]
    assert "stack trace" not in answer["error"].lower() and "{{node" not in answer["error"]
    assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/models/nobody", 404, "Could not find any versions of model nobody"),
        ("/v1/models/nobody/metadata", 404, "Servable not found for request: Latest(nobody)"),
        ("/v1/models/upper/versions/9", 404, "Could not find version 9 of model upper"),
        ("/v1/models/upper/versions/9999999999999999999", 400, "Failed to convert version"),
        ("/v1/models/upper/versions/" + "9" * 5000, 400, "Failed to convert version"),
        ("/v1/models/upper/labels/no", 400, "Unrecognized servable version label: no"),
        ("/v1/models", 400, "Missing model name in request."),
        ("/v2", 400, "Malformed request: GET /v2"),
        ("/v1/models/upper:predict", 400, "Malformed request: GET"),
    ],
)
def test_a_path_without_an_answer_has_an_error(client, path, status, message):
    got, answer = client.http(path)
    assert got == status and message in answer["error"]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/models/nobody:predict", 404, "Servable not found for request: Latest(nobody)"),
        ("/v1/models/upper/versions/9:predict", 404, "Servable not found for request: Specific(upper, 9)"),
        ("/v1/models/..%2f..%2fetc:predict", 404, "Servable not found for request: Latest(../../etc)"),
        ("/v1/models/upper:explain", 400, "Malformed request: POST /v1/models/upper:explain"),
        (
            "/v1/models/upper:classify",
            400,
            "Expected classification signature method_name to be tensorflow/serving/classify",
        ),
        ("/v1/models/upper:regress", 400, "tensorflow/serving/regress. Was: tensorflow/serving/predict"),
    ],
)
def test_a_post_without_an_answer_has_an_error(client, path, status, message):
    got, answer = client.http(path, {"inputs": ["a"]})
    assert got == status and message in answer["error"]


def test_a_body_that_is_too_large_is_not_read(client):
    status, answer = client.http(PREDICT, {"inputs": ["a" * 200_000]})
    assert status == 413 and "100000 bytes" in answer["error"]


def test_other_http_methods_are_refused(client):
    status, answer = client.http(PREDICT, b"{}", method="PUT")
    assert status == 405 and "Malformed request: PUT" in answer["error"]


def test_nan_is_accepted_and_returned(client):
    body = b'{"signature_name": "add", "inputs": {"ids": [[1, 2, 3]], "flag": [true], "scale": [NaN]}}'
    status, answer = client.http(PREDICT, body)
    assert status == 200 and math.isnan(answer["outputs"][0])


def test_a_client_that_closes_its_connection_early_harms_no_other(client):
    post = b"POST /v1/models/upper:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    for sent in (post, b"GET /v1", b"\x00\xff\x16\x03"):
        with socket.create_connection(("127.0.0.1", client.server.rest_port)) as connection:
            connection.sendall(sent)
    assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200


def test_a_connection_answers_several_requests(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.server.rest_port)
    for text in ("a", "b"):
        connection.request("POST", PREDICT, json.dumps({"inputs": [text]}))
        assert json.load(connection.getresponse())["outputs"]["label"] == [text.upper()]
    connection.close()


def test_metrics_have_the_names_of_tf_serving(client):
    initial = count(client, "OK")
    client.http(PREDICT, {"inputs": ["a"]})
    client.http("/v1/models/made-up-by-a-client:predict", {"inputs": ["a"]})
    wait_until(lambda: count(client, "OK") == initial + 1)  # a request is counted just after its answer
    wait_until(lambda: ":tensorflow:serving:requests_in_flight 0.0" in client.http(METRICS)[1])
    page = client.http(METRICS)[1]
    assert ':tensorflow:serving:request_latency_bucket{API="Predict",entrypoint="REST"' in page
    assert "made-up-by-a-client" not in page


def count(client, status):
    series = f':tensorflow:serving:request_count{{model_name="upper",status="{status}"}} '
    lines = [line for line in client.http(METRICS)[1].splitlines() if line.startswith(series)]
    return sum(float(line.removeprefix(series)) for line in lines)


def test_more_requests_than_starlette_has_threads_run_at_the_same_time(client, monkeypatch):
    num_requests = 50
    all_running = threading.Barrier(num_requests)
    predict = client.server.core.predict

    def predict_together(*arguments):
        all_running.wait(HANG_SECONDS)
        return predict(*arguments)

    monkeypatch.setattr(client.server.core, "predict", predict_together)
    with ThreadPoolExecutor(num_requests) as threads:
        answers = list(threads.map(lambda i: client.http(PREDICT, {"inputs": [f"text {i}"]}), range(num_requests)))
    labels = [answer["outputs"]["label"] for _, answer in answers]
    assert labels == [[f"TEXT {i}"] for i in range(num_requests)]
