"""The embedded server: TF Serving's REST and gRPC APIs for the models in a folder. `python main.py serve` starts it."""

import queue
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import uvicorn

from serving import grpc_api, models_config, rest
from serving.core import Core
from serving.logs import log_event
from serving.manager import Manager
from serving.metrics import Metrics
from serving.settings import Settings

_SHUTDOWN_SECONDS = 30  # after this time, a server that stops abandons the requests in progress
_EXTRA_THREADS = 8  # for requests that are refused, for status and health
_CONNECTION_BACKLOG = 1024


class Server:
    """Serves models with both APIs. The ports are open after the constructor; `start` answers the requests.

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
        self._stop = threading.Event()
        limits = settings.limits
        _check_tls(settings)
        self.manager = Manager(_model_finder(settings), limits, settings.load_retries, log_event)
        self.core = Core(self.manager, limits, Metrics())

        options = {
            "grpc.max_receive_message_length": limits.max_body_bytes,
            "grpc.max_send_message_length": -1,
            "grpc.so_reuseport": 0,  # without it, two servers could share a port unnoticed
        }
        threads = ThreadPoolExecutor(limits.max_requests + _EXTRA_THREADS, "grpc")
        self._grpc = grpc.server(threads, options=list(options.items()))
        grpc_api.add_services(self.core, self._grpc)
        self.grpc_port = self._open_grpc_port()

        address = (settings.host, settings.rest_port)
        self._socket = socket.create_server(address, family=_family(settings.host), backlog=_CONNECTION_BACKLOG)
        self.rest_port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            rest.app(self.core),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            server_header=False,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
        )
        self._rest = uvicorn.Server(config)
        self._threads = [
            threading.Thread(target=self._rest.run, args=([self._socket],), name="rest"),
            threading.Thread(target=self._poll, name="versions"),
        ]

    def start(self) -> None:
        """Loads the models, then answers requests."""
        self.manager.refresh()
        self._grpc.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Accepts no new requests, answers those in progress, and unloads the models."""
        self._stop.set()
        self._rest.should_exit = True
        self._grpc.stop(_SHUTDOWN_SECONDS).wait()
        for thread in self._threads:
            thread.join()
        self.manager.close()

    def _poll(self) -> None:
        while not self._stop.wait(self._settings.poll_seconds):
            try:
                self.manager.refresh()
            except Exception as error:  # a folder that cannot be read now may be readable later
                log_event("cannot search for versions", error=str(error))

    def _open_grpc_port(self) -> int:
        settings = self._settings
        address = f"{_bracket(settings.host)}:{settings.grpc_port}"
        try:
            if settings.tls_certificate:
                pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
                return self._grpc.add_secure_port(address, grpc.ssl_server_credentials([pair]))
            return self._grpc.add_insecure_port(address)
        except RuntimeError as error:  # gRPC reports no reason
            raise OSError(f"cannot listen at {address}") from error


def run(settings: Settings, on_ready: Callable[[Server], None] = lambda server: None) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        settings: the options.
        on_ready: called with the server after it has loaded the models.

    Raises:
        OSError, ValueError: as for `Server`.
    """
    signals: queue.SimpleQueue = queue.SimpleQueue()  # unlike an Event's `set`, its `put` is safe in a signal handler
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: signals.put(number))
    server = Server(settings)
    server.start()
    on_ready(server)
    signals.get()
    log_event("stopping")
    server.stop()


def _model_finder(settings: Settings) -> Callable[[], dict[str, models_config.Model]]:
    if settings.config is None:
        return lambda: models_config.find_models(settings.models)
    models = models_config.parse_config(settings.config.read_text(encoding="utf-8"))
    return lambda: models


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


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
