import http.client
import json
import math
import socket

import pytest

PREDICT = "/v1/models/shouter:predict"


def test_rows_and_columns(client):
    status, answer = client.http(PREDICT, {"instances": ["a", {"b64": "w6TDpA=="}]})
    assert status == 200
    assert [row["label"] for row in answer["predictions"]] == ["A", "\u00c4\u00c4"]
    assert answer["predictions"][1] == {
        "label": "\u00c4\u00c4", "length": 2, "version": 2, "rows": 2, "probabilities": [0.6666667, 0.3333333],
    }  # fmt: skip
    for inputs in (["a", "b"], {"text": ["a", "b"]}):
        status, answer = client.http(PREDICT, {"inputs": inputs})
        assert status == 200 and answer["outputs"]["label"] == ["A", "B"] and answer["outputs"]["length"] == [1, 1]
    assert client.http(PREDICT, {"instances": [{"text": "a"}]})[1]["predictions"][0]["label"] == "A"


def test_signatures_with_several_inputs_of_several_types(client):
    body = {"signature_name": "add", "instances": [{"ids": [1, 2, 3], "flag": True, "scale": 0.5}, {"ids": [4, 5, 6], "flag": False, "scale": 1}]}
    assert client.http(PREDICT, body) == (200, {"predictions": [3.0, -1.0]})
    columns = {"ids": [[1, 2, 3]], "flag": [True], "scale": [2.0]}
    assert client.http(PREDICT, {"signature_name": "add", "inputs": columns}) == (200, {"outputs": [12.0]})


def test_outputs_whose_name_ends_in_bytes_are_base64(client):
    _, answer = client.http(PREDICT, {"signature_name": "words", "instances": ["a b", "c"]})
    assert answer["predictions"] == [{"raw_bytes": {"b64": "YSBi"}, "words": ["a", "b"]}, {"raw_bytes": {"b64": "Yw=="}, "words": ["c", ""]}]


@pytest.mark.parametrize(("path", "version"), [("/versions/1", 1), ("/versions/2", 2), ("/labels/stable", 1), ("/labels/canary", 2), ("", 2)])
def test_versions_and_labels(client, path, version):
    _, answer = client.http(f"/v1/models/shouter{path}:predict", {"inputs": ["a"]})
    assert answer["outputs"]["version"] == [version]


def test_status(client):
    status, answer = client.http("/v1/models/shouter")
    assert status == 200
    fine = {"error_code": "OK", "error_message": ""}
    assert answer == {"model_version_status": [{"version": n, "state": "AVAILABLE", "status": fine} for n in ("2", "1")]}
    assert client.http("/v1/models/shouter/versions/1")[1]["model_version_status"][0]["version"] == "1"
    assert client.http("/v1/models/shouter/labels/canary")[1]["model_version_status"][0]["version"] == "2"


def test_metadata(client):
    status, answer = client.http("/v1/models/shouter/metadata")
    assert status == 200 and answer["model_spec"] == {"name": "shouter", "signature_name": "", "version": "2"}
    definition = answer["metadata"]["signature_def"]["signature_def"]["add"]
    assert definition["inputs"]["ids"]["dtype"] == "DT_INT64" and definition["method_name"] == "tensorflow/serving/predict"
    assert [dim["size"] for dim in definition["inputs"]["ids"]["tensor_shape"]["dim"]] == ["-1", "3"]


