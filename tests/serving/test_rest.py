import contextlib
import http.client
import json
import math
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from serving.logs import JsonFormatter, logger
from serving.rest import METRICS
from tests.serving.conftest import HANG_SECONDS, serving, wait_until
from tests.serving.test_bodies import PREDICT, compressed_request


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
        (b'\xef\xbb\xbf{"inputs": ["a"]}', "JSON Parse error: "),
        ('{"inputs": ["a"]}'.encode("utf-16"), "JSON Parse error: "),
        ('{"inputs": ["a"]}'.encode("utf-16-le"), "JSON Parse error: "),
        ('{"inputs": ["a"]}'.encode("utf-32-be"), "JSON Parse error: "),
        (b'{"inputs": ["a\\ud800"]}', "JSON Parse error: The surrogate pair in string is invalid."),
        (b'{"inputs": ["\\uDC00\\uD800"]}', "JSON Parse error: The surrogate pair in string is invalid."),
        (b'{"inputs": ["a"], "\\ud800": 1}', "JSON Parse error: The surrogate pair in string is invalid."),
        (b'{"inputs": ["a"], "signature_name": "\\udfff"}', "JSON Parse error: The surrogate pair"),
        (b'{"inputs": ["a"], "x": {"y": [0, {"z": "\\ud800"}]}}', "JSON Parse error: The surrogate pair"),
        (b'{"inputs": ["\xed\xa0\x80"]}', "JSON Parse error: Invalid encoding in string."),
        (b'{"instances": [' + b"[" * 50_000, "JSON Parse error: "),
        (b'{"instances": [' + b"1" * 5000 + b"]}", "JSON Parse error: "),
        (b'{"inputs": ' + b"[" * 65 + b'"a"' + b"]" * 65 + b"}", "Encountered list at unexpected level: 32"),
        (b'{"inputs": ' + b'{"a":' * 990 + b"1" + b"}" * 990 + b"}", "JSON"),
        (b"[" * 990 + b"]" * 990, "JSON"),
        ({}, "Missing 'inputs' or 'instances' key"),
        ({"instances": ["a"], "inputs": ["a"]}, "only one of 'inputs' or 'instances' keys"),
        ({"instances": "a"}, "Excepting 'instances' to be an list/array"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": [1]}, "JSON Value: 1 Type: Number is not of expected type: string"),
        ({"instances": [None]}, "JSON Value: null Type: Null is not of expected type: string"),
        ({"instances": [{"text": "a"}, "b"]}, "Expecting object but got list at item 1 of input list"),
        ({"instances": ["a", {"text": "b"}]}, "Expecting value/list but got object at item 1 of input list"),
        ({"instances": [{"txt": "a"}]}, "JSON object: does not have named input: txt; the inputs are text"),
        ({"instances": [{"b64": "!"}]}, "Unable to base64 decode"),
        ({"instances": [["a"]]}, "shape (1, 1)"),
        ({"inputs": "a"}, "shape ()"),
        ({"inputs": {"txt": ["a"]}}, "Missing named input: text in 'inputs' object."),
        ({"inputs": [["a"], ["b", "c"]]}, "Encountered list at unexpected size: 2 at level: 1 expected size: 1"),
        ({"inputs": ["a", ["b"]]}, "Encountered list at unexpected level: 1 expected < 1"),
        ({"inputs": [["a"], "b"]}, "found at incorrect level: 2 in the JSON DOM. Expected at level: 2"),
        ({"inputs": ["a"], "signature_name": 3}, "'signature_name' key must be a string value."),
        ({"inputs": ["a"], "signature_name": "no"}, 'Serving signature name: "no" not found in signature def'),
        ({"inputs": ["a"], "signature_name": "add"}, "required as per tensorinfo_map; the inputs are flag, ids, "),
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


def test_other_http_methods_are_refused(client):
    status, answer = client.http(PREDICT, b"{}", method="PUT")
    assert status == 405 and "Malformed request: PUT" in answer["error"]


def test_nan_is_accepted_and_returned(client):
    body = b'{"signature_name": "add", "inputs": {"ids": [[1, 2, 3]], "flag": [true], "scale": [NaN]}}'
    status, answer = client.http(PREDICT, body)
    assert status == 200 and math.isnan(answer["outputs"][0])


def test_a_client_that_closes_its_connection_early_harms_no_other(client):
    post = b"POST /v1/models/upper:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
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
    series = re.compile(rf':tensorflow:serving:request_count{{.*model_name="upper",status="{status}".*}} (.*)')
    return sum(float(match[1]) for match in map(series.fullmatch, client.http(METRICS)[1].splitlines()) if match)


def test_status_health_and_metrics_answer_while_all_predictions_are_occupied(models, gate):
    with serving(models, max_requests=2) as client, ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(client.http, PREDICT, {"inputs": ["wait"]}) for _ in range(2)]
        wait_until(lambda: ":tensorflow:serving:requests_in_flight 2.0" in client.http(METRICS)[1])
        status, answer = client.http(PREDICT, {"inputs": ["a"]})
        assert status == 429 and "2 requests are in progress already" in answer["error"]
        for path in ("/v1/models/upper", "/v1/models/upper/metadata", "/healthz", "/readyz"):
            assert client.http(path)[0] == 200
        assert client.predict_error() == grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.open.set()
        assert [future.result()[0] for future in waiting] == [200, 200]
        assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200


