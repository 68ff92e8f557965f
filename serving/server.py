"""The embedded server: TF Serving's REST and gRPC APIs for the models in a folder. `python main.py serve` starts it."""

import asyncio
import contextlib
import functools
import os
import queue
import signal
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import uvicorn

from serving import connections, grpc_api, hosts, models_config, rest
from serving.admission import Admission
from serving.core import Core
from serving.logs import log_event, logger
from serving.manager import Manager
from serving.metrics import Metrics
from serving.settings import Settings

_DRAIN_SECONDS = 30  # after this time, a server that stops abandons the requests in progress
_LAST_ANSWERS_SECONDS = 2  # for the answers to the abandoned requests
_POLL_END_SECONDS = 1  # a search for versions that lasts longer is loading a model
_EXTRA_STREAMS = 128  # for health, status and refused requests
_MAX_GRPC_AGE_SECONDS = 600  # ends calls that never finish; clients reconnect by themselves


class Server:
    """Serves models with both APIs. The ports are open after the constructor; `start` answers the requests.

    Both APIs run in one event loop, in a thread of the server. Predictions run in further threads.

    Args:
        settings: the options.

    Attributes:
        manager: holds the models.
        core: answers the requests.
        rest_port: the port of the REST API, also if the settings asked for a free one.
        grpc_port: the port of the gRPC API.

    Raises:
        OSError: a port is not free.
        ValueError: the config file or the TLS files cannot be used.
    """

    def __init__(self, settings: Settings):
        self._settings = settings
        self._end_poll, self._end_network = threading.Event(), asyncio.Event()
        limits = settings.limits
        _check_tls(settings)
        self._metrics = Metrics()
        self.manager = Manager(
            _model_finder(settings),
            limits,
            settings.load_retries,
            self._log_model_event,
            on_batch=self._metrics.observe_batch,
        )
        self.core = Core(self.manager, limits, self._metrics)
        self._admission = Admission(limits)
        self._max_connections = connections.fit_to_descriptors(limits.max_connections)

        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_log_loop_exception)
        try:
            self.grpc_port = self._loop.run_until_complete(self._open_grpc_port())
            self._socket = connections.listen(settings.host, settings.rest_port)
        except OSError:
            self._loop.close()
            raise
        self.rest_port = self._socket.getsockname()[1]
        self._rest = self._make_http_server()
        self._watch_metrics()
        self._network = threading.Thread(target=self._run_network, name="network", daemon=True)
        self._versions = threading.Thread(target=self._poll, name="versions", daemon=True)

    def start(self) -> None:
        """Answers health, loads the models, then answers all requests."""
        self._network.start()
        self.manager.refresh()
        self.core.is_started = True
        self._versions.start()

    def stop(self) -> bool:
        """Reports that the server stops; later accepts no new requests, and answers those in progress.

        Returns:
            Whether everything has ended. If not, loads or requests have been abandoned in their threads.
        """
        self.core.is_stopping = True
        self.manager.stop_loading()
        self._end_poll.set()
        if self._network.is_alive():
            self._loop.call_soon_threadsafe(self._end_network.set)
            self._network.join()
        if self._versions.is_alive():
            self._versions.join(_POLL_END_SECONDS)
        num_running = self._admission.requests.num_taken + self._admission.num_queries
        if not self.core.is_started or self._versions.is_alive() or num_running:
            return False
        self.manager.close(_POLL_END_SECONDS)
        return True

    def _run_network(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._admission.close()
        self._loop.close()

    async def _serve(self) -> None:
        await self._grpc.start()
        rest_task = asyncio.create_task(self._rest.serve(sockets=[self._socket]))
        await self._end_network.wait()
        await self._let_load_balancers_notice()
        self._rest.should_exit = True
        end = self._loop.call_later(_DRAIN_SECONDS, self._admission.running.abandon)
        await asyncio.gather(self._grpc.stop(_DRAIN_SECONDS + _LAST_ANSWERS_SECONDS), rest_task)
        end.cancel()

    async def _let_load_balancers_notice(self) -> None:
        await asyncio.sleep(self._settings.shutdown_delay)

    def _poll(self) -> None:
        last_error = ""
        while not self._end_poll.wait(self._settings.poll_seconds):
            try:
                self.manager.refresh()
                last_error = ""
            except Exception as error:  # a folder that cannot be read now may be readable later
                if str(error) != last_error:
                    log_event("cannot search for versions", error=str(error))
                last_error = str(error)

    def _log_model_event(self, event: str, **fields) -> None:
        if event in ("loaded", "not loaded"):
            self._metrics.count_load(fields["model"], event == "loaded")
        log_event(event, **fields)

    def _watch_metrics(self) -> None:
        admission, state = self._admission, self._rest.server_state
        self._metrics.watch(
            "requests_in_flight", "Predictions that have no answer yet.", lambda: admission.requests.num_taken
        )
        self._metrics.watch("requests_waiting", "Predictions that wait for a batch.", self.manager.num_waiting)
        self._metrics.watch(
            "queued_bytes",
            "Bytes of the requests that are being read or have no answer yet.",
            lambda: admission.bytes.num_taken,
        )
        self._metrics.watch("rest_connections", "Open REST connections.", lambda: len(state.connections))
        self._metrics.watch("max_connections", "Maximum connections of each API.", lambda: self._max_connections)

    def _make_http_server(self) -> connections.HttpServer:
        settings, limits = self._settings, self._settings.limits
        protocol = functools.partial(
            connections.Protocol,
            limits=limits,
            max_connections=self._max_connections,
            on_closed=self._metrics.count_closed_connection,
        )
        config = uvicorn.Config(
            rest.app(self.core, self._admission, hosts.allowed_names(settings.host, settings.allowed_hosts)),
            http=protocol,  # type: ignore[arg-type]  # uvicorn calls it as it calls a class
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=limits.idle_timeout,  # type: ignore[arg-type]  # a float works, too
            timeout_graceful_shutdown=_DRAIN_SECONDS + _LAST_ANSWERS_SECONDS,
            server_header=False,
            proxy_headers=False,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
        )
        return connections.HttpServer(config, limits.header_timeout)

    async def _open_grpc_port(self) -> int:
        settings, limits = self._settings, self._settings.limits
        options = {
            "grpc.max_receive_message_length": limits.max_body_bytes,
            "grpc.max_send_message_length": -1,
            "grpc.so_reuseport": 0,  # without it, two servers could share a port unnoticed
            "grpc.max_allowed_incoming_connections": self._max_connections,
            "grpc.max_concurrent_streams": limits.max_requests + _EXTRA_STREAMS,  # of one connection
            "grpc.max_connection_idle_ms": int(1000 * limits.idle_timeout),
            "grpc.max_connection_age_ms": 1000 * _MAX_GRPC_AGE_SECONDS,
            "grpc.max_connection_age_grace_ms": int(2000 * limits.timeout),
            "grpc.server_handshake_timeout_ms": int(1000 * limits.header_timeout),
            "grpc.keepalive_time_ms": int(1000 * limits.idle_timeout),  # finds clients that have vanished
            "grpc.keepalive_timeout_ms": int(1000 * limits.header_timeout),
        }
        self._grpc = grpc.aio.server(options=list(options.items()))
        self._grpc.add_generic_rpc_handlers((grpc_api.Handlers(self.core, self._admission),))
        address = f"{_bracket(settings.host)}:{settings.grpc_port}"
        try:
            if settings.tls_certificate:
                assert settings.tls_key is not None, "a certificate comes with its key"
                pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
                return self._grpc.add_secure_port(address, grpc.ssl_server_credentials([pair]))
            return self._grpc.add_insecure_port(address)
        except RuntimeError as error:  # gRPC reports no reason
            raise OSError(f"cannot listen at {address}") from error


def run(settings: Settings, on_ready: Callable[[Server], None] = lambda server: None) -> None:
    """Serves until SIGINT or SIGTERM. A second signal ends the process immediately.

    Args:
        settings: the options.
        on_ready: called with the server after it has loaded the models.

    Raises:
        OSError, ValueError: as for `Server`.
    """
    events: queue.SimpleQueue = queue.SimpleQueue()
    with _signals_into(events):
        connections.raise_descriptor_limit(settings.limits.max_connections)
        server = Server(settings)
        # TensorFlow's loads do not notice signals. So they run in another thread, and this one waits for both.
        threading.Thread(target=_start, args=(server, events), name="start", daemon=True).start()
        event = events.get()
        if event is server:
            on_ready(server)
            event = events.get()
        log_event("stopping")
        has_ended = server.stop()
        if isinstance(event, Exception):
            raise event
        if not has_ended:
            log_event("stopped", abandoned="loads or requests in progress")
            sys.stderr.flush()
            os._exit(0)


@contextlib.contextmanager
def _signals_into(events: queue.SimpleQueue) -> Iterator[None]:
    """Puts the first signal of the block into the queue; ends the process at the second.

    A thread waits for the signals. Python's handlers run in the main thread, which a signal does not wake if the system
    delivers it to another thread.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # Without a handler, the signal would end the process.
    handlers = {n: signal.signal(n, lambda number, frame: None) for n in (signal.SIGINT, signal.SIGTERM)}
    previous = signal.set_wakeup_fd(writer)  # gets the number of each signal

    def wait() -> None:
        numbers = iter(lambda: os.read(reader, 1), b"")
        for number in numbers:
            events.put(number[0])
            break
        for number in numbers:
            os._exit(128 + number[0])
        os.close(reader)

    threading.Thread(target=wait, name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(writer)  # ends the thread


def _start(server: Server, events: queue.SimpleQueue) -> None:
    try:
        server.start()
    except Exception as error:
        events.put(error)
    else:
        events.put(server)


def _log_loop_exception(loop: asyncio.AbstractEventLoop, context: dict) -> None:
    """Logs what asyncio would write to stderr as text."""
    error = context.get("exception")
    if isinstance(error, BlockingIOError):  # of gRPC, when two event loops of one process share its wake-ups
        return
    logger.error(context["message"], exc_info=error)


def _model_finder(settings: Settings) -> Callable[[], dict[str, models_config.Model]]:
    if settings.config is None:
        return functools.partial(_find_models, settings.models)
    models = models_config.parse_config(settings.config.read_text(encoding="utf-8"))
    return lambda: models


def _find_models(folder: Path) -> dict[str, models_config.Model]:
    """As `models_config.find_models`. A folder that is missing is no reason to unload all models: it may come back."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    return models_config.find_models(folder)


def _check_tls(settings: Settings) -> None:
    """Loads the certificate and its key once, because gRPC and uvicorn do not report what is wrong with them."""
    if not settings.tls_certificate:
        return
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except OSError as error:  # SSLError among them
        pair = f"certificate {settings.tls_certificate} and key {settings.tls_key}"
        raise ValueError(f"{pair} cannot be used: {error.strerror or error}") from error


def _bracket(host: str) -> str:
    """The host as it stands before a port: IPv6 addresses have brackets there."""
    return f"[{host}]" if ":" in host else host
