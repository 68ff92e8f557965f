"""TF Serving's gRPC services, and the standard health service."""

import functools
import math

import grpc
import numpy as np
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from serving import models_config, statuses
from serving.core import Core, ModelSpec
from serving.errors import Code, ServingError, invalid


def add_services(core: Core, server: grpc.Server) -> None:
    """Adds the prediction, model and health services to the server."""
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_PredictionService(core), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_ModelService(core), server)
    health_pb2_grpc.add_HealthServicer_to_server(_HealthService(core), server)


def _abort_on_error(method):
    """Turns a ServingError of a service's method into the status of the call."""

    @functools.wraps(method)
    def call(self, request, context: grpc.ServicerContext):
        try:
            return method(self, request, context)
        except ServingError as error:
            context.abort(error.code, error.message)

    return call


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, core: Core):
        self._core = core

    @_abort_on_error
    def Predict(self, request, context):
        spec = _model_spec(request)
        max_values = self._core.limits.max_body_bytes
        with self._core.admit(spec, "Predict", "GRPC"):
            prediction = self._core.predict(
                spec,
                lambda signature: _to_arrays(request, signature, max_values),
                tuple(request.output_filter),
                context.time_remaining(),
            )
            response = predict_pb2.PredictResponse()
            response.model_spec.name = prediction.model
            response.model_spec.version.value = prediction.version
            response.model_spec.signature_name = prediction.signature
            for name, array in prediction.outputs.items():
                response.outputs[name].CopyFrom(_to_proto(array))
            return response

    @_abort_on_error
    def GetModelMetadata(self, request, context):
        spec = _model_spec(request)
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != "signature_def":
                raise invalid(f"Metadata field {field} is not supported")
        return statuses.metadata(self._core, spec)

    @_abort_on_error
    def Classify(self, request, context):
        self._refuse(request, "classify")

    @_abort_on_error
    def Regress(self, request, context):
        self._refuse(request, "regress")

    @_abort_on_error
    def MultiInference(self, request, context):
        if not request.tasks:
            raise invalid("Inference request must have at least one task")
        task = request.tasks[0]  # the first task decides, as every task is an error
        method = task.method_name.rsplit("/", 1)[-1]
        if not task.model_spec.name:
            raise invalid("Found ModelSpec with an empty model name.")
        if method not in ("classify", "regress"):
            raise ServingError(Code.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}")
        raise statuses.wrong_method(self._core, _model_spec(task), method)

    def _refuse(self, request, method: str) -> None:
        spec = _model_spec(request)
        with self._core.admit(spec, method.capitalize(), "GRPC"):
            raise statuses.wrong_method(self._core, spec, method)


class _ModelService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, core: Core):
        self._core = core

    @_abort_on_error
    def GetModelStatus(self, request, context):
        return statuses.status(self._core, _model_spec(request))

    @_abort_on_error
    def HandleReloadConfigRequest(self, request, context):
        try:
            models = models_config.models_from_proto(request.config)
        except ValueError as error:
            raise invalid(str(error)) from None
        self._core.manager.serve(lambda: models)
        not_ready = [name for name, ready in self._core.manager.readiness().items() if not ready]
        response = model_management_pb2.ReloadConfigResponse()
        if not_ready:
            response.status.error_code = Code.UNAVAILABLE.value[0]
            response.status.error_message = f"no version of {', '.join(sorted(not_ready))} could be loaded"
        return response


class _HealthService(health_pb2_grpc.HealthServicer):
    """SERVING if every model, or the named one, has an available version."""

    def __init__(self, core: Core):
        self._core = core

    @_abort_on_error
    def Check(self, request, context):
        readiness = self._core.manager.readiness()
        if request.service and request.service not in readiness:
            raise ServingError(Code.NOT_FOUND, f"unknown service: {request.service}")
        serving = readiness[request.service] if request.service else all(readiness.values())
        response = health_pb2.HealthCheckResponse
        return response(status=response.SERVING if serving else response.NOT_SERVING)


def _model_spec(request) -> ModelSpec:
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    spec = request.model_spec
    choice = spec.WhichOneof("version_choice")
    number = spec.version.value if choice == "version" else None
    label = spec.version_label if choice == "version_label" else None
    return ModelSpec(spec.name, number, label, spec.signature_name)


def _to_arrays(request, signature, max_values: int) -> dict[str, np.ndarray]:
    """The inputs of a request: input -> array.

    Args:
        request: the request.
        signature: the signature that it names.
        max_values: maximum number of values in one array. The size of the message is no bound for it, because a
            message may contain one value and a shape that repeats it.

    Raises:
        ServingError: an input is missing, unknown, too large or has the wrong type.
    """
    signature.check(request.inputs)
    arrays = {}
    for name, proto in request.inputs.items():
        dtype = signature.definition.inputs[name].dtype
        if proto.dtype != dtype:
            given, expected = map(_type_name, (proto.dtype, dtype))
            raise invalid(f"input {name} is of type {given}, but {expected} is expected")
        sizes = [dim.size for dim in proto.tensor_shape.dim]
        if proto.tensor_shape.unknown_rank or min(sizes, default=0) < 0 or math.prod(sizes) > max_values:
            raise invalid(f"Invalid TensorProto for input {name}: its shape {sizes}")
        try:
            arrays[name] = tf.make_ndarray(proto)
        except (TypeError, ValueError) as error:
            raise invalid(f"Invalid TensorProto for input {name}: {error}") from None
    return arrays


_VALUE_FIELDS = {
    np.dtype("float32"): "float_val",
    np.dtype("float64"): "double_val",
    np.dtype("int8"): "int_val",
    np.dtype("int16"): "int_val",
    np.dtype("int32"): "int_val",
    np.dtype("uint8"): "int_val",
    np.dtype("uint16"): "int_val",
    np.dtype("int64"): "int64_val",
    np.dtype("uint32"): "uint32_val",
    np.dtype("uint64"): "uint64_val",
    np.dtype("bool"): "bool_val",
    np.dtype("object"): "string_val",
}


def _to_proto(array: np.ndarray) -> tensor_pb2.TensorProto:
    """Puts the values into the field of their type, as TF Serving does and clients expect, not `tensor_content`."""
    if array.dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)
    dtype = types_pb2.DT_STRING if array.dtype == object else tf.as_dtype(array.dtype).as_datatype_enum
    proto = tensor_pb2.TensorProto(dtype=dtype)
    proto.tensor_shape.SetInParent()  # the shape of a scalar is set, too
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, _VALUE_FIELDS[array.dtype]).extend(array.ravel().tolist())
    return proto


def _type_name(number: int) -> str:
    names = types_pb2.DataType.DESCRIPTOR.values_by_number
    return names[number].name if number in names else f"number {number}"
