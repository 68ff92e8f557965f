"""The thread of the texts of one version; test_openai_api.py has a real model and server."""

import queue
import threading
import time

import numpy as np
import pytest

from serving.errors import Code, ServingError
from serving.generation import Text
from serving.streams import Stream, Streams
from tests.serving.conftest import HANG_SECONDS, wait_until
from tests.serving.test_generation import Counting, row


class Model:
    """A servable that counts its users. Its runs fail where a prompt is "bad", and wait while `is_open` is not set."""

    def __init__(self):
        self.num_users, self.is_open, self.error = 0, threading.Event(), None
        self.is_open.set()

    def acquire(self):
        self.num_users += 1

    def release(self):
        self.num_users -= 1

    def signature(self, name):
        def run(inputs, seconds):
            assert self.is_open.wait(HANG_SECONDS)
            if name == "sample_start" and b"bad" in inputs["text"]:
                raise ServingError(Code.INVALID_ARGUMENT, "a bad prompt")
            if name == "sample_step" and self.error:
                raise self.error
            return Counting()(name, inputs)

        return run


@pytest.fixture
def model():
    return Model()


def stream(prompt, max_length=9, seconds=HANG_SECONDS):
    """A stream, and the queue of what is delivered."""
    delivered = queue.Queue()
    made = Stream(Text(), row(prompt.encode(), max_length), time.monotonic() + seconds, delivered.put)
    return made, delivered


def result(delivered):
    """The text, or the error."""
    text = ""
    while True:
        piece = delivered.get(timeout=HANG_SECONDS)
        if isinstance(piece, ServingError):
            return piece
        text += piece.text
        if piece.end:
            return text


def test_texts_share_runs_and_the_model_is_held_while_there_are_any(model):
    sizes = []
    streams = Streams(model, sizes.append)
    model.is_open.clear()
    opened = [stream(str(number), 4) for number in range(3)]
    streams.add([each for each, _ in opened])
    assert model.num_users == 1
    model.is_open.set()
    assert [result(delivered) for _, delivered in opened] == ["0123", "1234", "2345"]
    wait_until(lambda: model.num_users == 0)
    assert set(sizes) == {3}
    again, delivered = stream("5", 2)
    streams.add([again])
    assert result(delivered) == "56"


def test_a_bad_prompt_ends_alone(model):
    model.is_open.clear()
    first, of_first = stream("1", 3)
    streams = Streams(model)
    streams.add([first])
    (bad, of_bad), (good, of_good) = stream("bad"), stream("2", 3)
    streams.add([bad, good])
    model.is_open.set()
    assert result(of_bad).message == "a bad prompt"
    assert result(of_good) == "234" and result(of_first) == "123"


def test_a_run_that_fails_ends_its_texts_and_the_next_one_works(model):
    streams, error = Streams(model), ServingError(Code.DEADLINE_EXCEEDED, "Timed out waiting for notification")
    for model.error, message in (
        (error, "Deadline Exceeded"),
        (OSError("no disk"), "internal error: see the server's log"),
    ):
        made, delivered = stream("1")
        streams.add([made])
        assert result(delivered).message == message
    model.error = None
    made, delivered = stream("1", 2)
    streams.add([made])
    assert result(delivered) == "12"
    wait_until(lambda: model.num_users == 0)


def test_nobody_generates_for_a_client_whose_time_is_over_or_that_has_gone(model):
    model.is_open.clear()
    streams = Streams(model)
    (late, of_late), (gone, of_gone), (other, of_other) = stream("1", seconds=-1), stream("2"), stream("3", 2)
    gone.is_wanted = False
    streams.add([late, gone, other])
    model.is_open.set()
    assert result(of_late).code == Code.DEADLINE_EXCEEDED and result(of_other) == "34"
    wait_until(lambda: model.num_users == 0)
    assert of_gone.empty()


def test_texts_that_arrive_all_the_time_get_their_answers(model):
    streams, texts = Streams(model), {}

    def client(number):
        for i in range(20):
            made, delivered = stream(str((number + i) % 10), 3)
            streams.add([made])
            texts[number, i] = result(delivered)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    expected = {(n, i): "".join(map(str, range((n + i) % 10, min((n + i) % 10 + 3, 10)))) for n, i in np.ndindex(8, 20)}
    assert texts == expected
    wait_until(lambda: model.num_users == 0)
