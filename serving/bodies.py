"""The bodies of HTTP requests."""

import asyncio
import zlib

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from serving.admission import Admission, Reservation
from serving.core import Core, Request
from serving.errors import Code, ServingError, invalid


class HttpError(ServingError):
    """An error whose HTTP status is not that of its code.

    Attributes:
        closes_connection: whether nobody knows where the next request of the connection begins.
    """

    def __init__(self, http_status: int, code: Code, message: str, closes_connection: bool = False):
        super().__init__(code, message)
        self.http_status, self.closes_connection = http_status, closes_connection


def check_length(request: HttpRequest) -> None:
    """Refuses a body with two lengths: a proxy that believes the other one would see other requests than this server.

    Raises:
        ServingError: the request has both headers.
    """
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        message = "a request has either Content-Length or Transfer-Encoding, not both"
        raise HttpError(400, Code.INVALID_ARGUMENT, message, closes_connection=True)


async def read(
    request: HttpRequest, core: Core, admission: Admission, reservation: Reservation, record: Request
) -> bytes:
    """The body of a request, decompressed; `record` gets its size.

    Raises:
        ServingError: the body has too many bytes, does not arrive in time, or has another Content-Encoding than gzip.
    """
    body = await _receive(request, core, reservation)
    record.num_bytes = len(body)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "gzip":
        body = await admission.query(_unzip, body, core.limits.max_body_bytes)
        reservation.add(len(body))
    elif encoding != "identity":
        raise HttpError(415, Code.UNIMPLEMENTED, f"Content-Encoding {encoding[:100]} is not supported: use gzip")
    return body


async def _receive(request: HttpRequest, core: Core, reservation: Reservation) -> bytes:
    """The body of a request.

    Raises:
        ServingError: the body has too many bytes, or does not arrive in time.
    """
    limits, parts, size = core.limits, [], 0
    too_large = HttpError(413, Code.RESOURCE_EXHAUSTED, f"the body has more than {limits.max_body_bytes} bytes")
    if int(request.headers.get("content-length", 0)) > limits.max_body_bytes:
        raise too_large
    try:
        async with asyncio.timeout(limits.body_timeout):
            async for part in request.stream():
                size += len(part)
                if size > limits.max_body_bytes:
                    raise too_large
                reservation.add(len(part))
                parts.append(part)
    except TimeoutError:
        message = f"the body did not arrive within {limits.body_timeout:g} seconds"
        raise HttpError(408, Code.DEADLINE_EXCEEDED, message, closes_connection=True) from None
    except ClientDisconnect:
        raise ServingError(Code.CANCELLED, "the client has closed the connection") from None
    return b"".join(parts)


def _unzip(body: bytes, max_bytes: int) -> bytes:
    """Decompresses a body. Runs in a thread.

    Raises:
        ServingError: the body is not gzip, or has too many bytes after decompression.
    """
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = decompressor.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise invalid(f"the body is not gzip: {error}") from None
    if len(content) > max_bytes:
        message = f"the body has more than {max_bytes} bytes after decompression"
        raise HttpError(413, Code.RESOURCE_EXHAUSTED, message)
    if not decompressor.eof or decompressor.unused_data:
        raise invalid("the body is not one complete gzip stream")
    return content
