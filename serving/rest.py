"""TF Serving's REST API (https://www.tensorflow.org/tfx/serving/api_rest), and pages for people and probes."""

import gzip
import json
import re
import time
import urllib.parse
from collections.abc import Callable, Hashable

from google.protobuf import json_format
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Send

from serving import bodies, clients, front_page, hosts, openai_api, static_files, statuses, tensors
from serving.admission import Admission
from serving.bodies import HttpError
from serving.core import Core, ModelSpec, Request
from serving.errors import HTTP_STATUS, Code, ServingError, invalid

_STATIC = "/page/"
METRICS = "/monitoring/prometheus/metrics"
_MIN_COMPRESSED_BYTES = 1024
_MAX_VERSION_DIGITS = 19  # of an int64; Python refuses to convert thousands of digits
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(rf"{_MODEL}:(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(rf"(?:{_MODEL}|/v1/models)(?P<metadata>/metadata)?", re.IGNORECASE)
_JSON_OPTIONS = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}


def app(core: Core, admission: Admission, host_names: frozenset[str]) -> ASGIApp:
    """The web application of the REST API.

    Args:
        core: answers the requests.
        admission: limits them.
        host_names: from `hosts.allowed_names`.
    """

    async def serve(scope, receive, send) -> None:
        request = HttpRequest(scope, receive)
        try:
            with core.record("unknown", "REST") as record, admission.running.track():
                bodies.check_length(request)
                hosts.check(request.headers.get("host"), request.headers.get("origin"), host_names)
                response = await _answer(core, admission, request, record, send)
        except ServingError as error:
            response = _error_response(error, _raw_path(request))
        if response is not None:
            await response(scope, receive, send)

    return serve


async def _answer(
    core: Core, admission: Admission, request: HttpRequest, record: Request, send: Send
) -> Response | None:
    """Returns the answer; None if it has been sent already."""
    path = _raw_path(request)
    if request.method == "POST" and path in openai_api.PATHS:
        return await openai_api.answer(core, admission, request, record, send)
    if request.method == "POST":
        return await _answer_post(core, admission, request, path, record)
    if request.method not in ("GET", "HEAD"):
        raise HttpError(405, Code.UNIMPLEMENTED, f"Malformed request: {request.method} {path}")
    if path == "/healthz":
        record.api = "Health"
        return Response(_to_json({"alive": True}), media_type="application/json")
    if path == "/readyz":
        record.api = "Health"
        return _readiness(core, record)
    if path == METRICS:
        record.api = "Metrics"
        page = await admission.query(core.metrics.page)
        return Response(page, media_type="text/plain; version=0.0.4")
    if path == "/":
        record.api = "FrontPage"
        base = f"{request.url.scheme}://{request.headers.get('host') or 'localhost'}"
        page = await admission.query(front_page.render, core, base)
        return Response(page, headers=front_page.HEADERS, media_type=front_page.CONTENT_TYPE)
    if path.startswith(_STATIC):
        record.api = "StaticFile"
        return await _static_file(admission, request, path.removeprefix(_STATIC))
    match = _GET.fullmatch(path) if request.method == "GET" else None
    if not match:
        raise invalid(f"Malformed request: {request.method} {path}")
    if match["name"] is None:
        record.api = "ListModels"
        return Response(await admission.query(_models, core), media_type="application/json")
    record.api = "GetModelMetadata" if match["metadata"] else "GetModelStatus"
    record.spec = _model_spec(match)
    answer = await admission.query(_metadata if match["metadata"] else _status, core, record.spec)
    return Response(answer, media_type="application/json")


async def _answer_post(core: Core, admission: Admission, request: HttpRequest, path: str, record: Request) -> Response:
    match = _POST.fullmatch(path)
    if not match:
        raise invalid(f"Malformed request: POST {path}")
    record.spec, method = _model_spec(match), match["method"].lower()
    record.api = method.capitalize()
    core.check_started(record.spec)
    client = clients.from_address(request.client.host if request.client else "")
    admission.check_free(client, record.spec.name)
    with admission.reservation(client) as reservation:
        body = await bodies.read(request, core, admission, reservation, record)
        headers, name, arguments = {}, record.spec.name, (core, record, method, body, reservation.join_lane)
        if _accepts_gzip(request.headers.get("accept-encoding", "")):
            content, is_compressed = await admission.predict(reservation, name, _compressed, *arguments)
            headers = {"vary": "accept-encoding"} | ({"content-encoding": "gzip"} if is_compressed else {})
        else:
            content = await admission.predict(reservation, name, _predict, *arguments)
    return Response(content, media_type="application/json", headers=headers)


