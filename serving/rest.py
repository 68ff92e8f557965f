"""TF Serving's REST API (https://www.tensorflow.org/tfx/serving/api_rest)."""

import json
import re
import urllib.parse

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from serving import statuses, tensors
from serving.core import Core, Spec
from serving.errors import HTTP_STATUS, Code, ServingError, invalid

METRICS = "/monitoring/prometheus/metrics"
_OF = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(rf"{_OF}:(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(rf"(?:{_OF}|/v1/models)(?P<metadata>/metadata)?", re.IGNORECASE)


def app(core: Core) -> Starlette:
    async def answer(request: Request) -> Response:
        if request.url.path == METRICS and request.method == "GET":
            return Response(core.metrics.page(), media_type="text/plain; version=0.0.4")
        try:
            if request.method == "POST":
                body = await _body(request, core.limits.body_bytes)
                content = await run_in_threadpool(_posted, core, _path(request), body)
            else:
                content = await run_in_threadpool(_asked, core, request.method, _path(request))
        except ClientDisconnect:
            return Response(status_code=499)
        except _TooLarge as error:
            return _error(str(error), 413)
        except ServingError as error:
            return _error(error.message, HTTP_STATUS[error.code])
        return Response(content, media_type="application/json")

    async def wrong_method(request: Request, error) -> Response:
        return _error(f"Malformed request: {request.method} {_path(request)}", 405)

    async def no_path(request: Request, error) -> Response:  # one with a line end in it, which no route takes
        return _error(f"Malformed request: {request.method} {_path(request)}", 400)

    handlers = {404: no_path, 405: wrong_method}
    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])], exception_handlers=handlers)


class _TooLarge(Exception):
    pass


def _posted(core: Core, path: str, body: bytes) -> bytes:
    found = _POST.fullmatch(path)
    if not found:
        raise invalid(f"Malformed request: POST {path}")
    spec, method = _spec(found), found["method"].lower()
    with core.request(spec, method.capitalize(), "REST"):
        document = tensors.parse(body)
        spec = Spec(spec.name, spec.number, spec.label, document.get("signature_name", ""))
        if method != "predict":
            raise statuses.of_another_method(core, spec, method)
        form = []

        def inputs(signature):
            arrays, rows = tensors.inputs(document, signature.dtypes)
            form.append(rows)
            return arrays

        try:
            found = core.predict(spec, inputs)
        except ServingError as error:
            if error.code == Code.FAILED_PRECONDITION:  # over REST, TF Serving says it otherwise
                raise invalid(f'Serving signature name: "{spec.signature}" not found in signature def') from None
            raise
        return tensors.response(found.outputs, *form)


def _asked(core: Core, http_method: str, path: str) -> bytes:
    found = _GET.fullmatch(path) if http_method == "GET" else None
    if not found:
        raise invalid(f"Malformed request: {http_method} {path}")
    if found["name"] is None:
        raise invalid("Missing model name in request.")
    spec = _spec(found)
    if found["metadata"]:
        response = statuses.metadata(core, spec)
        definitions = statuses.signature_definitions(response)
        options = dict(preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
        model_spec = json_format.MessageToDict(response.model_spec, **options)
        signatures = json_format.MessageToDict(definitions, **options)
        return _dumped({"model_spec": model_spec, "metadata": {"signature_def": signatures}})
    response = statuses.status(core, spec)
    return _dumped(
        json_format.MessageToDict(response, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    )


def _spec(found: re.Match) -> Spec:
    number = int(found["version"]) if found["version"] else None
    if number is not None and number >= 2**63:
        raise invalid(f"Failed to convert version: {found['version']} to numeric.")
    label = urllib.parse.unquote(found["label"]) if found["label"] else None
    return Spec(urllib.parse.unquote(found["name"]), number, label)


def _path(request: Request) -> str:
    """As it came: what is escaped in it is no separator."""
    return request.scope.get("raw_path", request.url.path.encode()).decode("ascii", "replace")


async def _body(request: Request, most: int) -> bytes:
    """
    Raises:
        _TooLarge: it has more bytes; the rest is not read.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _TooLarge(f"the body has more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


def _error(message: str, status: int) -> Response:
    return Response(_dumped({"error": message}), status_code=status, media_type="application/json")


def _dumped(value) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace")
