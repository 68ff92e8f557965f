"""Texts that are generated for one client, as an iterator of the event loop."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any

import numpy as np

from serving.cards import Words
from serving.core import Core, Request
from serving.errors import Code, ServingError
from serving.generation import Piece, Text
from serving.servable import Signature
from serving.streams import Stream

_MAX_WAITING = 1000  # pieces that a client has not received yet
# Option -> its value where neither the request nor the model's card has one.
_NEUTRAL = {"max_length": 200, "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}


def inputs(
    signature: Signature, words: Words, texts: Sequence[bytes], options: dict[str, Any]
) -> dict[str, np.ndarray]:
    """The inputs of `sample_start`. Options that the request does not have get the model's defaults; a random seed.

    Args:
        texts: the prompts.
        options: of the request: input -> value, or values of all texts. A text ends at what `Text` has as its stop
            texts: the signature's own input `stop` is empty, because it is one text, and stays in the output.
    """
    num_rows = len(texts)
    defaults = _NEUTRAL | words.generation | {"seed": secrets.randbelow(2**31) + np.arange(num_rows), "stop": b""}
    values = {name: options.get(name, defaults.get(name, 0)) for name in signature.dtypes if name != "text"}
    arrays = {
        name: np.broadcast_to(np.asarray(value).astype(np.int64) % 2**31 if name == "seed" else value, [num_rows])
        for name, value in values.items()
    }
    return {"text": np.array(texts, object)} | {
        name: array.astype(signature.dtypes[name]) for name, array in arrays.items()
    }


async def pieces(
    core: Core,
    record: Request,
    make_inputs: Callable[[Signature, Words], dict[str, np.ndarray]],
    texts: Sequence[Text],
    deadline: float,
    disconnection: Coroutine | None = None,
) -> AsyncGenerator[tuple[int, Piece], None]:
    """Yields (number of the text, piece) as they are generated, until all texts have ended.

    Args:
        record: names the model; gets the version.
        make_inputs: see `Core.stream`.
        texts: one for each row of the inputs.
        deadline: time of `time.monotonic`.
        disconnection: ends when the client goes away; None where this task is cancelled then.

    Raises:
        ServingError: the request is invalid, one of the texts cannot be generated, the client has gone away, or it does
            not receive the pieces.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[int, Piece | ServingError]] = asyncio.Queue()

    def deliver(i: int, piece: Piece | ServingError) -> None:
        if queue.qsize() > _MAX_WAITING:
            piece = ServingError(Code.RESOURCE_EXHAUSTED, "the client reads too slowly")
            for stream in streams:
                stream.is_wanted = False
        with contextlib.suppress(RuntimeError):  # a server that has stopped has no event loop
            loop.call_soon_threadsafe(queue.put_nowait, (i, piece))

    gone = asyncio.ensure_future(disconnection) if disconnection else loop.create_future()
    streams: list[Stream] = []
    try:
        timeout = deadline - time.monotonic()
        record.version, streams = core.stream(record.spec, make_inputs, texts, deliver, timeout)
        num_open = len(streams)
        while num_open:
            event = asyncio.ensure_future(queue.get())
            await asyncio.wait({event, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not event.done():
                event.cancel()
                raise ServingError(Code.CANCELLED, "the client has closed the connection")
            i, piece = event.result()
            if isinstance(piece, ServingError):
                raise piece
            num_open -= bool(piece.end)
            yield i, piece
    finally:
        gone.cancel()
        for stream in streams:
            stream.is_wanted = False
