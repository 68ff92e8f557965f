"""Inputs that are filled up, and clients that do not take what is generated; test_openai_api.py has the rest."""

import asyncio
import time

import numpy as np
import pytest

from serving import delivery
from serving.cards import Words
from serving.core import ModelSpec, Request
from serving.errors import Code, ServingError
from serving.generation import Piece, Text
from serving.streams import Stream


class Signature:
    dtypes = {
        name: np.dtype(dtype)
        for name, dtype in {
            "text": "O",
            "max_length": "i4",
            "top_p": "f4",
            "seed": "i4",
            "stop": "O",
            "new": "f4",
        }.items()
    }


def test_options_come_from_the_request_then_the_card_then_are_neutral():
    words = Words(generation={"max_length": 7, "top_p": 0.5})
    arrays = delivery.inputs(Signature, words, [b"a", b"b"], {"top_p": np.array([0.25, 0.75])})
    assert arrays["max_length"].tolist() == [7, 7] and arrays["top_p"].tolist() == [0.25, 0.75]
    assert arrays["stop"].tolist() == [b"", b""] and arrays["new"].tolist() == [0, 0]
    assert {name: array.dtype for name, array in arrays.items()} == Signature.dtypes
    neutral = delivery.inputs(Signature, Words(), [b"a"], {})
    assert neutral["max_length"].tolist() == [200] and neutral["top_p"].tolist() == [1.0]


def test_seeds_are_random_unless_given():
    seeds = {delivery.inputs(Signature, Words(), [b"a"], {})["seed"].item() for _ in range(20)}
    assert len(seeds) > 10 and all(0 <= seed < 2**31 for seed in seeds)
    assert delivery.inputs(Signature, Words(), [b"a", b"b"], {"seed": 2**31 + 3})["seed"].tolist() == [3, 3]


class Core:
    """Delivers pieces as fast as it can."""

    def stream(self, spec, make_inputs, texts, deliver, timeout):
        self.streams = [Stream(text, {}, 0.0, None) for text in texts]
        for _ in range(delivery._MAX_WAITING + 10):
            deliver(0, Piece("x"))
        return 1, self.streams


async def read(core, disconnection=None):
    record, texts = Request("Completions", "REST", spec=ModelSpec("m")), [Text()]
    found = []
    async for _, piece in delivery.pieces(core, record, None, texts, time.monotonic() + 60, disconnection):
        found.append(piece.text)
        await asyncio.sleep(0)
    return found


def test_a_client_that_goes_away_is_an_error_and_its_text_is_not_wanted():
    class Silent(Core):
        def stream(self, *arguments):
            self.streams = [Stream(Text(), {}, 0.0, None)]
            return 1, self.streams

    core = Silent()
    with pytest.raises(ServingError, match="the client has closed the connection") as caught:
        asyncio.run(read(core, asyncio.sleep(0)))
    assert caught.value.code == Code.CANCELLED and not core.streams[0].is_wanted


def test_too_many_waiting_pieces_end_the_text():
    class Flooding(Core):
        def stream(self, spec, make_inputs, texts, deliver, timeout):
            self.deliver = deliver
            self.streams = [Stream(texts[0], {}, 0.0, None)]
            deliver(0, Piece("x"))
            return 1, self.streams

    async def flooded():
        core, found = Flooding(), []
        record = Request("Completions", "REST", spec=ModelSpec("m"))
        pieces = delivery.pieces(core, record, None, [Text()], time.monotonic() + 60)
        found.append(await anext(pieces))
        for _ in range(delivery._MAX_WAITING + 2):
            core.deliver(0, Piece("y"))
            await asyncio.sleep(0)
        with pytest.raises(ServingError, match="reads too slowly"):
            async for piece in pieces:
                found.append(piece)
        return core, found

    core, found = asyncio.run(flooded())
    assert len(found) <= delivery._MAX_WAITING + 2 and not core.streams[0].is_wanted
