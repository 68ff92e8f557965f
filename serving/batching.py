"""Runs the requests of many clients in batches.

A signature runs one batch at a time. Requests that arrive during a run wait in a queue, and the next batch takes all
of them that fit. So no request waits for a timer, and a single client is answered at once.

No thread belongs to the signature. The thread of one waiting request, the leader, runs the batch and then wakes the
next leader. A thread of the signature's own would add two thread switches to every request.
"""

import collections
import dataclasses
import threading
import time
from collections.abc import Callable

import numpy as np

from serving.errors import Code, ServingError
from serving.servable import Signature


@dataclasses.dataclass(eq=False)
class _Request:
    """A request in the queue or in a batch.

    Attributes:
        woken: set when the request has its answer, or when its thread has to lead the next batch.
        row_shapes: input -> shape without the batch axis; requests in one batch have the same.
        can_join: whether all inputs have the same number of rows.
    """

    inputs: dict[str, np.ndarray]
    woken: threading.Event = dataclasses.field(default_factory=threading.Event)
    is_leader: bool = False
    outputs: dict[str, np.ndarray] | None = None
    error: Exception | None = None

    def __post_init__(self):
        row_counts = {array.shape[0] if array.ndim else None for array in self.inputs.values()}
        self.row_shapes = {name: array.shape[1:] for name, array in self.inputs.items()}
        self.can_join = len(row_counts) == 1 and None not in row_counts
        self.num_rows = row_counts.pop() if self.can_join else 0


class Batcher:
    """Runs a signature for all clients, in their own threads.

    Args:
        signature: the signature to run.
        max_rows: maximum rows in a batch of several requests.
        clock: returns the time in seconds, on the same scale as the deadlines.
    """

    def __init__(self, signature: Signature, max_rows: int, clock: Callable[[], float] = time.monotonic):
        self._signature, self._max_rows, self._clock = signature, max_rows, clock
        self._queue: collections.deque[_Request] = collections.deque()
        self._lock = threading.Lock()  # for the queue, `_busy` and `is_leader`
        self._busy = False

    def run(self, inputs: dict[str, np.ndarray], deadline: float) -> dict[str, np.ndarray]:
        """Waits for a batch, and returns the outputs of these inputs.

        Args:
            inputs: input -> array.
            deadline: time of `clock` after which nobody wants the answer. A run that has started is not interrupted.

        Returns:
            output -> array.

        Raises:
            ServingError: the signature failed, or the deadline passed first.
        """
        request = _Request(inputs)
        with self._lock:
            request.is_leader, self._busy = not self._busy, True
            if not request.is_leader:
                self._queue.append(request)
        if not request.is_leader and not self._wait(request, deadline):
            with self._lock:
                if request in self._queue:
                    self._queue.remove(request)
                # It may have become the leader just when its deadline passed. Then it must lead, or the queue stops.
                must_lead = request.is_leader
            if not must_lead:
                raise _deadline_exceeded()
        if request.is_leader:
            self._lead(request, deadline)
        if request.error:
            raise request.error
        return request.outputs

    def _wait(self, request: _Request, deadline: float) -> bool:
        """Returns False if the deadline passed before the request was woken."""
        seconds = max(0.0, deadline - self._clock())
        return request.woken.wait(min(seconds, threading.TIMEOUT_MAX))

    def _lead(self, leader: _Request, deadline: float) -> None:
        """Runs a batch that starts with this request, then wakes the leader of the next batch."""
        batch = []
        try:
            if self._clock() > deadline:
                leader.error = _deadline_exceeded()
            else:
                batch = self._take_batch(leader)
                self._run_batch(batch)
                if self._clock() > deadline:
                    leader.error = _deadline_exceeded()
        finally:
            with self._lock:
                next_leader = self._queue.popleft() if self._queue else None
                if next_leader:
                    next_leader.is_leader = True
                else:
                    self._busy = False
            for request in [next_leader, *batch] if next_leader else batch:
                request.woken.set()

    def _take_batch(self, first: _Request) -> list[_Request]:
        """Takes from the queue the requests that fit into one batch with the first."""
        batch, num_rows = [first], first.num_rows
        if self._signature.can_batch and first.can_join:
            with self._lock:
                while self._queue:
                    request = self._queue[0]
                    same_shapes = request.can_join and request.row_shapes == first.row_shapes
                    if not same_shapes or num_rows + request.num_rows > self._max_rows:
                        break
                    batch.append(self._queue.popleft())
                    num_rows += request.num_rows
        return batch

    def _run_batch(self, batch: list[_Request]) -> None:
        if len(batch) == 1:
            self._run_alone(batch[0])
            return
        names = batch[0].inputs
        try:
            outputs = self._signature(
                {name: np.concatenate([request.inputs[name] for request in batch]) for name in names}
            )
        except ServingError:
            for request in batch:  # One request caused the error. The others get their answers.
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
        try:
            request.outputs = self._signature(request.inputs)
        except Exception as error:
            request.error = error


def _deadline_exceeded() -> ServingError:
    return ServingError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")
