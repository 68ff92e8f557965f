"""The parts of OpenAI's REST API that small models have: /v1/completions and /v1/embeddings.

A completion is the continuation of a prompt by a language model, or the translation of a text by a translator. With
`stream`, its pieces are sent as they are generated, as server-sent events.

Source: https://platform.openai.com/docs/api-reference/completions
"""

import base64
import contextlib
import dataclasses
import json
import time
import uuid
from typing import Any

import numpy as np
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Send

from serving import bodies, clients, delivery, tensors
from serving.admission import Admission
from serving.cards import Words
from serving.core import Core, ModelSpec, Request
from serving.errors import HTTP_STATUS, ServingError, invalid
from serving.generation import Piece, Text
from serving.servable import Signature

COMPLETIONS, EMBEDDINGS = PATHS = ("/v1/completions", "/v1/embeddings")
_MAX_LOGPROBS = 5
_MAX_STOPS = 4
_MAX_PARSED_BYTES = 2**16  # a larger body is parsed in a thread, because others wait for the event loop
_KEEPS_STOP = "include_stop_str_in_output"  # a field that other servers have, too
_EMBEDDING = "embedding"  # the output of an encoder
# Field of a request -> (input of the signature, types of the value).
_OPTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    "max_tokens": ("max_length", (int,)),
    "temperature": ("temperature", (int, float)),
    "top_p": ("top_p", (int, float)),
    "seed": ("seed", (int,)),
    "top_k": ("top_k", (int,)),
    "min_p": ("min_p", (int, float)),
    "repetition_penalty": ("repetition_penalty", (int, float)),
}
# Fields that clients send and that do not change the text; and fields that are not supported, with the values that mean
# the same as no field.
_IGNORED = ("user", "metadata", "store")
_ONLY = {"best_of": (None, 1), "suffix": (None, ""), "logit_bias": (None, {}), "presence_penalty": (None, 0)}
_ONLY |= {"frequency_penalty": (None, 0)}


@dataclasses.dataclass(frozen=True)
class _Completion:
    """A request for completions.

    Attributes:
        options: input of the signature -> value; those that the request has.
        stops: texts at which a completion ends.
        keeps_stop: whether the stop text is a part of the completion.
        n: number of completions of each prompt.
        logprobs: number of most likely tokens to show; None: no log-probabilities.
    """

    model: str
    prompts: list[str]
    options: dict[str, float]
    stops: list[str]
    n: int = 1
    logprobs: int | None = None
    echo: bool = False
    is_streamed: bool = False
    includes_usage: bool = False
    keeps_stop: bool = False


async def answer(
    core: Core, admission: Admission, request: HttpRequest, record: Request, send: Send
) -> Response | None:
    """Answers a request; None if the answer has been sent already.

    Raises:
        ServingError: the request is invalid, or the server cannot answer it.
    """
    path = request.url.path
    record.api = "Completions" if path == COMPLETIONS else "Embeddings"
    client = clients.from_address(request.client.host if request.client else "")
    admission.check_free(client)
    with admission.reservation(client) as reservation:
        body = await bodies.read(request, core, admission, reservation, record)
        is_short = len(body) <= _MAX_PARSED_BYTES
        document = tensors.parse(body) if is_short else await admission.query(tensors.parse, body)
        model = _value(document, "model", (str,))
        if not model:
            raise invalid("model: the name of a model is missing; GET /v1/models lists them")
        record.spec = ModelSpec(model)
        core.check_started(record.spec)
        if path == EMBEDDINGS:
            arguments = (core, record, document, reservation.join_lane)
            content = await admission.predict(reservation, model, _embeddings, *arguments)
            return Response(content, media_type="application/json")
        completion = _parse(document)
        num_texts, maximum = len(completion.prompts) * completion.n, min(core.limits.max_rows, core.limits.max_requests)
        if num_texts > maximum:
            raise invalid(f"prompt and n ask for {num_texts} texts: a request may have at most {maximum}")
        reservation.start(model, num_texts)
        return await _complete(core, request, record, completion, send)


def described(error: ServingError) -> dict:
    """An error in the form of OpenAI's API."""
    kind = "invalid_request_error" if HTTP_STATUS[error.code] < 500 else "server_error"
    return {"message": error.message, "type": kind, "param": None, "code": None}


