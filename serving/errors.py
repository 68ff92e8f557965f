"""The error that a request gets as its answer: a gRPC status code, a message, and TF Serving's HTTP status for it."""

from typing import TypeAlias

import grpc

Code: TypeAlias = grpc.StatusCode

# tensorflow_serving/model_servers/http_server.cc
HTTP_STATUS = {
    Code.OK: 200,
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}
_CODE_BY_NUMBER = {code.value[0]: code for code in Code}


class ServingError(Exception):
    """A request fails with this status code and message."""

    def __init__(self, code: Code, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def invalid(message: str) -> ServingError:
    """Returns the error of a request that is wrong in itself."""
    return ServingError(Code.INVALID_ARGUMENT, message)


def not_found(message: str) -> ServingError:
    """Returns the error of a request for a model, version or signature that does not exist."""
    return ServingError(Code.NOT_FOUND, message)


def from_tensorflow(error) -> ServingError:
    """Converts the error of an op: same code, and its message without stack traces and node names."""
    message = str(error.message).removeprefix("Graph execution error:")
    message = message.split("<stack traces unavailable>")[-1].split("\n\t [[")[0].strip()
    return ServingError(_CODE_BY_NUMBER.get(error.error_code, Code.UNKNOWN), message)
