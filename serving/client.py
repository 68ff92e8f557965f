"""A client for TF Serving and for the embedded server, over gRPC (host:port) or REST (http://host:port)."""

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

_GRPC_WITH_TLS = "grpcs://"


class Unanswered(Exception):
    """The server answered with an error, or cannot be reached."""


class Refused(Unanswered):
    """The server answered with an error."""


class Address(NamedTuple):
    """Where a server is.

    Attributes:
        server, ca_file: see `predict`.
    """

    server: str
    ca_file: Path | None = None

    @property
    def is_rest(self) -> bool:
        """Whether it is that of a REST API."""
        return self.server.startswith(("http://", "https://"))


def predict(
    server: str,
    model: str,
    inputs: dict[str, list],
    signature: str = "",
    timeout: float = 60.0,
    ca_file: Path | None = None,
    version: int | None = None,
) -> dict[str, list]:
    """Runs a signature of a model on the server.

    Args:
        server: host:port for gRPC, grpcs://host:port for gRPC with TLS, http://host:port or https://host:port for REST.
        model: name of the model.
        inputs: input -> values, one per row.
        signature: name of the signature, "" for the default.
        timeout: maximum seconds until the answer.
        ca_file: PEM file of the certificates to trust instead of the system's. With it, host:port is gRPC with TLS.
        version: of the model; None: the newest one.

    Returns:
        output -> values as nested lists, with strings as str.

    Raises:
        Unanswered: the server answered with an error, or not at all.
    """
    address = Address(server, ca_file)
    check(address)
    if address.is_rest:
        return _predict_over_rest(address, model, inputs, signature, timeout, version)
    return _predict_over_grpc(address, model, inputs, signature, timeout, version)


def versions(address: Address, model: str, timeout: float = 60.0) -> dict[int, str]:
    """Returns the versions of a model and their states, such as AVAILABLE.

    Raises:
        Refused: the server does not have the model.
        Unanswered: it does not answer.
    """
    check(address)
    if address.is_rest:
        document = _get_json(address, _model_url(address, model, None), None, timeout)
        try:
            return {int(each["version"]): each["state"] for each in document["model_version_status"]}
        except (KeyError, TypeError, ValueError) as error:
            raise _not_tf_serving(address.server) from error
    from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = model
    response = _call_grpc(
        address, lambda channel: model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus, request, timeout
    )
    names = get_model_status_pb2.ModelVersionStatus.State
    return {each.version: names.Name(each.state) for each in response.model_version_status}


def signatures(
    server: str, model: str, timeout: float = 60.0, ca_file: Path | None = None, version: int | None = None
) -> set[str]:
    """Returns the names of the signatures of a model.

    Args:
        server, model, timeout, ca_file, version: see `predict`.

    Raises:
        Unanswered: the server answered with an error, or not at all.
    """
    address = Address(server, ca_file)
    check(address)
    if address.is_rest:
        document = _get_json(address, f"{_model_url(address, model, version)}/metadata", None, timeout)
        try:
            return set(document["metadata"]["signature_def"]["signature_def"])
        except (KeyError, TypeError) as error:
            raise _not_tf_serving(address.server) from error
    from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    _name_model(request.model_spec, model, version)
    response = _call_grpc(
        address,
        lambda channel: prediction_service_pb2_grpc.PredictionServiceStub(channel).GetModelMetadata,
        request,
        timeout,
    )
    found = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(found)
    return set(found.signature_def)


def check(address: Address) -> None:
    """Checks that the address and the certificates fit together.

    Raises:
        Unanswered: they do not.
    """
    if address.ca_file and address.server.startswith("http://"):
        raise Unanswered(f"{address.server} has no TLS, so {address.ca_file} is of no use: write https://")
    if address.ca_file:
        _tls_context(address.ca_file)


def _model_url(address: Address, model: str, version: int | None) -> str:
    url = f"{address.server.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
    return url if version is None else f"{url}/versions/{version}"


def _name_model(spec, model: str, version: int | None) -> None:
    spec.name = model
    if version is not None:
        spec.version.value = version