async def _static_file(admission: Admission, request: HttpRequest, name: str) -> Response:
    try:
        file = await admission.query(static_files.read, name)
    except KeyError:
        raise ServingError(Code.NOT_FOUND, "the live page has no such file") from None
    except ImportError:
        message = "figures need the package vl-convert-python: pip install vl-convert-python"
        raise HttpError(501, Code.UNIMPLEMENTED, message) from None
    headers = {
        "cache-control": "no-cache",  # browsers keep it, and ask with its etag whether it has changed
        "etag": file.etag,
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    content = file.content
    if _accepts_gzip(request.headers.get("accept-encoding", "")):
        content = file.compressed
        headers["content-encoding"] = "gzip"
    return Response(content, headers=headers, media_type=file.content_type)


def _readiness(core: Core, record: Request) -> Response:
    ready = bool(core.is_ready())
    record.status = Code.OK if ready else Code.UNAVAILABLE
    answer = {"ready": ready, "stopping": core.is_stopping, "models": core.manager.readiness()}
    return Response(_to_json(answer), HTTP_STATUS[record.status], media_type="application/json")


def _predict(core: Core, record: Request, method: str, body: bytes, join_lane: Callable[[Hashable], None]) -> bytes:
    """The answer to a POST. Runs in a thread."""
    document, spec = tensors.parse(body), record.spec
    spec = record.spec = ModelSpec(spec.name, spec.number, spec.label, document.get("signature_name", ""))
    if method != "predict":
        raise statuses.wrong_method(core, spec, method)
    timeout = record.arrival + core.limits.timeout - time.monotonic()
    try:
        prediction = core.predict(
            spec,
            lambda signature: tensors.inputs(document, signature.dtypes),
            timeout=timeout,
            join_lane=join_lane,
        )
    except ServingError as error:
        if error.code == Code.FAILED_PRECONDITION:  # TF Serving's REST API has another text for this error
            raise invalid(f'Serving signature name: "{spec.signature}" not found in signature def') from None
        raise
    record.version = prediction.version
    return tensors.response(prediction.outputs, row_format=tensors.is_row_format(document))


def _compressed(*arguments) -> tuple[bytes, bool]:
    """The answer of `_predict`, and whether it is compressed. Runs in a thread."""
    content = _predict(*arguments)
    if len(content) < _MIN_COMPRESSED_BYTES:
        return content, False
    return gzip.compress(content, compresslevel=1), True


def _models(core: Core) -> bytes:
    """The models in the form of OpenAI's API, which TF Serving has no counterpart for, with TF Serving's states."""
    return _to_json({"object": "list", "data": [_listed(core, name) for name in sorted(core.manager.readiness())]})


def _listed(core: Core, name: str) -> dict:
    try:
        created = core.manager.versions(name)[0].time
        states = statuses.status(core, ModelSpec(name))
        versions = json_format.MessageToDict(states, **_JSON_OPTIONS)["model_version_status"]
    except ServingError:  # none is loaded yet
        versions, created = [], 0
    return {"id": name, "object": "model", "created": created, "owned_by": "unroll", "versions": versions}


def _status(core: Core, spec: ModelSpec) -> bytes:
    return _to_json(json_format.MessageToDict(statuses.status(core, spec), **_JSON_OPTIONS))


def _metadata(core: Core, spec: ModelSpec) -> bytes:
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


def _raw_path(request: HttpRequest) -> str:
    """The path as the client sent it. In the decoded path, an escaped slash would look like a separator."""
    return request.scope.get("raw_path", request.url.path.encode()).decode("ascii", "replace")


def _accepts_gzip(accept_encoding: str) -> bool:
    encodings = (part.replace(" ", "").lower().partition(";q=") for part in accept_encoding.split(","))
    return any(name == "gzip" and quality not in ("0", "0.0", "0.00", "0.000") for name, _, quality in encodings)


def _error_response(error: ServingError, path: str) -> Response:
    status, headers = HTTP_STATUS[error.code], {}
    if isinstance(error, HttpError):
        status, headers = error.http_status, {"connection": "close"} if error.closes_connection else {}
    described = openai_api.described(error) if path in openai_api.PATHS else error.message
    return Response(_to_json({"error": described}), status, headers, media_type="application/json")


def _to_json(value) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace")
