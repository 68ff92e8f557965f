"""The requests in progress, so that a server that ends can answer them."""

import asyncio
import contextlib
from collections.abc import Iterator

from serving.errors import Code, ServingError


class Running:
    """The tasks of the event loop that answer a request."""

    def __init__(self):
        self._tasks: set[asyncio.Task] = set()
        self._is_over = False

    @contextlib.contextmanager
    def track(self) -> Iterator[None]:
        """Counts the current task as a request while the block runs.

        Raises:
            ServingError: the request has been abandoned.
        """
        stops = ServingError(Code.UNAVAILABLE, "the server stops: try again later")
        if self._is_over:
            raise stops
        task = asyncio.current_task()
        assert task is not None, "a request is answered by a task of the event loop"
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._is_over:  # the client has gone away
                raise
            task.uncancel()
            raise stops from None
        finally:
            self._tasks.discard(task)

    def abandon(self) -> None:
        """Ends the wait of all requests, and of those that still come. Their threads continue."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
