"""The connections of the REST API: how many there are, and how long each may wait for its client.

uvicorn closes only connections that are idle after a request. Without more, clients that connect and send nothing, or
one byte at a time, would use up the open files of the process, and then nobody could connect.
"""

import asyncio
import contextlib
import errno
import os
import resource
import socket
import time
from collections.abc import Callable
from typing import cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from serving.settings import Limits

_MAX_RESERVED_DESCRIPTORS = 256  # for models, libraries, and connections that are being closed
_BACKLOG = 1024  # connections that wait to be accepted
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)
_EXHAUSTED_SECONDS = 0.02
_EXTRA_SECONDS = 5  # the application reports a timeout of the body itself; the connection is closed later


def raise_descriptor_limit(max_connections: int) -> None:
    """Raises the soft limit of open files, if the hard limit allows it, to what both APIs need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * max_connections + _MAX_RESERVED_DESCRIPTORS
    if soft < needed and soft != resource.RLIM_INFINITY:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (needed if hard == resource.RLIM_INFINITY else min(needed, hard), hard)
        )


def fit_to_descriptors(max_connections: int) -> int:
    """Maximum connections of each API: `max_connections`, or fewer if the process may not open so many files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return max_connections
    return max(1, min(max_connections, (limit - _num_reserved(limit)) // 2))


def _num_reserved(limit: int) -> int:
    return min(_MAX_RESERVED_DESCRIPTORS, limit // 4)


class Listener(socket.socket):
    """A listening socket that leaves descriptors free for everything else.

    asyncio handles exhausted descriptors badly: it stops accepting for a second and writes a traceback per attempt. The
    gRPC server and models take descriptors, too, so the limit may be reached in spite of all caps. For this case the
    socket keeps a spare descriptor, with which it accepts and closes the connections that wait.
    """

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)

    def close(self) -> None:
        """Closes the socket and the spare descriptor."""
        super().close()
        self._release_spare()

    def _release_spare(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    def _refuse_one(self) -> None:
        """Accepts and closes a connection while there is no free descriptor.

        Raises:
            BlockingIOError: no connection waits, or another thread has taken the spare descriptor.
        """
        self._release_spare()
        try:
            super().accept()[0].close()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                time.sleep(_EXHAUSTED_SECONDS)  # the event loop would call again at once
                raise BlockingIOError from error
            raise
        finally:
            with contextlib.suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY)

    def accept(self) -> tuple[socket.socket, tuple]:
        """Accepts a connection. Those beyond the limit are closed at once.

        Raises:
            BlockingIOError: no connection waits.
        """
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        while True:
            try:
                connection, address = super().accept()
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._refuse_one()
                continue
            # The number of a new descriptor is the lowest free one, so it shows how many are in use.
            if limit != resource.RLIM_INFINITY and connection.fileno() >= limit - _num_reserved(limit) // 2:
                connection.close()
                continue
            # asyncio sets this option only on sockets that know their protocol number. Those of `create_server` do not.
            # Without it, the second of two small writes waits 40 ms for the acknowledgement of the first.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection, address


def listen(host: str, port: int) -> Listener:
    """Opens a port.

    Raises:
        OSError: the port is not free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return Listener(fileno=socket.create_server((host, port), family=family, backlog=_BACKLOG).detach())


class Protocol(H11Protocol):
    """A connection with time limits. If there are too many connections, the one that has been idle longest is closed.

    Args:
        limits: the time limits.
        max_connections: maximum connections.
        on_closed: called with the reason when the server closes a connection early.
    """

    def __init__(self, *arguments, limits: Limits, max_connections: int, on_closed: Callable[[str], None], **keywords):
        super().__init__(*arguments, **keywords)
        self._limits, self._max_connections, self._on_closed = limits, max_connections, on_closed
        self._waits_for: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_active = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Waits for the first request; makes room for it if there are too many connections."""
        super().connection_made(transport)
        self._last_active = self.loop.time()
        self._wait_for("header", self._limits.header_timeout)
        if len(self.connections) > self._max_connections:
            self._make_room()

    def _make_room(self) -> None:
        """Closes the connection that has been idle longest, or this one if no other is idle."""
        connections = cast(set[Protocol], self.connections)
        open_connections = [each for each in connections if not each.transport.is_closing()]
        if len(open_connections) > self._max_connections:
            idle = [each for each in open_connections if each.is_idle() and each is not self]
            oldest = min(idle, key=lambda each: each._last_active, default=self)
            oldest.end("too many connections")

    def is_idle(self) -> bool:
        """Whether no request is being read or answered. The header of the next request may be incomplete."""
        return self.cycle is None or self.cycle.response_complete

    def end(self, reason: str) -> None:
        """Closes the connection, whatever has not been sent."""
        self._on_closed(reason)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handles bytes of a request."""
        self._last_active = self.loop.time()
        super().data_received(data)
        if self._waits_for != "reception":
            self._wait_for_request()

    def _wait_for_request(self) -> None:
        """Limits the time of the part of the request that comes next."""
        if self.conn.their_state is h11.IDLE:
            self._wait_for("header", self._limits.header_timeout)
        elif self.conn.their_state is h11.SEND_BODY:
            self._wait_for("body", self._limits.body_timeout + _EXTRA_SECONDS)
        else:
            self._wait_for(None)

    def on_response_complete(self) -> None:
        """Waits for the next request, which has uvicorn's timeout, or until the client has received the answer."""
        super().on_response_complete()
        self._last_active = self.loop.time()
        if self.transport.get_write_buffer_size():
            self._wait_for("reception", self._limits.body_timeout)
        elif self.conn.trailing_data[0]:  # the next request has started
            self._wait_for_request()
        elif self.conn.their_state is not h11.SEND_BODY:
            self._wait_for(None)

    def pause_writing(self) -> None:
        """Waits until the client has received a part of a large answer."""
        super().pause_writing()
        self._wait_for("reception", self._limits.body_timeout)

    def resume_writing(self) -> None:
        """Ends the wait of `pause_writing`."""
        super().resume_writing()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the timer."""
        self._wait_for(None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answers bytes that are not HTTP."""
        self._on_closed("malformed HTTP")
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # the answer to an earlier part of these bytes has started
            self.transport.close()

    def _wait_for(self, what: str | None, seconds: float = 0.0) -> None:
        """Limits the time of one wait. The same wait continues with its old limit."""
        if what == self._waits_for:
            return
        if self._timer:
            self._timer.cancel()
        self._waits_for = what
        self._timer = self.loop.call_later(seconds, self._expire) if what else None

    def _expire(self) -> None:
        expired, self._waits_for, self._timer = self._waits_for, None, None
        if expired == "reception" and not self.transport.get_write_buffer_size():
            self._wait_for_request()
        else:
            self.end(f"timeout of {expired}")


class HttpServer(uvicorn.Server):
    """uvicorn's server with a time limit for TLS handshakes.

    Args:
        config: uvicorn's options.
        handshake_timeout: maximum seconds of a handshake.
    """

    def __init__(self, config: uvicorn.Config, handshake_timeout: float):
        super().__init__(config)
        self._handshake_timeout = handshake_timeout

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to accept connections."""

        def make_protocol() -> asyncio.Protocol:
            make = cast(Callable[..., asyncio.Protocol], self.config.http_protocol_class)
            return make(config=self.config, server_state=self.server_state, app_state={})

        timeout = self._handshake_timeout if self.config.ssl else None
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(
                make_protocol, sock=each, ssl=self.config.ssl, ssl_handshake_timeout=timeout, backlog=_BACKLOG
            )
            for each in sockets or []
        ]
        self.started = True