async def _complete(
    core: Core, request: HttpRequest, record: Request, completion: _Completion, send: Send
) -> Response | None:
    """Answers at once, or streams and returns None."""
    choices = [_Choice(i, completion, prompt) for i, prompt in enumerate(np.repeat(completion.prompts, completion.n))]
    texts = [Text(completion.stops, completion.logprobs is not None, completion.keeps_stop) for _ in choices]
    pieces = delivery.pieces(
        core,
        record,
        lambda signature, words: _inputs(completion, signature, words),
        texts,
        record.arrival + core.limits.timeout,
        _disconnection(request),
    )
    head = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion", "created": int(time.time())}
    head["model"] = completion.model
    async with contextlib.aclosing(pieces) as events:
        if completion.is_streamed:
            await _stream(record, completion, head, choices, texts, events, send)
            return None
        async for i, piece in events:
            choices[i].add(piece)
    document = {**head, "choices": [choice.whole() for choice in choices], "usage": _usage(texts)}
    return Response(_to_json(document), media_type="application/json")


async def _stream(
    record: Request,
    completion: _Completion,
    head: dict,
    choices: list["_Choice"],
    texts: list[Text],
    events,
    send: Send,
) -> None:
    """Sends each piece as a server-sent event.

    Args:
        head: fields of every event.
        events: of `delivery.pieces`.
    """
    first = await anext(events, None)  # an error before the first piece has a status of its own
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(event: dict | str) -> None:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        body = f"data: {data}\n\n".encode("utf-8", "replace")
        await send({"type": "http.response.body", "body": body, "more_body": True})

    try:
        if first is not None:
            await write({**head, "choices": [choices[first[0]].add(first[1])]})
        async for i, piece in events:
            await write({**head, "choices": [choices[i].add(piece)]})
        if completion.includes_usage:
            await write({**head, "choices": [], "usage": _usage(texts)})
        await write("[DONE]")
    except ServingError as error:
        record.status = error.code
        await write({"error": described(error)})
    await send({"type": "http.response.body", "body": b""})


