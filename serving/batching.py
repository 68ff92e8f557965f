"""Requests of many clients in one run of a signature.

A signature runs one batch at a time. What arrives meanwhile waits, and goes with the next batch, all of it that fits: nobody waits for
a timer, and a single client is answered at once.
"""

import collections
import dataclasses
import threading
import time
from concurrent.futures import Future

import numpy as np

from serving.errors import Code, ServingError
from serving.servable import Signature


@dataclasses.dataclass
class _Waiting:
    inputs: dict[str, np.ndarray]
    deadline: float
    answer: Future

    def __post_init__(self):
        sizes = {array.shape[0] if array.ndim else None for array in self.inputs.values()}
        self.shape = {name: array.shape[1:] for name, array in self.inputs.items()}
        self.joins = len(sizes) == 1 and None not in sizes
        self.rows = sizes.pop() if self.joins else 0


class Batcher:
    """Runs a signature for all who ask, from a thread of its own.

    Args:
        signature: what is run.
        most_rows: in a batch of several requests.
    """

    def __init__(self, signature: Signature, most_rows: int):
        self._signature, self._most_rows = signature, most_rows
        self._queue: collections.deque[_Waiting] = collections.deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"batches of {signature.name}", daemon=True)
        self._thread.start()

    def submit(self, inputs: dict[str, np.ndarray], deadline: float) -> Future:
        """
        Args:
            inputs: input -> array.
            deadline: of time.monotonic(), behind which nobody wants the answer.

        Returns:
            A future of output -> array; or a ServingError.
        """
        waiting = _Waiting(inputs, deadline, Future())
        with self._changed:
            self._queue.append(waiting)
            self._changed.notify()
        return waiting.answer

    def close(self) -> None:
        """Answers what waits, and ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            batch = [waiting for waiting in batch if _still_wanted(waiting)]
            if batch:
                self._run(batch)

    def _next(self) -> list[_Waiting]:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            if not self._queue:
                return []
            first = self._queue.popleft()
            batch, rows = [first], first.rows
            if self._signature.batches and first.joins:
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
        joined = {name: np.concatenate([waiting.inputs[name] for waiting in batch]) for name in batch[0].inputs}
        try:
            outputs = self._signature(joined)
        except ServingError:
            for waiting in batch:  # one of them is at fault: the others shall have their answers
                self._run_alone(waiting)
            return
        except Exception as error:
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        first = 0
        for waiting in batch:
            rows = slice(first, first + waiting.rows)
            waiting.answer.set_result({name: array[rows] for name, array in outputs.items()})
            first += waiting.rows

    def _run_alone(self, waiting: _Waiting) -> None:
        try:
            waiting.answer.set_result(self._signature(waiting.inputs))
        except Exception as error:
            waiting.answer.set_exception(error)


def _still_wanted(waiting: _Waiting) -> bool:
    if not waiting.answer.set_running_or_notify_cancel():
        return False
    if time.monotonic() > waiting.deadline:
        waiting.answer.set_exception(ServingError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded"))
        return False
    return True
