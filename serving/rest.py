"""TF Serving's REST API (https://www.tensorflow.org/tfx/serving/api_rest)."""

import json
import re
import urllib.parse

import anyio
from anyio import to_thread
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from serving import statuses, tensors
from serving.core import Core, ModelSpec
from serving.errors import HTTP_STATUS, Code, ServingError, invalid

METRICS = "/monitoring/prometheus/metrics"
_CLIENT_CLOSED_REQUEST, _CONTENT_TOO_LARGE = 499, 413
_EXTRA_THREADS = 8  # for requests that are refused, for status and metadata
_MAX_VERSION_DIGITS = 19  # of an int64; Python refuses to convert thousands of digits
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(rf"{_MODEL}:(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(rf"(?:{_MODEL}|/v1/models)(?P<metadata>/metadata)?", re.IGNORECASE)
_JSON_OPTIONS = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}


def app(core: Core) -> Starlette:
    """Returns the web application of the REST API."""
    # Starlette's own limit is 40 threads. The requests that wait for a thread would neither count for `max_requests`
    # nor time out.
    threads = anyio.CapacityLimiter(core.limits.max_requests + _EXTRA_THREADS)

    async def answer(request: Request) -> Response:
        if request.url.path == METRICS and request.method == "GET":
            return Response(core.metrics.page(), media_type="text/plain; version=0.0.4")
        path = _raw_path(request)
        try:
            if request.method == "POST":
                body = await _read_body(request, core.limits.max_body_bytes)
                content = await to_thread.run_sync(_answer_post, core, path, body, limiter=threads)
            else:
                content = await to_thread.run_sync(_answer_get, core, request.method, path, limiter=threads)
        except ClientDisconnect:
            return Response(status_code=_CLIENT_CLOSED_REQUEST)
        except _BodyTooLarge as error:
            return _error(str(error), _CONTENT_TOO_LARGE)
        except ServingError as error:
            return _error(error.message, HTTP_STATUS[error.code])
        return Response(content, media_type="application/json")

    async def wrong_method(request: Request, error) -> Response:
        return _error(f"Malformed request: {request.method} {_raw_path(request)}", 405)

    async def wrong_path(request: Request, error) -> Response:  # a path with a line break, which no route matches
        return _error(f"Malformed request: {request.method} {_raw_path(request)}", 400)

    handlers = {404: wrong_path, 405: wrong_method}
    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])], exception_handlers=handlers)


class _BodyTooLarge(Exception):
    pass


def _answer_post(core: Core, path: str, body: bytes) -> bytes:
    match = _POST.fullmatch(path)
    if not match:
        raise invalid(f"Malformed request: POST {path}")
    spec, method = _model_spec(match), match["method"].lower()
    with core.admit(spec, method.capitalize(), "REST"):
        document = tensors.parse(body)
        spec = ModelSpec(spec.name, spec.number, spec.label, document.get("signature_name", ""))
        if method != "predict":
            raise statuses.wrong_method(core, spec, method)
        try:
            prediction = core.predict(spec, lambda signature: tensors.inputs(document, signature.dtypes))
        except ServingError as error:
            if error.code == Code.FAILED_PRECONDITION:  # TF Serving's REST API has another text for this error
                raise invalid(f'Serving signature name: "{spec.signature}" not found in signature def') from None
            raise
        return tensors.response(prediction.outputs, row_format=tensors.is_row_format(document))


def _answer_get(core: Core, http_method: str, path: str) -> bytes:
    match = _GET.fullmatch(path) if http_method == "GET" else None
    if not match:
        raise invalid(f"Malformed request: {http_method} {path}")
    if match["name"] is None:
        raise invalid("Missing model name in request.")
    spec = _model_spec(match)
    if not match["metadata"]:
        return _to_json(json_format.MessageToDict(statuses.status(core, spec), **_JSON_OPTIONS))
    response = statuses.metadata(core, spec)
    model_spec = json_format.MessageToDict(response.model_spec, **_JSON_OPTIONS)
    signatures = json_format.MessageToDict(statuses.signature_definitions(response), **_JSON_OPTIONS)
    return _to_json({"model_spec": model_spec, "metadata": {"signature_def": signatures}})


def _model_spec(match: re.Match) -> ModelSpec:
    digits = match["version"] or ""
    if len(digits) > _MAX_VERSION_DIGITS or digits and int(digits) >= 2**63:
        raise invalid(f"Failed to convert version: {digits} to numeric.")
    number = int(digits) if digits else None
    label = urllib.parse.unquote(match["label"]) if match["label"] else None
    return ModelSpec(urllib.parse.unquote(match["name"]), number, label)


def _raw_path(request: Request) -> str:
    """The path as the client sent it. In the decoded path, an escaped slash would look like a separator."""
    return request.scope.get("raw_path", request.url.path.encode()).decode("ascii", "replace")


async def _read_body(request: Request, max_bytes: int) -> bytes:
    """The body of a request.

    Raises:
        _BodyTooLarge: the body has more bytes; the rest is not read.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise _BodyTooLarge(f"the body has more than {max_bytes} bytes")
        parts.append(part)
    return b"".join(parts)


def _error(message: str, status: int) -> Response:
    return Response(_to_json({"error": message}), status_code=status, media_type="application/json")


def _to_json(value) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace")
