import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, model_management_pb2, regression_pb2,
)  # fmt: skip
from tensorflow_serving.config import model_server_config_pb2

from serving import grpc_api
from tests.serving import small_models
from tests.serving.conftest import request_of, serving

Code = grpc.StatusCode


def refused(call, *arguments):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)
    return caught.value.code(), caught.value.details()


def test_predict(client):
    response = client.prediction.Predict(request_of("shouter", {"text": ["a", "\u00e4"]}))
    assert (response.model_spec.name, response.model_spec.version.value, response.model_spec.signature_name) == ("shouter", 2, "serving_default")
    assert [value.decode() for value in tf.make_ndarray(response.outputs["label"])] == ["A", "\u00c4"]
    assert client.ask("shouter", {"text": ["a"]}, version=1)["version"] == [1]
    assert client.ask("shouter", {"text": ["a"]}, label="stable")["version"] == [1]
    inputs = {"ids": tf.constant([[1, 2, 3]], tf.int64), "flag": [True], "scale": tf.constant([2.0], tf.float64)}
    assert client.ask("shouter", inputs, "add") == {"sum": [12.0]}


def test_both_ways_in_give_what_the_model_gives(client, shouter):
    texts = ["", "a", "gr\u00fc\u00dfe \U0001f600", "x" * 4000]
    loaded = tf.saved_model.load(str(shouter / "shouter" / "2"))
    direct = {name: value.numpy().tolist() for name, value in loaded.signatures["serving_default"](text=tf.constant(texts)).items()}
    assert client.ask("shouter", {"text": texts}) == direct
    _, answer = client.http("/v1/models/shouter:predict", {"inputs": texts})
    assert answer["outputs"]["label"] == [value.decode() for value in direct["label"]]
    got = tf.constant(answer["outputs"]["probabilities"]).numpy().tolist()  # the same bits, once they are float32 again
    assert got == direct["probabilities"]


def test_outputs_may_be_chosen(client):
    assert client.ask("shouter", {"text": ["a"]}, outputs=["length"]) == {"length": [1]}
    code, said = refused(client.prediction.Predict, request_of("shouter", {"text": ["a"]}, outputs=["no"]))
    assert code == Code.INVALID_ARGUMENT and "output tensor alias not found in signature: no" in said
    assert refused(client.prediction.Predict, request_of("shouter", {"text": ["a"]}, outputs=["length"] * 2))[0] == Code.INVALID_ARGUMENT


def tensor(dtype=tf.string, sizes=(1,), **values):
    proto = tf.make_tensor_proto(["a"])
    proto.dtype = dtype.as_datatype_enum
    del proto.tensor_shape.dim[:]
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda r: r.ClearField("model_spec"), Code.INVALID_ARGUMENT, "Missing ModelSpec"),
        (lambda r: setattr(r.model_spec, "name", "nobody"), Code.NOT_FOUND, "Servable not found for request: Latest(nobody)"),
        (lambda r: setattr(r.model_spec.version, "value", 9), Code.NOT_FOUND, "Servable not found for request: Specific(shouter, 9)"),
        (lambda r: setattr(r.model_spec, "version_label", "no"), Code.INVALID_ARGUMENT, "Unrecognized servable version label: no"),
        (lambda r: setattr(r.model_spec, "signature_name", "no"), Code.FAILED_PRECONDITION, 'Serving signature key "no" not found.'),
        (lambda r: r.inputs.clear(), Code.INVALID_ARGUMENT, "Missing but required: {text}."),
        (lambda r: r.inputs["more"].CopyFrom(tensor()), Code.INVALID_ARGUMENT, "Sent extra: {more}."),
        (lambda r: r.inputs["text"].CopyFrom(tf.make_tensor_proto([1])), Code.INVALID_ARGUMENT, "type DT_INT32, but DT_STRING is expected"),
        (lambda r: r.inputs["text"].CopyFrom(tf.make_tensor_proto([["a"]])), Code.INVALID_ARGUMENT, "shape (1, 1)"),
        (lambda r: r.inputs["text"].CopyFrom(tensor(sizes=[2**40])), Code.INVALID_ARGUMENT, "Invalid TensorProto for input text"),
        (lambda r: r.inputs["text"].CopyFrom(tensor(sizes=[-1])), Code.INVALID_ARGUMENT, "Invalid TensorProto for input text"),
        (lambda r: r.inputs["text"].CopyFrom(tensor(sizes=[99_999])), Code.INVALID_ARGUMENT, "rows"),
        (lambda r: setattr(r.inputs["text"], "dtype", 77), Code.INVALID_ARGUMENT, "DT_STRING is expected"),
    ],
)
def test_what_cannot_be_has_a_status(client, change, code, said):
    request = request_of("shouter", {"text": ["a"]})
    change(request)
    got = refused(client.prediction.Predict, request)
    assert got[0] == code and said in got[1]
    assert client.ask("shouter", {"text": ["a"]})["length"] == [1]


def test_an_error_of_an_op_is_told(client):
    inputs = {"text": ["a"], "temperature": [-1.0], "times": [1]}
    code, said = refused(client.prediction.Predict, request_of("shouter", inputs, "repeat"))
    assert code == Code.INVALID_ARGUMENT and "temperature must be 0 or more" in said and "\n" not in said


