"""TF Serving's gRPC services, and the standard health service.

A call is admitted, read and limited in the server's event loop, and answered in a thread. That is why every method is
registered as one that reads a stream of messages: such a method is called before the message has arrived. A client that
never sends its message then occupies no thread.
"""

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import health_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from serving import clients, grpc_generation, models_config, statuses
from serving.admission import Admission, Reservation
from serving.core import Core, Request
from serving.errors import Code, ServingError, invalid
from serving.logs import printable
from serving.protos import model_spec, to_arrays, to_proto
from serving.settings import Limits
from serving.shares import Shares

_MAX_WATCHERS = 100
_WATCHER_WEIGHT = 3  # a client may hold so many times the free watches (shares.py)
_MAX_PARSED_BYTES = 2**16  # a larger message is parsed in a thread, because others wait for the event loop
_WATCH_SECONDS = 0.5  # between two looks at the health that a client watches
_MAX_DETAILS_BYTES, _CUT = 1024, "..."
_config_lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class _Method:
    """A method of a service.

    Attributes:
        api: its name in metrics and log.
        message: type of its request.
        answer: called in a thread with the core, the message, the record of the call and its deadline; for a
            prediction with `join_lane` of its reservation, too.
        is_prediction: whether it counts as a prediction.
    """

    api: str
    message: type[Message]
    answer: Callable[..., Message]
    is_prediction: bool = False


class Handlers(grpc.GenericRpcHandler):
    """Answers the calls of all services.

    Args:
        core: answers the requests.
        admission: limits them.
    """

    def __init__(self, core: Core, admission: Admission):
        self._core, self._admission = core, admission
        self._watchers = Shares(_MAX_WATCHERS)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """The handler of a call; for a method that does not exist, one that reports it."""
        path = handler_call_details.method
        if path == "/grpc.health.v1.Health/Watch":
            return grpc.stream_stream_rpc_method_handler(self._watch)
        if path == grpc_generation.METHOD:
            return grpc.stream_stream_rpc_method_handler(self._generate)
        method = _METHODS.get(path)

        async def answer(_, context: grpc.aio.ServicerContext) -> bytes | None:
            try:
                api = method.api if method else "unknown"
                with self._core.record(api, "GRPC") as record, self._admission.running.track():
                    if method is None:
                        raise ServingError(Code.UNIMPLEMENTED, "unknown service or method")
                    return await self._answer(method, context, record)
            except ServingError as error:
                await context.abort(error.code, _details(error))
            return None  # `abort` has raised

        return grpc.stream_unary_rpc_method_handler(answer)

    async def _answer(self, method: _Method, context: grpc.aio.ServicerContext, record: Request) -> bytes:
        core, admission = self._core, self._admission
        remaining = context.time_remaining()
        longest = core.limits.timeout
        deadline = record.arrival + (longest if remaining is None else min(longest, remaining))
        client = clients.from_peer(context.peer())
        if method.is_prediction:
            admission.check_free(client)
        with admission.reservation(client) as reservation:
            message = await self._receive(method.message, context, reservation, record)
            arguments = (method, core, message, record, deadline)
            if method.is_prediction:
                name = message.model_spec.name
                return await admission.predict(reservation, name, _run, *arguments, reservation.join_lane)
            return await admission.query(_run, *arguments)

    async def _receive(
        self, message: type[Message], context: grpc.aio.ServicerContext, reservation: Reservation, record: Request
    ) -> Any:
        """The message of a call; `record` gets its size."""
        data = await _read(context, self._core.limits)
        record.num_bytes = len(data)
        reservation.add(len(data))
        if len(data) > _MAX_PARSED_BYTES:
            return await self._admission.query(_parse, message, data)
        return _parse(message, data)

    async def _generate(self, _, context: grpc.aio.ServicerContext) -> None:
        """Sends a text while it is generated."""
        try:
            with self._core.record("Generate", "GRPC") as record, self._admission.running.track():
                client = clients.from_peer(context.peer())
                self._admission.check_free(client)
                with self._admission.reservation(client) as reservation:
                    request = await self._receive(predict_pb2.PredictRequest, context, reservation, record)
                    await grpc_generation.answer(self._core, request, reservation, record, context)
        except ServingError as error:
            await context.abort(error.code, _details(error))

    async def _watch(self, _, context: grpc.aio.ServicerContext) -> None:
        """Sends the health now and whenever it changes, until the server stops."""
        try:
            with self._core.record("Watch", "GRPC"), self._admission.running.track():
                client, watchers = clients.from_peer(context.peer()), self._watchers
                if watchers.is_used_up() or watchers.has_its_share(client, _WATCHER_WEIGHT):
                    message = f"clients watch already, up to the limit of {watchers.number} or to this client's share"
                    raise ServingError(Code.RESOURCE_EXHAUSTED, message)
                watchers.take(1, client)
                try:
                    await self._send_health(context)
                finally:
                    watchers.give_back(1, client)
        except ServingError as error:
            await context.abort(error.code, _details(error))

    async def _send_health(self, context: grpc.aio.ServicerContext) -> None:
        data = await _read(context, self._core.limits)
        service = _parse(health_pb2.HealthCheckRequest, data).service
        last = None
        while True:
            is_stopping = self._core.is_stopping
            status = _health(self._core, service)
            if status != last:
                await context.write(health_pb2.HealthCheckResponse(status=status).SerializeToString())
                last = status
            elif is_stopping:  # not at once after the last answer: a client drops what it has not read when a call ends
                return
            await asyncio.sleep(_WATCH_SECONDS)


