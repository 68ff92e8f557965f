"""Asks a server, TF Serving or the embedded one: over gRPC (host:port) or REST (http://host:port)."""

import json
import urllib.error
import urllib.parse
import urllib.request


class Unanswered(Exception):
    """The server gave an error, or cannot be reached."""


def predict(server: str, model: str, inputs: dict[str, list], signature: str = "", seconds: float = 60.0) -> dict[str, list]:
    """
    Args:
        server: host:port for gRPC, http://host:port or https://host:port for REST.
        inputs: input -> values, a row each.

    Returns:
        output -> values, nested lists with strings as str.

    Raises:
        Unanswered: there is no answer.
    """
    ask = _over_rest if server.startswith(("http://", "https://")) else _over_grpc
    return ask(server, model, inputs, signature, seconds)


def _over_rest(server, model, inputs, signature, seconds):
    document = {"inputs": inputs} | ({"signature_name": signature} if signature else {})
    url = f"{server.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
    outputs = _json(server, f"{url}:predict", json.dumps(document).encode(), seconds)["outputs"]
    if isinstance(outputs, dict):
        return outputs
    # Where there is one output alone, its name is not in the answer.
    definitions = _json(server, f"{url}/metadata", None, seconds)["metadata"]["signature_def"]["signature_def"]
    (name,) = definitions[signature or "serving_default"]["outputs"]
    return {name: outputs}


def _json(server, url, body, seconds):
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise Unanswered(_message(error.read()) or f"{url}: {error.code} {error.reason}") from error
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise Unanswered(f"no answer from {server}: {getattr(error, 'reason', error)}") from error
    except ValueError as error:
        raise Unanswered(f"{server} does not speak TF Serving's REST API") from error


def _over_grpc(server, model, inputs, signature, seconds):
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = model, signature
    for name, values in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    with grpc.insecure_channel(server) as channel:
        try:
            response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=seconds)
        except grpc.RpcError as error:
            raise Unanswered(f"no answer from {server}: {error.details()}") from error
    return {name: _listed(tf.make_ndarray(proto)) for name, proto in response.outputs.items()}


def _listed(array):
    if array.dtype != object:
        return array.tolist()
    return _decoded(array.tolist())


def _decoded(value):
    return [_decoded(each) for each in value] if isinstance(value, list) else value.decode("utf-8", "replace")


def _message(body: bytes) -> str:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
