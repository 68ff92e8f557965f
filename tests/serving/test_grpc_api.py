import threading

import grpc
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    regression_pb2,
)

from serving import grpc_api
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, make_request, serving

Code = grpc.StatusCode


def get_error(call, *arguments):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)
    return caught.value.code(), caught.value.details()


def test_a_prediction_names_its_model_version_and_signature(client):
    response = client.prediction.Predict(make_request("upper", {"text": ["a", "\u00e4"]}))
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("upper", 2, "serving_default")
    assert [value.decode() for value in tf.make_ndarray(response.outputs["label"])] == ["A", "\u00c4"]


def test_versions_labels_and_signatures_can_be_chosen(client):
    assert client.predict("upper", {"text": ["a"]}, version=1)["version"] == [1]
    assert client.predict("upper", {"text": ["a"]}, label="stable")["version"] == [1]
    inputs = {"ids": tf.constant([[1, 2, 3]], tf.int64), "flag": [True], "scale": tf.constant([2.0], tf.float64)}
    assert client.predict("upper", inputs, "add") == {"sum": [12.0]}


def test_both_apis_give_the_answers_of_the_model_itself(client, models):
    texts = ["", "a", "gr\u00fc\u00dfe \U0001f600", "x" * 4000]
    loaded = tf.saved_model.load(str(models / "upper" / "2"))
    outputs = loaded.signatures["serving_default"](text=tf.constant(texts))
    expected = {name: value.numpy().tolist() for name, value in outputs.items()}
    assert client.predict("upper", {"text": texts}) == expected
    _, answer = client.http("/v1/models/upper:predict", {"inputs": texts})
    assert answer["outputs"]["label"] == [value.decode() for value in expected["label"]]
    got = tf.constant(answer["outputs"]["probabilities"]).numpy().tolist()  # the same bits after conversion to float32
    assert got == expected["probabilities"]


def test_outputs_can_be_chosen(client):
    assert client.predict("upper", {"text": ["a"]}, outputs=["length"]) == {"length": [1]}
    code, message = get_error(client.prediction.Predict, make_request("upper", {"text": ["a"]}, outputs=["no"]))
    assert code == Code.INVALID_ARGUMENT and "output tensor alias not found in signature: no" in message
    request = make_request("upper", {"text": ["a"]}, outputs=["length"] * 2)
    assert get_error(client.prediction.Predict, request)[0] == Code.INVALID_ARGUMENT


def text_proto(sizes=(1,)):
    proto = tf.make_tensor_proto(["a"])
    del proto.tensor_shape.dim[:]
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


def set_text(proto):
    return lambda request: request.inputs["text"].CopyFrom(proto)


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda r: r.ClearField("model_spec"), Code.INVALID_ARGUMENT, "Missing ModelSpec"),
        (
            lambda r: setattr(r.model_spec, "name", "nobody"),
            Code.NOT_FOUND,
            "Servable not found for request: Latest(nobody)",
        ),
        (
            lambda r: setattr(r.model_spec.version, "value", 9),
            Code.NOT_FOUND,
            "Servable not found for request: Specific(upper, 9)",
        ),
        (
            lambda r: setattr(r.model_spec, "version_label", "no"),
            Code.INVALID_ARGUMENT,
            "Unrecognized servable version label: no",
        ),
        (
            lambda r: setattr(r.model_spec, "signature_name", "no"),
            Code.FAILED_PRECONDITION,
            'Serving signature key "no" not found.',
        ),
        (lambda r: r.inputs.clear(), Code.INVALID_ARGUMENT, "Missing but required: {text}."),
        (lambda r: r.inputs["more"].CopyFrom(text_proto()), Code.INVALID_ARGUMENT, "Sent extra: {more}."),
        (set_text(tf.make_tensor_proto([1])), Code.INVALID_ARGUMENT, "type DT_INT32, but DT_STRING is expected"),
        (set_text(tf.make_tensor_proto([["a"]])), Code.INVALID_ARGUMENT, "shape (1, 1)"),
        (set_text(text_proto(sizes=[2**40])), Code.INVALID_ARGUMENT, "rows"),
        (set_text(text_proto(sizes=[1, 2**40])), Code.INVALID_ARGUMENT, "shape (1, 1099511627776)"),
        (set_text(tf.make_tensor_proto("a", shape=[100])), Code.OK, ""),
        (set_text(tf.make_tensor_proto("a" * 2000, shape=[100])), Code.INVALID_ARGUMENT, "needs 200000 bytes"),
        (set_text(text_proto(sizes=[-1])), Code.INVALID_ARGUMENT, "Invalid TensorProto for input text"),
        (set_text(text_proto(sizes=[99_999])), Code.INVALID_ARGUMENT, "rows"),
        (lambda r: setattr(r.inputs["text"], "dtype", 77), Code.INVALID_ARGUMENT, "DT_STRING is expected"),
    ],
)
def test_an_invalid_request_has_its_status(client, change, code, message):
    request = make_request("upper", {"text": ["a"]})
    change(request)
    if code == Code.OK:
        assert len(client.prediction.Predict(request).outputs["label"].string_val) == 100
        return
    got = get_error(client.prediction.Predict, request)
    assert got[0] == code and message in got[1]
    assert client.predict("upper", {"text": ["a"]})["length"] == [1]


