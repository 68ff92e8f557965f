"""Decides which requests run, and runs them in threads. Everything here is called in the event loop of the server."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from serving.errors import Code, ServingError
from serving.settings import Limits

_NUM_QUERY_THREADS = 8


class Reservation:
    """The bytes of one request, counted against the limit for all requests."""

    def __init__(self, admission: "Admission"):
        self._admission = admission
        self.num_bytes = 0
        self.is_held_by_thread = False

    def add(self, num_bytes: int) -> None:
        """Counts bytes that have arrived.

        Raises:
            ServingError: the server holds too many bytes.
        """
        limit = self._admission.limits.max_queued_bytes
        if self._admission.num_queued_bytes + num_bytes > limit:
            message = f"requests with more than {limit} bytes wait already: try again later"
            raise ServingError(Code.RESOURCE_EXHAUSTED, message)
        self._admission.num_queued_bytes += num_bytes
        self.num_bytes += num_bytes

    def release(self) -> None:
        """Gives the bytes back."""
        self._admission.num_queued_bytes -= self.num_bytes
        self.num_bytes = 0


class Admission:
    """Limits the predictions in progress, and the bytes of their requests.

    Status, metadata and metrics have threads of their own, so they are answered while all predictions are occupied.

    Args:
        limits: the limits.

    Attributes:
        num_running: predictions in progress, including those that wait for their batch.
        num_queries: queries in progress.
        num_queued_bytes: bytes of the requests that are being read or are in progress.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.num_running = self.num_queries = self.num_queued_bytes = 0
        self._predictions = ThreadPoolExecutor(limits.max_requests, "prediction")
        self._queries = ThreadPoolExecutor(_NUM_QUERY_THREADS, "query")

    def check_free(self) -> None:
        """Refuses a prediction before its body is read.

        Raises:
            ServingError: too many predictions are in progress.
        """
        if self.num_running >= self.limits.max_requests:
            message = f"{self.limits.max_requests} requests are in progress already: try again later"
            raise ServingError(Code.RESOURCE_EXHAUSTED, message)

    @contextlib.contextmanager
    def reservation(self) -> Iterator[Reservation]:
        """A reservation that ends with the `with` block or with the prediction that has taken it over."""
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            if not reservation.is_held_by_thread:
                reservation.release()

    async def predict(self, reservation: Reservation, function: Callable, *arguments):
        """Runs a prediction in a thread. There is always a free one.

        A client that goes away cancels the wait. The thread continues, and counts until it ends.

        Args:
            reservation: the bytes of the request; given back after the run.
            function: called with `arguments`.

        Returns:
            What `function` returns.

        Raises:
            ServingError: too many predictions are in progress.
        """
        self.check_free()
        self.num_running += 1
        reservation.is_held_by_thread = True

        def finish() -> None:
            self.num_running -= 1
            reservation.release()

        return await _run(self._predictions, finish, function, *arguments)

    async def query(self, function: Callable, *arguments):
        """Runs a short function that is no prediction in a thread of its own pool, and returns its result."""
        self.num_queries += 1

        def finish() -> None:
            self.num_queries -= 1

        return await _run(self._queries, finish, function, *arguments)

    def close(self) -> None:
        """Accepts nothing more. Threads that still run are not waited for."""
        self._predictions.shutdown(wait=False)
        self._queries.shutdown(wait=False)


async def _run(threads: ThreadPoolExecutor, finish: Callable[[], None], function: Callable, *arguments):
    """Runs a function in a thread. `finish` is called in the event loop when the thread ends, even if nobody waits."""
    loop = asyncio.get_running_loop()

    def finish_in_loop(future: Future) -> None:
        with contextlib.suppress(RuntimeError):  # a server that has stopped has no event loop
            loop.call_soon_threadsafe(finish)

    future = threads.submit(function, *arguments)
    future.add_done_callback(finish_in_loop)
    return await asyncio.wrap_future(future)
