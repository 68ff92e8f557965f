"""Requests of many clients in one run of a signature.

A signature runs one batch at a time. What arrives meanwhile waits, and goes with the next batch, all of it that fits: nobody waits for
a timer, and a single client is answered at once. The runs are done by the threads that ask, each leading one batch and then handing
on: a thread of the signature's own would add two changes of threads to every request.
"""

import collections
import dataclasses
import threading
import time

import numpy as np

from serving.errors import Code, ServingError
from serving.servable import Signature


@dataclasses.dataclass(eq=False)
class _Waiting:
    inputs: dict[str, np.ndarray]
    woken: threading.Event = dataclasses.field(default_factory=threading.Event)
    leads: bool = False
    outputs: dict[str, np.ndarray] | None = None
    error: Exception | None = None

    def __post_init__(self):
        sizes = {array.shape[0] if array.ndim else None for array in self.inputs.values()}
        self.shape = {name: array.shape[1:] for name, array in self.inputs.items()}
        self.joins = len(sizes) == 1 and None not in sizes
        self.rows = sizes.pop() if self.joins else 0


class Batcher:
    """Runs a signature for all who ask, from their own threads.

    Args:
        signature: what is run.
        most_rows: in a batch of several requests.
    """

    def __init__(self, signature: Signature, most_rows: int):
        self._signature, self._most_rows = signature, most_rows
        self._queue: collections.deque[_Waiting] = collections.deque()
        self._lock = threading.Lock()
        self._busy = False

    def run(self, inputs: dict[str, np.ndarray], deadline: float) -> dict[str, np.ndarray]:
        """
        Args:
            inputs: input -> array.
            deadline: of time.monotonic(), behind which nobody wants the answer. A run that has begun is not broken off.

        Returns:
            output -> array.

        Raises:
            ServingError: the signature's, or the deadline came first.
        """
        waiting = _Waiting(inputs)
        with self._lock:
            waiting.leads, self._busy = not self._busy, True
            if not waiting.leads:
                self._queue.append(waiting)
        if not waiting.leads and not waiting.woken.wait(max(0.0, deadline - time.monotonic())):
            with self._lock:
                if waiting in self._queue:
                    self._queue.remove(waiting)
            if not waiting.leads:
                raise _too_late()
        if waiting.leads:
            self._lead(waiting, deadline)
        if waiting.error:
            raise waiting.error
        return waiting.outputs

    def _lead(self, leader: _Waiting, deadline: float) -> None:
        """Runs a batch that begins with this request, and hands on to the next that waits."""
        batch = []
        try:
            if time.monotonic() > deadline:
                leader.error = _too_late()
            else:
                batch = self._batch(leader)
                self._run(batch)
                if time.monotonic() > deadline:
                    leader.error = _too_late()
        finally:
            with self._lock:
                following = self._queue.popleft() if self._queue else None
                if following:
                    following.leads = True
                else:
                    self._busy = False
            for waiting in [following, *batch] if following else batch:
                waiting.woken.set()

    def _batch(self, first: _Waiting) -> list[_Waiting]:
        batch, rows = [first], first.rows
        if self._signature.batches and first.joins:
            with self._lock:
                while self._queue:
                    other = self._queue[0]
                    if not other.joins or other.shape != first.shape or rows + other.rows > self._most_rows:
                        break
                    batch.append(self._queue.popleft())
                    rows += other.rows
        return batch

    def _run(self, batch: list[_Waiting]) -> None:
        if len(batch) == 1:
            self._run_alone(batch[0])
            return
        try:
            outputs = self._signature({name: np.concatenate([waiting.inputs[name] for waiting in batch]) for name in batch[0].inputs})
        except ServingError:
            for waiting in batch:  # one of them is at fault: the others shall have their answers
                self._run_alone(waiting)
            return
        except Exception as error:
            for waiting in batch:
                waiting.error = error
            return
        first = 0
        for waiting in batch:
            rows = slice(first, first + waiting.rows)
            waiting.outputs = {name: array[rows] for name, array in outputs.items()}
            first += waiting.rows

    def _run_alone(self, waiting: _Waiting) -> None:
        try:
            waiting.outputs = self._signature(waiting.inputs)
        except Exception as error:
            waiting.error = error


def _too_late() -> ServingError:
    return ServingError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")