def test_an_error_of_an_op_is_reported_without_its_trace(client):
    inputs = {"text": ["a"], "temperature": [-1.0], "times": [1]}
    code, message = get_error(client.prediction.Predict, make_request("upper", inputs, "repeat"))
    assert code == Code.INVALID_ARGUMENT and "temperature must be 0 or more" in message and "\n" not in message


def test_bytes_that_are_no_message_are_an_error(client):
    call = client.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    assert get_error(call, b"\xff\xff\xff") == (Code.INVALID_ARGUMENT, "the message is not a PredictRequest")
    assert client.predict("upper", {"text": ["a"]})["length"] == [1]


def test_a_message_that_is_too_large_is_refused(client):
    request = make_request("upper", {"text": ["a" * 200_000]})
    assert get_error(client.prediction.Predict, request)[0] == Code.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("character", ["a", "\u00e4", "\U0001f600", "\n"])
def test_a_long_message_of_an_error_is_cut(client, character):
    request = make_request("upper", {"text": ["a"]}, outputs=[character * 3000])
    code, message = get_error(client.prediction.Predict, request)
    assert code == Code.INVALID_ARGUMENT and message.startswith("output tensor alias not found in signature: ")
    assert len(message.encode()) <= 1024 and message.endswith(f"{character}...")


def test_metadata_contains_the_signatures(client):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "upper"
    response = client.prediction.GetModelMetadata(request)
    definitions = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(definitions)
    assert {"serving_default", "repeat", "words", "add"} <= set(definitions.signature_def)
    request.metadata_field[:] = ["other"]
    error = get_error(client.prediction.GetModelMetadata, request)
    assert error == (Code.INVALID_ARGUMENT, "Metadata field other is not supported")
    request.metadata_field[:] = []
    assert "at least one metadata_field" in get_error(client.prediction.GetModelMetadata, request)[1]


def test_status_contains_the_states_of_the_versions(client):
    status = get_model_status_pb2.GetModelStatusRequest()
    assert get_error(client.model.GetModelStatus, status) == (Code.INVALID_ARGUMENT, "Missing ModelSpec")
    status.model_spec.name = "upper"
    versions = client.model.GetModelStatus(status).model_version_status
    assert [(version.version, version.state) for version in versions] == [(2, 30), (1, 30)]
    status.model_spec.name = "nobody"
    error = get_error(client.model.GetModelStatus, status)
    assert error == (Code.NOT_FOUND, "Could not find any versions of model nobody")


