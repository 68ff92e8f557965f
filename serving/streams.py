"""Streams: texts that several clients get while they are generated, all of one version in one batch (generation.py).

The batch has a thread while it has texts. Texts that arrive join before its next run, and those that nobody waits for
any more leave then; so all texts advance at the same speed, whoever was first.
"""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from serving.errors import Code, ServingError
from serving.generation import Batch, Piece, Rows, Text
from serving.logs import logger
from serving.servable import Servable


@dataclasses.dataclass(eq=False)
class Stream:
    """A text for a client.

    Attributes:
        text: what is generated.
        inputs: of `sample_start`, with one row.
        deadline: time of `time.monotonic` after which nobody wants the rest.
        deliver: called in the thread of the batch with each piece, and with the error that ends the text.
        is_wanted: False after the client has gone away.
    """

    text: Text
    inputs: Rows
    deadline: float
    deliver: Callable[[Piece | ServingError], None]
    is_wanted: bool = True


class Streams:
    """The texts of one version that are being generated.

    Args:
        servable: the version; the thread holds it.
        on_batch: called with the rows of every run.
    """

    def __init__(self, servable: Servable, on_batch: Callable[[int], None] = lambda num_rows: None):
        self._servable, self._on_batch = servable, on_batch
        self._waiting: list[Stream] = []
        self._running: dict[Text, Stream] = {}  # those of the batch
        self._batch = Batch(self._run_signature)
        self._lock = threading.Lock()  # for `_waiting` and `_has_thread`
        self._has_thread = False

    def add(self, streams: Sequence[Stream]) -> None:
        """Starts to generate texts."""
        with self._lock:
            self._waiting.extend(streams)
            if not self._has_thread:
                self._has_thread = True
                self._servable.acquire()
                threading.Thread(target=self._work, name="streams", daemon=True).start()

    def _work(self) -> None:
        """Runs the batch until no text is left."""
        while True:
            self._end_unwanted()
            with self._lock:
                new, self._waiting = self._waiting, []
                if not new and not len(self._batch):
                    self._has_thread = False
                    self._servable.release()
                    return
            self._join([each for each in new if not self._is_over(each)])
            if len(self._batch):
                self._advance()

    def _end_unwanted(self) -> None:
        over = [stream for stream in self._running.values() if self._is_over(stream)]
        if over:
            self._batch.leave([stream.text for stream in over])
            for stream in over:
                del self._running[stream.text]

    def _is_over(self, stream: Stream) -> bool:
        """Whether nobody waits for the rest of a text; a client whose time is over gets an error."""
        if stream.is_wanted and time.monotonic() > stream.deadline:
            stream.deliver(_deadline_exceeded())
            return True
        return not stream.is_wanted

    def _join(self, streams: list[Stream]) -> None:
        """Reads the prompts of new texts: all at once, and each alone if one of them is refused."""
        if not streams:
            return
        inputs = {name: np.concatenate([each.inputs[name] for each in streams]) for name in streams[0].inputs}
        try:
            self._batch.join([each.text for each in streams], inputs)
        except Exception as error:
            if len(streams) == 1:
                streams[0].deliver(_as_serving_error(error))
            else:
                for each in streams:
                    self._join([each])
            return
        self._running |= {each.text: each for each in streams}

    def _advance(self) -> None:
        self._on_batch(len(self._batch))
        try:
            pieces = self._batch.advance()
        except Exception as error:
            self._batch.leave(list(self._running))
            for stream in self._running.values():
                stream.deliver(_as_serving_error(error))
            self._running = {}
            return
        for text, piece in pieces:
            self._running[text].deliver(piece)
            if piece.end:
                del self._running[text]

    def _run_signature(self, name: str, inputs: Rows) -> Rows:
        deadlines = [stream.deadline for stream in self._running.values()]
        seconds = max(deadlines) - time.monotonic() if deadlines else None
        return self._servable.signature(name)(inputs, seconds)


def _deadline_exceeded() -> ServingError:
    return ServingError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")


def _as_serving_error(error: Exception) -> ServingError:
    if isinstance(error, ServingError):
        return _deadline_exceeded() if error.code == Code.DEADLINE_EXCEEDED else error
    logger.error("a stream failed", exc_info=error)
    return ServingError(Code.INTERNAL, "internal error: see the server's log")