async def _disconnection(request: HttpRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Choice:
    """A completion in the form of OpenAI's API.

    Args:
        index: its number.
        completion: the request.
        prompt: the text to complete.
    """

    def __init__(self, index: int, completion: _Completion, prompt: str):
        self._index, self._completion = index, completion
        self._text = self._unsent = str(prompt) if completion.echo else ""
        self._tokens: list = []
        self._end: str | None = None

    def add(self, piece: Piece) -> dict:
        """Adds a piece, and returns it as a choice of a stream."""
        text, self._unsent = self._unsent + piece.text, ""
        self._text += piece.text
        self._tokens.extend(piece.tokens)
        self._end = piece.end or None
        return self._described(text, piece.tokens)

    def whole(self) -> dict:
        """The choice of an answer that is not streamed."""
        return self._described(self._text, self._tokens)

    def _described(self, text: str, tokens) -> dict:
        logprobs, number = None, self._completion.logprobs
        if number is not None:
            logprobs = {
                "tokens": [token for token, _, _ in tokens],
                "token_logprobs": [value for _, value, _ in tokens],
                "top_logprobs": [dict(top[:number]) for _, _, top in tokens] if number else None,
            }
        return {"text": text, "index": self._index, "logprobs": logprobs, "finish_reason": self._end}


def _usage(texts: list[Text]) -> dict:
    num_read = sum(text.num_read for text in texts)
    num_generated = sum(text.num_tokens for text in texts)
    total = num_read + num_generated
    return {"prompt_tokens": num_read, "completion_tokens": num_generated, "total_tokens": total}


def _inputs(completion: _Completion, signature: Signature, words: Words) -> dict[str, np.ndarray]:
    """The inputs of `sample_start`; each choice has its own seed."""
    texts = [prompt.encode("utf-8", "replace") for prompt in completion.prompts for _ in range(completion.n)]
    options: dict[str, Any] = {}
    for name, value in completion.options.items():
        if name not in signature.dtypes:
            raise invalid(f"{name}: {completion.model} does not have this option")
        try:
            with np.errstate(over="raise"):
                array = np.full(len(texts), value, signature.dtypes[name]) if name != "seed" else value % 2**31
        except (FloatingPointError, OverflowError, ValueError):
            raise invalid(f"{name}: {str(value)[:100]} is out of range") from None
        options[name] = array if name != "seed" else (array + np.arange(len(texts))) % 2**31
    return delivery.inputs(signature, words, texts, options)


def _parse(document: dict) -> _Completion:
    known = {field.name for field in dataclasses.fields(_Completion)} & {"model", "n", "logprobs", "echo"}
    known |= {_KEEPS_STOP, "prompt", "stop", "stream", "stream_options", *_OPTIONS, *_IGNORED, *_ONLY}
    if unknown := sorted(set(document) - known - {"signature_name"}):
        raise invalid(f"{unknown[0][:100]} is no field of a completion, or is not supported")
    for field, values in _ONLY.items():
        if field in document and document[field] not in values:
            raise invalid(f"{field} is not supported: leave it out")
    logprobs = _value(document, "logprobs", (int,))
    if logprobs is not None and not 0 <= logprobs <= _MAX_LOGPROBS:
        raise invalid(f"logprobs is {logprobs}: it must be from 0 to {_MAX_LOGPROBS}")
    n = _value(document, "n", (int,), 1)
    stops = _texts(document, "stop") or []
    if len(stops) > _MAX_STOPS:
        raise invalid(f"stop has {len(stops)} texts: a request may have at most {_MAX_STOPS}")
    prompts = _texts(document, "prompt")
    if prompts is None:
        prompts = [""]
    if n < 1 or not prompts:
        raise invalid("n must be at least 1" if n < 1 else "prompt is empty: give a text, or a list of texts")
    stream_options = _value(document, "stream_options", (dict,), {})
    options = {
        name: value
        for field, (name, types) in _OPTIONS.items()
        if (value := _value(document, field, types)) is not None
    }
    return _Completion(
        document["model"],
        prompts,
        options,
        stops,
        n,
        logprobs,
        _value(document, "echo", (bool,), False),
        _value(document, "stream", (bool,), False),
        bool(stream_options.get("include_usage")),
        _value(document, _KEEPS_STOP, (bool,), False),
    )


def _embeddings(core: Core, record: Request, document: dict, join_lane) -> bytes:
    """The answer with the vectors of texts. Runs in a thread."""
    encoding = _value(document, "encoding_format", (str,), "float")
    if encoding not in ("float", "base64"):
        raise invalid(f"encoding_format is {encoding[:100]}: it must be float or base64")
    if document.get("dimensions") is not None:
        raise invalid("dimensions is not supported: leave it out")
    texts = _texts(document, "input")
    if not texts:
        raise invalid("input is missing: give a text, or a list of texts")
    prediction = core.predict(
        record.spec,
        lambda signature: {"text": np.array([text.encode("utf-8", "replace") for text in texts], object)},
        timeout=record.arrival + core.limits.timeout - time.monotonic(),
        join_lane=join_lane,
    )
    record.version = prediction.version
    if _EMBEDDING not in prediction.outputs:
        raise invalid(f"{record.spec.name} gives no embeddings: only encoders do")
    vectors = prediction.outputs[_EMBEDDING].astype(np.float32)
    data = [
        {
            "object": "embedding",
            "index": i,
            "embedding": vector.tolist() if encoding == "float" else base64.b64encode(vector.tobytes()).decode(),
        }
        for i, vector in enumerate(vectors)
    ]
    return _to_json({"object": "list", "data": data, "model": record.spec.name})


def _value(document: dict, field: str, types: tuple[type, ...], default=None):
    """The value of a field, or the default where it is missing or null.

    Raises:
        ServingError: it has another type.
    """
    value = document.get(field)
    if value is None:
        return default
    if not isinstance(value, types) or isinstance(value, bool) and bool not in types:
        names = {int: "an integer", float: "a number", str: "a text", bool: "true or false", dict: "an object"}
        raise invalid(f"{field}: {str(value)[:100]} is not {names[types[-1]]}")
    return value


def _texts(document: dict, field: str) -> list[str] | None:
    """The text, or the texts, of a field; None where it is missing or null."""
    value = document.get(field)
    texts = [value] if isinstance(value, str) else value
    if texts is not None and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise invalid(f"{field} must be a text or a list of texts; lists of tokens are not supported")
    return texts


def _to_json(value) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