async def _read(context: grpc.aio.ServicerContext, limits: Limits) -> bytes:
    """The message of a call.

    Raises:
        ServingError: there is none, or it does not arrive in time.
    """
    try:
        async with asyncio.timeout(limits.body_timeout):
            data = await context.read()
    except TimeoutError:
        message = f"the message did not arrive within {limits.body_timeout:g} seconds"
        raise ServingError(Code.DEADLINE_EXCEEDED, message) from None
    if data is grpc.aio.EOF:
        raise invalid("the call has no message")
    return data


def _details(error: ServingError) -> str:
    """The message of an error, cut: clients refuse a call whose trailing header has more than 8 KiB."""
    text = printable(error.message).encode()
    if len(text) <= _MAX_DETAILS_BYTES:
        return text.decode()
    return text[: _MAX_DETAILS_BYTES - len(_CUT)].decode("utf-8", "ignore") + _CUT


def _run(method: _Method, *arguments) -> bytes:
    """The answer to a message. Runs in a thread."""
    return method.answer(*arguments).SerializeToString()


def _parse(message: type[Message], data: bytes) -> Message:
    try:
        return message.FromString(data)
    except DecodeError:
        raise invalid(f"the message is not a {message.DESCRIPTOR.name}") from None


def _predict(core: Core, request, record: Request, deadline: float, join_lane: Callable[[Hashable], None]):
    record.spec = model_spec(request)
    core.check_started(record.spec)
    prediction = core.predict(
        record.spec,
        lambda signature: to_arrays(request, signature, core.limits),
        tuple(request.output_filter),
        deadline - time.monotonic(),
        join_lane,
    )
    record.version = prediction.version
    response = predict_pb2.PredictResponse()
    response.model_spec.name = prediction.model
    response.model_spec.version.value = prediction.version
    response.model_spec.signature_name = prediction.signature
    for name, array in prediction.outputs.items():
        response.outputs[name].CopyFrom(to_proto(array))
    return response


def _get_model_metadata(core: Core, request, record: Request, deadline: float):
    record.spec = model_spec(request)
    if not request.metadata_field:
        raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
    for field in request.metadata_field:
        if field != "signature_def":
            raise invalid(f"Metadata field {field} is not supported")
    return statuses.metadata(core, record.spec)


def _classify(core: Core, request, record: Request, deadline: float):
    record.spec = model_spec(request)
    raise statuses.wrong_method(core, record.spec, "classify")


def _regress(core: Core, request, record: Request, deadline: float):
    record.spec = model_spec(request)
    raise statuses.wrong_method(core, record.spec, "regress")


def _multi_inference(core: Core, request, record: Request, deadline: float):
    if not request.tasks:
        raise invalid("Inference request must have at least one task")
    task = request.tasks[0]  # the first task decides, as every task is an error
    method = task.method_name.rsplit("/", 1)[-1]
    if not task.model_spec.name:
        raise invalid("Found ModelSpec with an empty model name.")
    record.spec = model_spec(task)
    if method not in ("classify", "regress"):
        raise ServingError(Code.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}")
    raise statuses.wrong_method(core, record.spec, method)


def _get_model_status(core: Core, request, record: Request, deadline: float):
    record.spec = model_spec(request)
    return statuses.status(core, record.spec)


def _reload_config(core: Core, request, record: Request, deadline: float):
    try:
        models = models_config.models_from_proto(request.config)
        models_config.check_paths(models)
    except ValueError as error:
        raise invalid(str(error)) from None
    if not _config_lock.acquire(blocking=False):  # loads take long: further calls must not occupy all threads
        raise ServingError(Code.UNAVAILABLE, "another config is being loaded: try again later")
    try:
        core.manager.serve(models)
    finally:
        _config_lock.release()
    not_ready = [name for name, ready in core.manager.readiness().items() if not ready]
    response = model_management_pb2.ReloadConfigResponse()
    if not_ready:
        response.status.error_code = Code.UNAVAILABLE.value[0]
        response.status.error_message = f"no version of {', '.join(sorted(not_ready))} could be loaded"
    return response


def _check_health(core: Core, request, record: Request, deadline: float):
    status = _health(core, request.service)
    if status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN:
        raise ServingError(Code.NOT_FOUND, f"unknown service: {request.service}")
    return health_pb2.HealthCheckResponse(status=status)


def _health(core: Core, service: str) -> int:
    """The health of a model, or of the server for ""."""
    is_ready, response = core.is_ready(service), health_pb2.HealthCheckResponse
    if is_ready is None:
        return response.SERVICE_UNKNOWN
    return response.SERVING if is_ready else response.NOT_SERVING


_PREDICTION, _MODEL = "/tensorflow.serving.PredictionService", "/tensorflow.serving.ModelService"
_METHODS = {
    f"{_PREDICTION}/Predict": _Method("Predict", predict_pb2.PredictRequest, _predict, is_prediction=True),
    f"{_PREDICTION}/GetModelMetadata": _Method(
        "GetModelMetadata", get_model_metadata_pb2.GetModelMetadataRequest, _get_model_metadata
    ),
    f"{_PREDICTION}/Classify": _Method("Classify", classification_pb2.ClassificationRequest, _classify),
    f"{_PREDICTION}/Regress": _Method("Regress", regression_pb2.RegressionRequest, _regress),
    f"{_PREDICTION}/MultiInference": _Method("MultiInference", inference_pb2.MultiInferenceRequest, _multi_inference),
    f"{_MODEL}/GetModelStatus": _Method(
        "GetModelStatus", get_model_status_pb2.GetModelStatusRequest, _get_model_status
    ),
    f"{_MODEL}/HandleReloadConfigRequest": _Method(
        "HandleReloadConfigRequest", model_management_pb2.ReloadConfigRequest, _reload_config
    ),
    "/grpc.health.v1.Health/Check": _Method("Health", health_pb2.HealthCheckRequest, _check_health),
}