def _tls_context(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # SSLError among them
        raise Unanswered(f"{ca_file} is not a PEM file of certificates: {error.strerror or error}") from error


def _predict_over_rest(address, model, inputs, signature, timeout, version):
    document = {"inputs": inputs} | ({"signature_name": signature} if signature else {})
    url = _model_url(address, model, version)
    try:
        outputs = _get_json(address, f"{url}:predict", json.dumps(document).encode(), timeout)["outputs"]
        if isinstance(outputs, dict):
            return outputs
        # The answer omits the name of an output that is the only one.
        metadata = _get_json(address, f"{url}/metadata", None, timeout)["metadata"]
        (name,) = metadata["signature_def"]["signature_def"][signature or "serving_default"]["outputs"]
    except (KeyError, TypeError) as error:
        raise _not_tf_serving(address.server) from error
    return {name: outputs}


def _get_json(address, url, body, timeout):
    server = address.server
    try:
        with open_url(address, url, body, timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise refusal(url, error) from error
    except urllib.error.URLError as error:
        raise Unanswered(f"no answer from {server}: {error.reason}") from error
    except OSError as error:  # TimeoutError among them
        raise Unanswered(f"no answer from {server}: {error}") from error
    except (ValueError, http.client.HTTPException) as error:  # No JSON, or no HTTP: the port of gRPC, for example.
        raise _not_tf_serving(server) from error


def open_url(address: Address, url: str, body: bytes | None, timeout: float):
    """Sends a request; returns the response."""
    context = _tls_context(address.ca_file) if address.ca_file else None
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=timeout, context=context)


def refusal(url: str, error: urllib.error.HTTPError) -> Unanswered:
    """Returns the error for an HTTP status."""
    message = _error_message(error.read())
    return Refused(message) if message else Unanswered(f"{url}: {error.code} {error.reason}")


def _not_tf_serving(server) -> Unanswered:
    return Unanswered(f"{server} does not answer as TF Serving's REST API does: check the address and the port")


def _error_message(body: bytes) -> str:
    try:
        error = json.loads(body)["error"]
        return error["message"] if isinstance(error, dict) else error  # OpenAI's API has an object
    except (ValueError, KeyError, TypeError):
        return ""


def _predict_over_grpc(address, model, inputs, signature, timeout, version):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    _name_model(request.model_spec, model, version)
    request.model_spec.signature_name = signature
    for name, values in inputs.items():
        is_empty = isinstance(values, list) and not values
        dtype = tf.string if is_empty else None  # without values, TensorFlow would choose float
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype))
    response = _call_grpc(
        address, lambda channel: prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict, request, timeout
    )
    return {name: _decode(tf.make_ndarray(proto).tolist()) for name, proto in response.outputs.items()}


def _call_grpc(address, method, request, timeout):
    """Returns the answer of a method, which `method` makes of a channel."""
    import grpc

    with grpc_channel(address) as channel:
        try:
            return method(channel)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise grpc_error(address, error) from error


def grpc_channel(address: Address):
    """Opens a channel; a context manager."""
    import grpc

    server, ca_file = address
    target, options = server.removeprefix(_GRPC_WITH_TLS), [("grpc.max_receive_message_length", -1)]  # else 4 MiB
    if ca_file or server.startswith(_GRPC_WITH_TLS):
        credentials = grpc.ssl_channel_credentials(ca_file.read_bytes() if ca_file else None)
        return grpc.secure_channel(target, credentials, options)
    return grpc.insecure_channel(target, options)


def grpc_error(address: Address, error) -> Unanswered:
    """Returns the error for a grpc.RpcError."""
    import grpc

    is_answer = error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    kind = Refused if is_answer else Unanswered
    hint = f": for the port of REST, write http://{address.server}" if "HTTP/2" in (error.details() or "") else ""
    return kind(f"no answer from {address.server}: {error.details()}{hint}")


def _decode(value):
    """Nested lists with every bytes object as str."""
    if isinstance(value, list):
        return [_decode(element) for element in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
