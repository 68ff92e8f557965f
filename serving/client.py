"""A client for TF Serving and for the embedded server, over gRPC (host:port) or REST (http://host:port)."""

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

_GRPC_WITH_TLS = "grpcs://"


class Unanswered(Exception):
    """The server answered with an error, or cannot be reached."""


def predict(
    server: str,
    model: str,
    inputs: dict[str, list],
    signature: str = "",
    timeout: float = 60.0,
    ca_file: Path | None = None,
) -> dict[str, list]:
    """Runs a signature of a model on the server.

    Args:
        server: host:port for gRPC, grpcs://host:port for gRPC with TLS, http://host:port or https://host:port for REST.
        model: name of the model; its newest version answers.
        inputs: input -> values, one per row.
        signature: name of the signature, "" for the default.
        timeout: maximum seconds until the answer.
        ca_file: PEM file of the certificates to trust instead of the system's. With it, host:port is gRPC with TLS.

    Returns:
        output -> values as nested lists, with strings as str.

    Raises:
        Unanswered: the server answered with an error, or not at all.
    """
    if ca_file and server.startswith("http://"):
        raise Unanswered(f"{server} has no TLS, so {ca_file} is of no use: write https://")
    context = _tls_context(ca_file) if ca_file else None
    if server.startswith(("http://", "https://")):
        return _predict_over_rest(server, model, inputs, signature, timeout, context)
    return _predict_over_grpc(server, model, inputs, signature, timeout, ca_file)


def _tls_context(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # SSLError among them
        raise Unanswered(f"{ca_file} is not a PEM file of certificates: {error.strerror or error}") from error


def _predict_over_rest(server, model, inputs, signature, timeout, context):
    document = {"inputs": inputs} | ({"signature_name": signature} if signature else {})
    url = f"{server.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
    try:
        outputs = _get_json(server, f"{url}:predict", json.dumps(document).encode(), timeout, context)["outputs"]
        if isinstance(outputs, dict):
            return outputs
        # The answer omits the name of an output that is the only one.
        metadata = _get_json(server, f"{url}/metadata", None, timeout, context)["metadata"]
        (name,) = metadata["signature_def"]["signature_def"][signature or "serving_default"]["outputs"]
    except (KeyError, TypeError) as error:
        raise _not_tf_serving(server) from error
    return {name: outputs}


def _get_json(server, url, body, timeout, context):
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout, context=context) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise Unanswered(_error_message(error.read()) or f"{url}: {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise Unanswered(f"no answer from {server}: {error.reason}") from error
    except OSError as error:  # TimeoutError among them
        raise Unanswered(f"no answer from {server}: {error}") from error
    except (ValueError, http.client.HTTPException) as error:  # No JSON, or no HTTP: the port of gRPC, for example.
        raise _not_tf_serving(server) from error


def _not_tf_serving(server) -> Unanswered:
    return Unanswered(f"{server} does not answer as TF Serving's REST API does: check the address and the port")


def _error_message(body: bytes) -> str:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""


def _predict_over_grpc(server, model, inputs, signature, timeout, ca_file):
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = model, signature
    for name, values in inputs.items():
        dtype = None if values else tf.string  # without values, TensorFlow would choose float
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype))
    address, options = server.removeprefix(_GRPC_WITH_TLS), [("grpc.max_receive_message_length", -1)]  # else 4 MiB
    if ca_file or server.startswith(_GRPC_WITH_TLS):
        credentials = grpc.ssl_channel_credentials(ca_file.read_bytes() if ca_file else None)
        channel = grpc.secure_channel(address, credentials, options)
    else:
        channel = grpc.insecure_channel(address, options)
    with channel:
        try:
            response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=timeout)
        except grpc.RpcError as error:
            raise Unanswered(f"no answer from {server}: {error.details()}") from error
    return {name: _decode(tf.make_ndarray(proto).tolist()) for name, proto in response.outputs.items()}


def _decode(value):
    """Nested lists with every bytes object as str."""
    if isinstance(value, list):
        return [_decode(element) for element in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