def test_other_methods_have_the_errors_of_tf_serving(client):
    for call, request, method in (
        (client.prediction.Classify, classification_pb2.ClassificationRequest(), "classify"),
        (client.prediction.Regress, regression_pb2.RegressionRequest(), "regress"),
    ):
        request.model_spec.name = "upper"
        code, message = get_error(call, request)
        assert code == Code.INVALID_ARGUMENT
        assert f"tensorflow/serving/{method}. Was: tensorflow/serving/predict" in message


def test_multi_inference_has_the_errors_of_tf_serving(client):
    request = inference_pb2.MultiInferenceRequest()
    assert "at least one task" in get_error(client.prediction.MultiInference, request)[1]
    task = request.tasks.add(method_name="tensorflow/serving/classify")
    assert "empty model name" in get_error(client.prediction.MultiInference, request)[1]
    task.model_spec.name = "upper"
    assert "tensorflow/serving/classify. Was" in get_error(client.prediction.MultiInference, request)[1]
    task.method_name = "tensorflow/serving/predict"
    assert get_error(client.prediction.MultiInference, request)[0] == Code.UNIMPLEMENTED


def check_health(client, service=""):
    stub = health_pb2_grpc.HealthStub(client.channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service)).status


def test_a_server_whose_models_are_available_is_healthy(client):
    assert check_health(client) == check_health(client, "upper") == health_pb2.HealthCheckResponse.SERVING
    assert get_error(check_health, client, "nobody")[0] == Code.NOT_FOUND


def test_a_server_whose_model_does_not_load_is_not_healthy(tmp_path):
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"nonsense")
    with serving(tmp_path) as client:
        assert check_health(client) == check_health(client, "broken") == health_pb2.HealthCheckResponse.NOT_SERVING


def test_the_health_can_be_watched(tmp_path):
    with serving(tmp_path, poll_seconds=0.01, shutdown_delay=2) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        watches = {name: stub.Watch(health_pb2.HealthCheckRequest(service=name)) for name in ("", "upper")}
        first = {name: next(watch).status for name, watch in watches.items()}
        response = health_pb2.HealthCheckResponse
        assert first == {"": response.NOT_SERVING, "upper": response.SERVICE_UNKNOWN}
        small_models.save(tmp_path, "upper", 1)
        assert next(watches[""]).status == response.SERVING
        wait_for_status(watches["upper"], response.SERVING)
        # The client drops what has arrived and was not read when the server ends the call.
        last = []
        reader = threading.Thread(target=lambda: last.extend(answer.status for answer in watches[""]))
        reader.start()
    reader.join(HANG_SECONDS)
    assert last == [response.NOT_SERVING]


def wait_for_status(watch, status):
    while next(watch).status != status:
        pass


def test_watchers_are_limited_and_occupy_no_prediction(models, monkeypatch):
    monkeypatch.setattr(grpc_api, "_MAX_WATCHERS", 3)
    with serving(models, max_requests=1) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(3)]
        assert [next(watch).status for watch in watches] == [1, 1, 1]
        assert get_error(next, stub.Watch(health_pb2.HealthCheckRequest()))[0] == Code.RESOURCE_EXHAUSTED
        assert client.predict("upper", {"text": ["a"]})["length"] == [1]


def test_a_client_that_never_sends_its_message_occupies_no_thread(models):
    with serving(models, max_requests=1, body_timeout=1.0) as client:
        call = client.channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
        never = threading.Event()
        stuck = [call.future(iter(never.wait, None)) for _ in range(20)]
        assert client.predict("upper", {"text": ["a"]})["length"] == [1]
        errors = [future.exception(HANG_SECONDS) for future in stuck]
        assert {error.code() for error in errors} == {Code.DEADLINE_EXCEEDED}
        never.set()


def test_a_method_that_does_not_exist_is_reported_and_counted(client):
    for method in ("/tensorflow.serving.PredictionService/Nothing", "/nothing"):
        assert get_error(client.channel.unary_unary(method), b"")[0] == Code.UNIMPLEMENTED
    assert b'API="unknown",entrypoint="GRPC"' in client.server.core.metrics.page()


