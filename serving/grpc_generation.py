"""The method Generate of our own service (generation.proto): a text is sent while it is generated."""

import contextlib

import grpc
import numpy as np
from tensorflow_serving.apis import predict_pb2

from serving import delivery
from serving.admission import Reservation
from serving.cards import Words
from serving.core import Core, Request
from serving.errors import invalid
from serving.generation import Text
from serving.protos import model_spec, to_array, to_proto
from serving.servable import Signature

METHOD = "/unroll.serving.GenerationService/Generate"
_STOP = "stop"


async def answer(
    core: Core,
    request: predict_pb2.PredictRequest,
    reservation: Reservation,
    record: Request,
    context: grpc.aio.ServicerContext,
) -> None:
    """Sends a PredictResponse for each piece.

    Raises:
        ServingError: the request is invalid, or the server cannot answer it.
    """
    record.spec = model_spec(request)
    core.check_started(record.spec)
    given = request.inputs[_STOP].string_val if _STOP in request.inputs else ()
    stops = [text.decode("utf-8", "replace") for text in given]
    num_rows, maximum = _num_rows(request), min(core.limits.max_rows, core.limits.max_requests)
    if num_rows > maximum:
        raise invalid(f"text has {num_rows} rows: a request may have at most {maximum}")
    reservation.start(record.spec.name, num_rows)

    def inputs(signature: Signature, words: Words) -> dict[str, np.ndarray]:
        arrays = {}
        for name, proto in request.inputs.items():
            if name not in signature.dtypes:
                raise invalid(f"{record.spec.name} has no input {name}: {', '.join(signature.dtypes)}")
            arrays[name] = to_array(name, proto, signature, core.limits)
        if "text" not in arrays:
            raise invalid("the input text is missing: give the prompts")
        texts = arrays.pop("text")
        arrays.pop(_STOP, None)
        wrong = next((name for name, array in arrays.items() if len(array) not in (1, len(texts))), None)
        if wrong:
            raise invalid(f"{wrong} has {len(arrays[wrong])} rows, but text has {len(texts)}")
        return delivery.inputs(signature, words, texts.tolist(), arrays)

    remaining = context.time_remaining()
    longest = core.limits.timeout
    deadline = record.arrival + (longest if remaining is None else min(longest, remaining))
    texts = [Text(stops, keeps_stop=True) for _ in range(num_rows)]
    async with contextlib.aclosing(delivery.pieces(core, record, inputs, texts, deadline)) as pieces:
        async for i, piece in pieces:
            response = predict_pb2.PredictResponse()
            response.model_spec.name, response.model_spec.version.value = record.spec.name, record.version
            outputs = {"row": np.asarray(i, np.int32), "text": _text(piece.text), "end": _text(piece.end)}
            for name, array in outputs.items():
                response.outputs[name].CopyFrom(to_proto(array))
            await context.write(response.SerializeToString())


def _text(text: str) -> np.ndarray:
    return np.asarray(text.encode("utf-8", "replace"), object)


def _num_rows(request: predict_pb2.PredictRequest) -> int:
    sizes = [dim.size for dim in request.inputs["text"].tensor_shape.dim] if "text" in request.inputs else []
    return max(1, sizes[0]) if sizes else 1
