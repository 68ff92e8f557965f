"""Decides which requests run, and runs them in threads. Everything here is called in the event loop of the server."""

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from serving.errors import Code, ServingError
from serving.running import Running
from serving.settings import Limits
from serving.shares import Shares

_NUM_QUERY_THREADS = 8
# How many times the free requests a lane, a model or a client may hold (shares.py). The smaller unit has the smaller
# weight: else a client that fills the lane of one model could not ask another model.
_LANE_WEIGHT, _MODEL_WEIGHT, _CLIENT_WEIGHT = 1, 2, 3
_CLIENT_MINIMUM = 8  # a client may always hold an eighth: all users of a proxy are one client


class Reservation:
    """What one request holds: its bytes, and its place among the predictions in progress.

    Attributes:
        client: the client that has sent it.
        num_bytes: the bytes that have arrived.
        is_held_by_thread: whether a prediction has taken it over.
    """

    def __init__(self, admission: "Admission", client: str):
        self._admission = admission
        self._holders: list[Hashable] = []
        self._num_places = 1
        self.client = client
        self.num_bytes = 0
        self.is_held_by_thread = False

    def add(self, num_bytes: int) -> None:
        """Counts bytes that have arrived.

        Raises:
            ServingError: the server holds too many bytes, or too many of this client.
        """
        shares, client = self._admission.bytes, ("client", self.client)
        if shares.is_used_up(num_bytes):
            raise _exhausted(f"requests with more than {shares.number} bytes wait already")
        if shares.has_its_share(client, _CLIENT_WEIGHT, shares.number // _CLIENT_MINIMUM, self.num_bytes):
            raise _exhausted(f"requests of this client hold its share of {shares.number} bytes already")
        shares.take(num_bytes, client)
        self.num_bytes += num_bytes

    def start(self, model: str, num_places: int = 1) -> None:
        """Takes places among the predictions in progress.

        Args:
            num_places: one, or as many as texts are generated token by token.

        Raises:
            ServingError: there are not enough.
        """
        self._admission.check_free(self.client, model, num_places)
        self._holders, self._num_places = [("client", self.client), ("model", model)], num_places
        self._admission.requests.take(num_places, *self._holders)

    def join_lane(self, lane: Hashable) -> None:
        """Counts a prediction in progress for its lane. Called in the thread of the prediction.

        Args:
            lane: the requests that wait for each other.

        Raises:
            ServingError: the lane has its share of the predictions in progress.
        """
        shares, holder = self._admission.requests, ("lane", lane)
        if not shares.join(1, holder, _LANE_WEIGHT):
            raise _exhausted(f"requests of this kind have their share of {shares.number} requests in progress")
        self._holders.append(holder)

    def release(self) -> None:
        """Gives everything back."""
        self._admission.bytes.give_back(self.num_bytes, ("client", self.client))
        self.num_bytes = 0
        if self._holders:
            self._admission.requests.give_back(self._num_places, *self._holders)
            self._holders = []


class Admission:
    """Limits the predictions in progress, and the bytes of their requests.

    Status, metadata and metrics have threads of their own, so they are answered while all predictions are occupied.

    Args:
        limits: the limits.

    Attributes:
        requests: predictions in progress, including those that wait for their batch.
        bytes: bytes of the requests that are being read or are in progress.
        num_queries: queries in progress.
        running: the tasks that answer requests.
    """

    def __init__(self, limits: Limits):
        self.requests, self.bytes = Shares(limits.max_requests), Shares(limits.max_queued_bytes)
        self.num_queries, self.running = 0, Running()
        self._predictions = ThreadPoolExecutor(limits.max_requests, "prediction")
        self._queries = ThreadPoolExecutor(_NUM_QUERY_THREADS, "query")

    def check_free(self, client: str, model: str | None = None, num_places: int = 1) -> None:
        """Refuses a prediction, before its body is read.

        Args:
            client: who sends it.
            model: the model that it names, if that is known already.
            num_places: how many places it needs.

        Raises:
            ServingError: too many predictions are in progress, or too many of this client or model.
        """
        shares = self.requests
        if shares.is_used_up(num_places):
            raise _exhausted(f"{shares.number} requests are in progress already")
        if shares.has_its_share(("client", client), _CLIENT_WEIGHT, shares.number // _CLIENT_MINIMUM):
            raise _exhausted(f"this client has its share of {shares.number} requests in progress")
        if model is not None and shares.has_its_share(("model", model), _MODEL_WEIGHT):
            raise _exhausted(f"this model has its share of {shares.number} requests in progress")

    @contextlib.contextmanager
    def reservation(self, client: str) -> Iterator[Reservation]:
        """A reservation for `client` that ends with the `with` block, or with the prediction that has taken it over."""
        reservation = Reservation(self, client)
        try:
            yield reservation
        finally:
            if not reservation.is_held_by_thread:
                reservation.release()

    async def predict(self, reservation: Reservation, model: str, function: Callable, *arguments):
        """Runs a prediction in a thread. There is always a free one.

        A client that goes away cancels the wait. The thread continues, and counts until it ends.

        Args:
            reservation: of the request; given back after the run.
            model: the model that the request names.
            function: called with `arguments`.

        Returns:
            What `function` returns.

        Raises:
            ServingError: too many predictions are in progress, or too many of this client or model.
        """
        reservation.start(model)
        reservation.is_held_by_thread = True
        return await _run(self._predictions, reservation.release, function, *arguments)

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


def _exhausted(reason: str) -> ServingError:
    return ServingError(Code.RESOURCE_EXHAUSTED, f"{reason}: try again later")