def config_request(*entries) -> model_management_pb2.ReloadConfigRequest:
    """A config with these models: dicts of fields."""
    request = model_management_pb2.ReloadConfigRequest()
    request.config.model_config_list.SetInParent()
    for entry in entries:
        request.config.model_config_list.config.add(**{"model_platform": "tensorflow"} | entry)
    return request


def specific(*versions):
    return {"model_version_policy": {"specific": {"versions": versions}}}


def test_only_one_config_is_loaded_at_a_time(client):
    with grpc_api._config_lock:
        request = config_request({"name": "x", "base_path": "/"})
        assert get_error(client.model.HandleReloadConfigRequest, request)[0] == Code.UNAVAILABLE


def test_a_config_can_be_sent(models):
    with serving(models) as client:
        upper = {"base_path": str(models / "upper"), **specific(1), "version_labels": {"tested": 1}}
        response = client.model.HandleReloadConfigRequest(config_request({"name": "loud", **upper}))
        assert response.status.error_code == 0
        assert client.predict("loud", {"text": ["a"]}, label="tested")["version"] == [1]
        assert get_error(client.prediction.Predict, make_request("upper", {"text": ["a"]}))[0] == Code.NOT_FOUND


def test_a_config_whose_model_has_no_version_says_so(models, tmp_path):
    with serving(models) as client:
        request = config_request({"name": "other", "base_path": str(tmp_path)})
        assert "other" in client.model.HandleReloadConfigRequest(request).status.error_message


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        ({"version_labels": {"new": 9}}, Code.FAILED_PRECONDITION, "label new to version 9 of model loud"),
        (
            {"version_labels": {"new": 2}, **specific(1)},
            Code.FAILED_PRECONDITION,
            "version 2 of model loud, which is not currently available for inference",
        ),
        (specific(), Code.INVALID_ARGUMENT, "names no version"),
        ({"base_path": "upper"}, Code.INVALID_ARGUMENT, "absolute path"),
        ({"base_path": ""}, Code.INVALID_ARGUMENT, "base_path"),
        ({"base_path": "/nowhere/upper"}, Code.INVALID_ARGUMENT, "Could not find base path /nowhere/upper"),
        ({"model_platform": "pytorch"}, Code.INVALID_ARGUMENT, "unsupported platform pytorch"),
        (None, Code.INVALID_ARGUMENT, "model_config_list"),
    ],
)
def test_a_config_that_is_refused_changes_nothing(models, entry, code, message):
    with serving(models, poll_seconds=0.01) as client:
        request = model_management_pb2.ReloadConfigRequest()
        if entry is not None:
            good = {"name": "good", "base_path": str(models / "upper")}
            request = config_request(good, {"name": "loud", "base_path": str(models / "upper")} | entry)
        got = get_error(client.model.HandleReloadConfigRequest, request)
        assert got[0] == code and message in got[1]
        manager = client.server.manager
        manager.refresh()
        assert manager.readiness() == {"upper": True} and manager.is_ready()
        assert client.predict("upper", {"text": ["a"]}, label="stable")["version"] == [1]
        status = get_model_status_pb2.GetModelStatusRequest()
        status.model_spec.name = "good"
        assert get_error(client.model.GetModelStatus, status)[0] == Code.NOT_FOUND


def test_the_deadline_of_a_client_applies(client, gate):
    error = get_error(lambda: client.predict("upper", {"text": ["wait"]}, timeout=0.05))
    assert error[0] == Code.DEADLINE_EXCEEDED
    gate.open.set()
    assert client.predict("upper", {"text": ["a"]})["label"] == [b"A"]


def test_no_answer_comes_after_the_timeout_of_the_server(models):
    with serving(models, timeout=1e-9) as client:
        assert get_error(lambda: client.predict("upper", {"text": ["a"]}))[0] == Code.DEADLINE_EXCEEDED