def test_a_message_that_is_none(client):
    call = client.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    assert refused(call, b"\xff\xff\xff")[0] in (Code.INTERNAL, Code.INVALID_ARGUMENT)
    assert client.ask("shouter", {"text": ["a"]})["length"] == [1]


def test_a_message_that_is_too_large(client):
    assert refused(client.prediction.Predict, request_of("shouter", {"text": ["a" * 200_000]}))[0] == Code.RESOURCE_EXHAUSTED


def test_metadata_and_status(client):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "shouter"
    response = client.prediction.GetModelMetadata(request)
    definitions = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(definitions)
    assert {"serving_default", "repeat", "words", "add"} <= set(definitions.signature_def)
    request.metadata_field[:] = ["other"]
    assert refused(client.prediction.GetModelMetadata, request) == (Code.INVALID_ARGUMENT, "Metadata field other is not supported")
    request.metadata_field[:] = []
    assert "at least one metadata_field" in refused(client.prediction.GetModelMetadata, request)[1]

    status = get_model_status_pb2.GetModelStatusRequest()
    assert refused(client.model.GetModelStatus, status) == (Code.INVALID_ARGUMENT, "Missing ModelSpec")
    status.model_spec.name = "shouter"
    found = client.model.GetModelStatus(status).model_version_status
    assert [(each.version, each.state) for each in found] == [(2, 30), (1, 30)]
    status.model_spec.name = "nobody"
    assert refused(client.model.GetModelStatus, status) == (Code.NOT_FOUND, "Could not find any versions of model nobody")


def test_other_methods_are_answered_as_tf_serving_does(client):
    for call, request, method in (
        (client.prediction.Classify, classification_pb2.ClassificationRequest(), "classify"),
        (client.prediction.Regress, regression_pb2.RegressionRequest(), "regress"),
    ):
        request.model_spec.name = "shouter"
        code, said = refused(call, request)
        assert code == Code.INVALID_ARGUMENT and f"tensorflow/serving/{method}. Was: tensorflow/serving/predict" in said
    request = inference_pb2.MultiInferenceRequest()
    task = request.tasks.add(method_name="tensorflow/serving/classify")
    task.model_spec.name = "shouter"
    assert "tensorflow/serving/classify. Was" in refused(client.prediction.MultiInference, request)[1]
    task.method_name = "tensorflow/serving/predict"
    assert refused(client.prediction.MultiInference, request)[0] == Code.UNIMPLEMENTED


def test_health(client):
    stub = health_pb2_grpc.HealthStub(client.channel)
    for service in ("", "shouter"):
        assert stub.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
    assert refused(stub.Check, health_pb2.HealthCheckRequest(service="nobody"))[0] == Code.NOT_FOUND


def test_a_config_may_be_sent(shouter):
    with serving(shouter) as client:
        request = model_management_pb2.ReloadConfigRequest()
        config = request.config.model_config_list.config.add(name="loud", base_path=str(shouter / "shouter"))
        config.model_version_policy.specific.versions.append(1)
        config.version_labels["tried"] = 1
        assert client.model.HandleReloadConfigRequest(request).status.error_code == 0
        assert client.ask("loud", {"text": ["a"]}, label="tried")["version"] == [1]
        assert refused(client.prediction.Predict, request_of("shouter", {"text": ["a"]}))[0] == Code.NOT_FOUND
        config.base_path = "/nowhere"
        config.name = "other"
        assert "other" in client.model.HandleReloadConfigRequest(request).status.error_message
        request = model_management_pb2.ReloadConfigRequest(config=model_server_config_pb2.ModelServerConfig())
        assert refused(client.model.HandleReloadConfigRequest, request)[0] == Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "array",
    [
        *(np.arange(6).reshape(2, 3).astype(dtype) for dtype in "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 f2 c8 ?".split()),
        np.array([[b"a", b"\xff"]], object), np.array(3.5, np.float32), np.zeros([0, 2], np.int64), np.array([np.nan, -np.inf], np.float32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)  # fmt: skip
def test_tensors_are_written_where_clients_look_for_them(array):
    proto = grpc_api._tensor(array)
    np.testing.assert_array_equal(tf.make_ndarray(proto), array)
    assert tf.make_ndarray(proto).dtype == array.dtype and proto.HasField("tensor_shape")
    if array.dtype == np.float32:
        assert len(proto.float_val) == array.size and not proto.tensor_content


def test_a_deadline_is_kept(tmp_path):
    small_models.save(tmp_path, "shouter", 1, seconds=20.0)
    with serving(tmp_path) as client:
        code, _ = refused(lambda: client.ask("shouter", {"text": ["wait"]}, timeout=0.02))
        assert code == Code.DEADLINE_EXCEEDED
        assert client.ask("shouter", {"text": ["a"]}, timeout=30)["label"] == [b"A"]


def test_no_answer_comes_later_than_the_server_allows(tmp_path):
    small_models.save(tmp_path, "shouter", 1, seconds=20.0)
    with serving(tmp_path, seconds=0.02) as client:
        assert refused(lambda: client.ask("shouter", {"text": ["wait"]}))[0] == Code.DEADLINE_EXCEEDED