def test_a_surrogate_pair_and_an_escaped_backslash_are_texts(client):
    body = b'{"inputs": ["\\ud83d\\ude00", "\\\\ud800"], "signature_name": "words"}'
    status, answer = client.http(PREDICT, body)
    assert status == 200 and answer["outputs"]["words"] == [["\U0001f600"], ["\\ud800"]]


def test_the_deadline_counts_from_the_arrival(client, monkeypatch):
    core = client.server.core
    record = core.record

    @contextlib.contextmanager
    def record_early(*arguments):
        with record(*arguments) as request:
            request.arrival -= core.limits.timeout  # as if the body had taken this time to arrive
            yield request

    monkeypatch.setattr(core, "record", record_early)
    assert client.http(PREDICT, {"inputs": ["a"]})[0] == 504
    assert client.predict_error() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_process_is_alive_before_it_is_ready(client, tmp_path):
    assert client.http("/healthz") == (200, {"alive": True})
    assert client.http("/readyz") == (200, {"ready": True, "stopping": False, "models": {"upper": True}})
    assert client.http("/readyz", method="HEAD")[0] == 200
    with serving(tmp_path) as empty:
        assert empty.http("/healthz")[0] == 200
        assert empty.http("/readyz") == (503, {"ready": False, "stopping": False, "models": {}})


def test_predictions_wait_for_the_first_load(models):
    with serving(models) as client:
        client.server.core.is_started = False
        assert client.http("/readyz")[0] == 503
        assert client.http("/v1/models/later:predict", {"inputs": ["a"]})[0] == 503
        assert client.http(PREDICT, {"inputs": ["a"]})[0] == 200  # this model is loaded already
        client.server.core.is_started = True


@pytest.mark.parametrize(("name", "value"), [("Host", "attacker.example"), ("Origin", "http://attacker.example")])
def test_pages_of_other_sites_are_refused(client, name, value):
    response, content = compressed_request(client, b'{"inputs": ["a"]}', **{name: value})
    assert response.status == 403 and "error" in json.loads(content)


def test_every_request_is_counted_and_logged_as_one_line(models, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("INFO", logger.name), serving(models, max_body_bytes=1000) as client:
        monkeypatch.setattr(client.server.core, "check_started", lambda spec: 1 / (spec.name != "bug"))
        client.http("/v2")
        client.http(PREDICT, {"inputs": ["a" * 2000]})
        client.http(PREDICT, b"{")
        client.http("/v1/models/bug:predict", b"{")
        client.http("/v1/models/upper", method="PUT")
        page = client.http(METRICS)[1]
    records = [record for record in caplog.records if record.message == "request"]
    statuses = ["INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "INTERNAL", "UNIMPLEMENTED", "OK"]
    assert [record.fields["status"] for record in records] == statuses
    assert page.count("request_count{") == 5
    failed = json.loads(JsonFormatter().format(records[3]))
    assert failed["level"] == "error" and "ZeroDivisionError" in failed["exception"]


def test_many_requests_run_at_the_same_time(client, monkeypatch):
    num_requests = 50
    all_running = threading.Barrier(num_requests)
    predict = client.server.core.predict

    def predict_together(*arguments, **keywords):
        all_running.wait(HANG_SECONDS)
        return predict(*arguments, **keywords)

    monkeypatch.setattr(client.server.core, "predict", predict_together)
    with ThreadPoolExecutor(num_requests) as threads:
        answers = list(threads.map(lambda i: client.http(PREDICT, {"inputs": [f"text {i}"]}), range(num_requests)))
    labels = [answer["outputs"]["label"] for _, answer in answers]
    assert labels == [[f"TEXT {i}"] for i in range(num_requests)]