def several(**values):
    return {"signature_name": "add", "instances": [{"ids": [1, 2, 3], "flag": True, "scale": 1.0} | values]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON Parse error: The document is empty"),
        (b"{", "JSON Parse error: "),
        (b"[]", "JSON Value: [] Is not object"),
        (b"\xff\xfe{}", "JSON Parse error: "),
        (b'{"instances": [' + b"[" * 50_000, "JSON Parse error: "),
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
        (several(ids=[1, 2]), "shape (1, 2)"),
        (several(ids=[1, 2, 2**63]), "is not of expected type: int64"),
        (several(ids=[1, 2, 0.5]), "JSON Value: 0.5 Type: Number is not of expected type: int64"),
        (several(flag=1), "JSON Value: 1 Type: Number is not of expected type: bool"),
        (several(scale=True), "JSON Value: true Type: True is not of expected type: double"),
        (several(scale={"b64": "YQ=="}), "is not of expected type: double"),
        ({"inputs": {"text": ["a"], "temperature": [1e39], "times": [1]}, "signature_name": "repeat"}, "without loss of precision"),
        ({"inputs": {"text": ["a"], "temperature": [-1], "times": [1]}, "signature_name": "repeat"}, "temperature must be 0 or more"),
        ({"inputs": ["a"] * 101}, "101 rows: at most 100"),
        ({"inputs": ["a" * 5001]}, "a text of more than 5000 bytes"),
    ],
)
def test_what_cannot_be_is_answered_with_400(client, body, said):
    status, answer = client.http(PREDICT, body)
    assert status == 400 and set(answer) == {"error"} and said in answer["error"]
    assert "stack trace" not in answer["error"].lower() and "[[" not in answer["error"].replace("[[[", "")
    assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/models/nobody", 404, "Could not find any versions of model nobody"),
        ("/v1/models/nobody/metadata", 404, "Servable not found for request: Latest(nobody)"),
        ("/v1/models/shouter/versions/9", 404, "Could not find version 9 of model shouter"),
        ("/v1/models/shouter/versions/99999999999999999999", 400, "Failed to convert version"),
        ("/v1/models/shouter/labels/no", 400, "Unrecognized servable version label: no"),
        ("/v1/models", 400, "Missing model name in request."),
        ("/v2", 400, "Malformed request: GET /v2"),
        ("/v1/models/shouter:predict", 400, "Malformed request: GET"),
    ],
)
def test_what_is_not_there(client, path, status, said):
    got, answer = client.http(path)
    assert got == status and said in answer["error"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/models/nobody:predict", 404, "Servable not found for request: Latest(nobody)"),
        ("/v1/models/shouter/versions/9:predict", 404, "Servable not found for request: Specific(shouter, 9)"),
        ("/v1/models/..%2f..%2fetc:predict", 404, "Servable not found for request: Latest(../../etc)"),
        ("/v1/models/shouter:explain", 400, "Malformed request: POST /v1/models/shouter:explain"),
        ("/v1/models/shouter:classify", 400, "Expected classification signature method_name to be tensorflow/serving/classify"),
        ("/v1/models/shouter:regress", 400, "tensorflow/serving/regress. Was: tensorflow/serving/predict"),
    ],
)
def test_posts_to_what_is_not_there(client, path, status, said):
    got, answer = client.http(path, {"inputs": ["a"]})
    assert got == status and said in answer["error"]


def test_a_body_that_is_too_large_is_not_read(client):
    status, answer = client.http(PREDICT, {"inputs": ["a" * 200_000]})
    assert status == 413 and "100000 bytes" in answer["error"]


def test_other_methods(client):
    status, answer = client.http(PREDICT, b"{}", method="PUT")
    assert status == 405 and "Malformed request: PUT" in answer["error"]


def test_numbers_that_json_does_not_have(client):
    body = b'{"signature_name": "add", "inputs": {"ids": [[1, 2, 3]], "flag": [true], "scale": [NaN]}}'
    status, answer = client.http(PREDICT, body)
    assert status == 200 and math.isnan(answer["outputs"][0])


def test_a_client_that_hangs_up_in_the_middle_harms_nobody(client):
    for sent in (b"POST /v1/models/shouter:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", b"GET /v1", b"\x00\xff\x16\x03"):
        with socket.create_connection(("127.0.0.1", client.server.rest_port)) as connection:
            connection.sendall(sent)
    assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200


def test_a_connection_answers_one_request_behind_the_other(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.server.rest_port)
    for text in ("a", "b"):
        connection.request("POST", PREDICT, json.dumps({"inputs": [text]}))
        assert json.load(connection.getresponse())["outputs"]["label"] == [text.upper()]
    connection.close()


def test_metrics_have_the_names_of_tf_serving(client):
    before = count(client, "OK")
    client.http(PREDICT, {"inputs": ["a"]})
    client.http("/v1/models/made-up-by-a-client:predict", {"inputs": ["a"]})
    assert count(client, "OK") == before + 1
    page = client.http("/monitoring/prometheus/metrics")[1]
    assert ':tensorflow:serving:request_latency_bucket{API="Predict"' in page and "made-up-by-a-client" not in page
    assert ":tensorflow:serving:requests_in_flight 0.0" in page


def count(client, status):
    page = client.http("/monitoring/prometheus/metrics")[1]
    lines = [line for line in page.splitlines() if line.startswith(":tensorflow:serving:request_count{") and f'status="{status}"' in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if "shouter" in line)
