"""Runs the requests of many clients in batches.

A signature has two lanes: one for short requests, and one for requests with much work. Each lane has a Batcher, so a
short request never waits for a long one.

A Batcher runs one batch at a time. Requests that arrive during a run wait in a queue, and the next batch takes all of
them that fit. So no request waits for a timer, and a single client is answered at once.

No thread belongs to the Batcher. The thread of one request of the batch, the leader, runs the batch and then wakes the
leader of the next one. A thread of the Batcher's own would add two thread switches to every request. The leader is the
request with the latest deadline, and the run is broken off at that time. So no thread is held after its own deadline.
"""

import collections
import dataclasses
import threading
import time
from collections.abc import Callable

import numpy as np

from serving import work
from serving.errors import Code, ServingError
from serving.servable import Signature


@dataclasses.dataclass(eq=False)
class _Request:
    """A request in the queue or in a batch.

    Attributes:
        woken: set when the request has its answer, or when its thread has to run a batch.
        batch: the batch that its thread has to run, as the leader.
        row_shapes: input -> shape without the batch axis; requests in one batch have the same.
        can_join: whether all inputs have the same number of rows.
    """

    inputs: dict[str, np.ndarray]
    deadline: float
    woken: threading.Event = dataclasses.field(default_factory=threading.Event)
    batch: "list[_Request] | None" = None
    outputs: dict[str, np.ndarray] | None = None
    error: Exception | None = None

    def __post_init__(self):
        row_counts = {array.shape[0] if array.ndim else None for array in self.inputs.values()}
        self.row_shapes = {name: array.shape[1:] for name, array in self.inputs.items()}
        self.can_join = len(row_counts) == 1 and None not in row_counts
        self.num_rows = (row_counts.pop() or 0) if self.can_join else 0
        self.work = work.measure(self.inputs)


class Batcher:
    """Runs a signature for all clients, in their own threads.

    Args:
        signature: the signature to run.
        max_rows: maximum rows in a batch of several requests.
        max_tokens: maximum work in a batch of several requests (work.py).
        clock: returns the time in seconds, on the same scale as the deadlines.
        on_batch: called with the rows of every batch.
    """

    def __init__(
        self,
        signature: Signature,
        max_rows: int,
        max_tokens: int,
        clock: Callable[[], float] = time.monotonic,
        on_batch: Callable[[int], None] = lambda num_rows: None,
    ):
        self._on_batch = on_batch
        self._signature, self._max_rows, self._max_tokens, self._clock = signature, max_rows, max_tokens, clock
        self._queue: collections.deque[_Request] = collections.deque()
        self._lock = threading.Lock()  # for the queue, `_busy` and the batches of the leaders
        self._busy = False

    def num_waiting(self) -> int:
        """The number of requests in the queue."""
        return len(self._queue)

    def run(self, inputs: dict[str, np.ndarray], deadline: float) -> dict[str, np.ndarray]:
        """Waits for a batch, and returns the outputs of these inputs.

        Args:
            inputs: input -> array.
            deadline: time of `clock` after which nobody wants the answer.

        Returns:
            output -> array.

        Raises:
            ServingError: the signature failed, or the deadline passed first.
        """
        request = _Request(inputs, deadline)
        with self._lock:
            if self._busy:
                self._queue.append(request)
            else:
                self._busy, request.batch = True, [request]
        if not request.batch and not self._wait(request):
            with self._lock:
                if request in self._queue:
                    self._queue.remove(request)
            # It may have become the leader just when its deadline passed. Then it must lead, or the queue stops.
            if not request.batch:
                raise _deadline_exceeded()
        if request.batch:
            self._lead(request, request.batch)
        if request.error:
            raise request.error
        assert request.outputs is not None, "a request that was run has outputs or an error"
        return request.outputs

    def _wait(self, request: _Request) -> bool:
        """Returns False if the deadline passed before the request was woken."""
        seconds = max(0.0, request.deadline - self._clock())
        return request.woken.wait(min(seconds, threading.TIMEOUT_MAX))

    def _lead(self, leader: _Request, batch: list[_Request]) -> None:
        """Runs the leader's batch, then wakes the leader of the next one."""
        self._on_batch(sum(request.num_rows for request in batch))
        try:
            self._run_batch(batch)
            if self._clock() > leader.deadline:
                leader.error = _deadline_exceeded()
        finally:
            with self._lock:
                next_batch = self._take_batch()
                self._busy = bool(next_batch)
                if next_batch:
                    next_leader = max(next_batch, key=lambda request: request.deadline)
                    next_leader.batch = next_batch
            if next_batch:
                next_leader.woken.set()
            for request in batch:
                request.woken.set()

    def _take_batch(self) -> list[_Request]:
        """Takes the first request of the queue, and those that fit into a batch with it. The caller has the lock."""
        if not self._queue:
            return []
        first = self._queue.popleft()
        batch, num_rows, batch_work = [first], first.num_rows, first.work
        while self._queue and self._signature.can_batch and first.can_join:
            request = self._queue[0]
            same_shapes = request.can_join and request.row_shapes == first.row_shapes
            num_rows, batch_work = num_rows + request.num_rows, batch_work + request.work
            if not same_shapes or num_rows > self._max_rows or batch_work.num_tokens > self._max_tokens:
                break
            batch.append(self._queue.popleft())
        return batch

    def _run_batch(self, batch: list[_Request]) -> None:
        seconds = max(request.deadline for request in batch) - self._clock()
        if len(batch) == 1 or seconds <= 0:
            for request in batch:
                self._run_alone(request)
            return
        names = batch[0].inputs
        try:
            outputs = self._signature(
                {name: np.concatenate([request.inputs[name] for request in batch]) for name in names}, seconds
            )
        except ServingError:
            for request in batch:  # One request caused the error. The others get their answers, if they have time left.
                self._run_alone(request)
            return
        except Exception as error:
            for request in batch:
                request.error = error
            return
        first_row = 0
        for request in batch:
            rows = slice(first_row, first_row + request.num_rows)
            request.outputs = {name: array[rows] for name, array in outputs.items()}
            first_row += request.num_rows

    def _run_alone(self, request: _Request) -> None:
        seconds = request.deadline - self._clock()
        if seconds <= 0:
            request.error = _deadline_exceeded()
            return
        try:
            request.outputs = self._signature(request.inputs, seconds)
        except Exception as error:
            request.error = error


def _deadline_exceeded() -> ServingError:
    return ServingError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")
