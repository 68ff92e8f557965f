"""A client of the embedded server that gets texts while they are generated; TF Serving has no such method."""

import json
import urllib.error
from collections.abc import Iterator

from serving import client
from serving.client import Address, Refused, Unanswered

# Input of the signature sample_start -> field of /v1/completions.
_FIELDS = {"text": "prompt", "max_length": "max_tokens"}


def stream(
    address: Address, model: str, text: str, options: dict[str, float | str], timeout: float = 60.0
) -> Iterator[str]:
    """Yields the pieces of a text.

    Args:
        model: name of the model.
        text: the prompt, or the text to translate.
        options: input of the signature `sample_start` -> value; the model has defaults for the others. `stop` stays in
            the text.
        timeout: maximum seconds until the first piece, and from each piece to the next one.

    Raises:
        Unanswered: the server answered with an error, or not at all.
    """
    client.check(address)
    given = {"text": text, **options}
    return _over_rest(address, model, given, timeout) if address.is_rest else _over_grpc(address, model, given, timeout)


def _over_rest(address: Address, model: str, given: dict, timeout: float) -> Iterator[str]:
    fields = {_FIELDS.get(name, name): value for name, value in given.items() if value != "" or name == "text"}
    document = {"model": model, "stream": True, "include_stop_str_in_output": True, **fields}
    url = f"{address.server.rstrip('/')}/v1/completions"
    try:
        with client.open_url(address, url, json.dumps(document).encode(), timeout) as response:
            for line in response:
                data = line.removeprefix(b"data: ").strip()
                if not data or data == b"[DONE]":
                    continue
                event = json.loads(data)
                if "error" in event:
                    raise Refused(event["error"]["message"])
                yield event["choices"][0]["text"]
    except urllib.error.HTTPError as error:
        raise client.refusal(url, error) from error
    except OSError as error:
        raise Unanswered(f"no answer from {address.server}: {getattr(error, 'reason', error)}") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise Unanswered(
            f"{address.server} does not stream as this package's server does: check the address"
        ) from error


def _over_grpc(address: Address, model: str, given: dict, timeout: float) -> Iterator[str]:
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    for name, value in given.items():
        if value != "" or name == "text":
            dtype = tf.string if isinstance(value, str) else tf.int32 if isinstance(value, int) else tf.float32
            request.inputs[name].CopyFrom(tf.make_tensor_proto([value], dtype))
    with client.grpc_channel(address) as channel:
        method = channel.unary_stream(
            "/unroll.serving.GenerationService/Generate",
            request_serializer=predict_pb2.PredictRequest.SerializeToString,
            response_deserializer=predict_pb2.PredictResponse.FromString,
        )
        try:
            for response in method(request, timeout=timeout):
                yield tf.make_ndarray(response.outputs["text"]).item().decode()
        except grpc.RpcError as error:
            raise client.grpc_error(address, error) from error
