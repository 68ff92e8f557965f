"""TF Serving's gRPC services, and the standard health service."""

import math

import grpc
import numpy as np
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, model_management_pb2, model_service_pb2_grpc,
    predict_pb2, prediction_service_pb2_grpc, regression_pb2,
)  # fmt: skip

from serving import models_config, statuses
from serving.core import Core, Spec
from serving.errors import Code, ServingError, invalid


def add_services(core: Core, server: grpc.Server) -> None:
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_Prediction(core), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_Model(core), server)
    health_pb2_grpc.add_HealthServicer_to_server(_Health(core), server)


class _Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, core: Core):
        self._core = core

    def Predict(self, request, context):
        with _answering(context):
            spec = _spec(request)
            with self._core.request(spec, "Predict", "GRPC"):
                answer = self._core.predict(
                    spec, lambda signature: _arrays(request, signature, self._core.limits.body_bytes), tuple(request.output_filter), context.time_remaining()
                )
                response = predict_pb2.PredictResponse()
                _fill(response.model_spec, answer.name, answer.version, answer.signature)
                for name, array in answer.outputs.items():
                    response.outputs[name].CopyFrom(_tensor(array))
                return response

    def GetModelMetadata(self, request, context):
        with _answering(context):
            spec = _spec(request)
            if not request.metadata_field:
                raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
            for field in request.metadata_field:
                if field != "signature_def":
                    raise invalid(f"Metadata field {field} is not supported")
            return statuses.metadata(self._core, spec)
        return get_model_metadata_pb2.GetModelMetadataResponse()

    def Classify(self, request, context):
        return self._of_another_method(request, context, "classify", classification_pb2.ClassificationResponse)

    def Regress(self, request, context):
        return self._of_another_method(request, context, "regress", regression_pb2.RegressionResponse)

    def MultiInference(self, request, context):
        with _answering(context):
            for task in request.tasks:
                method = task.method_name.rsplit("/", 1)[-1]
                if not task.model_spec.name:
                    raise invalid("Found ModelSpec with an empty model name.")
                if method not in ("classify", "regress"):
                    raise statuses.unsupported(f"Unsupported signature method_name: {task.method_name}")
                raise statuses.of_another_method(self._core, _spec(task), method)
            raise invalid("Inference request must have at least one task")
        return inference_pb2.MultiInferenceResponse()

    def _of_another_method(self, request, context, method, response):
        with _answering(context):
            spec = _spec(request)
            with self._core.request(spec, method.capitalize(), "GRPC"):
                raise statuses.of_another_method(self._core, spec, method)
        return response()


class _Model(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, core: Core):
        self._core = core

    def GetModelStatus(self, request, context):
        with _answering(context):
            return statuses.status(self._core, _spec(request))
        return get_model_status_pb2.GetModelStatusResponse()

    def HandleReloadConfigRequest(self, request, context):
        with _answering(context):
            try:
                models = models_config.of_proto(request.config)
            except ValueError as error:
                raise invalid(str(error)) from None
            self._core.manager.use(lambda: models)
            not_ready = [name for name, ready in self._core.manager.ready().items() if not ready]
            response = model_management_pb2.ReloadConfigResponse()
            if not_ready:
                response.status.error_code = Code.UNAVAILABLE.value[0]
                response.status.error_message = f"no version of {', '.join(sorted(not_ready))} could be loaded"
            return response
        return model_management_pb2.ReloadConfigResponse()


class _Health(health_pb2_grpc.HealthServicer):
    """Serving is a server, or a model by its name, of which every model, or that one, has a version to answer with."""

    def __init__(self, core: Core):
        self._core = core

    def Check(self, request, context):
        ready = self._core.manager.ready()
        if request.service and request.service not in ready:
            context.abort(Code.NOT_FOUND, f"unknown service: {request.service}")
        serving = ready[request.service] if request.service else all(ready.values())
        kinds = health_pb2.HealthCheckResponse
        return kinds(status=kinds.SERVING if serving else kinds.NOT_SERVING)


class _answering:
    """Turns a ServingError into the status of the call."""

    def __init__(self, context: grpc.ServicerContext):
        self._context = context

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, ServingError):
            self._context.abort(error.code, error.message)


def _spec(request) -> Spec:
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    spec = request.model_spec
    kind = spec.WhichOneof("version_choice")
    number = spec.version.value if kind == "version" else None
    return Spec(spec.name, number, spec.version_label if kind == "version_label" else None, spec.signature_name)


def _arrays(request, signature, most: int) -> dict[str, np.ndarray]:
    """Args: most: values in one of them; a few bytes can stand for more, as equal values need not be repeated."""
    signature.check(request.inputs)
    arrays = {}
    for name, proto in request.inputs.items():
        wanted = signature.definition.inputs[name].dtype
        if proto.dtype != wanted:
            given, expected = map(_type_name, (proto.dtype, wanted))
            raise invalid(f"input {name} is of type {given}, but {expected} is expected")
        sizes = [dim.size for dim in proto.tensor_shape.dim]
        if proto.tensor_shape.unknown_rank or min(sizes, default=0) < 0 or math.prod(sizes) > most:
            raise invalid(f"Invalid TensorProto for input {name}: its shape {sizes}")
        try:
            arrays[name] = tf.make_ndarray(proto)
        except (TypeError, ValueError) as error:
            raise invalid(f"Invalid TensorProto for input {name}: {error}") from None
    return arrays


_FIELDS = {
    np.dtype(dtype): field
    for field, dtypes in {
        "float_val": ["float32"], "double_val": ["float64"], "int_val": ["int8", "int16", "int32", "uint8", "uint16"], "int64_val": ["int64"],
        "uint32_val": ["uint32"], "uint64_val": ["uint64"], "bool_val": ["bool"], "string_val": ["object"],
    }.items()
    for dtype in dtypes
}  # fmt: skip


def _tensor(array: np.ndarray) -> tensor_pb2.TensorProto:
    """With its values in the field of their type, where TF Serving writes them and clients look for them; not as `tensor_content`."""
    if array.dtype not in _FIELDS:
        return tf.make_tensor_proto(array)
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING if array.dtype == object else tf.as_dtype(array.dtype).as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, _FIELDS[array.dtype]).extend(array.ravel().tolist())
    return proto


def _type_name(number: int) -> str:
    known = types_pb2.DataType.DESCRIPTOR.values_by_number
    return known[number].name if number in known else f"number {number}"


def _fill(spec, name: str, version: int, signature: str) -> None:
    spec.name, spec.signature_name = name, signature
    spec.version.value = version
