"""The embedded server: REST and gRPC over the models in a folder.

    python -m serving.server saved_models
"""

import logging
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import uvicorn

from serving import grpc_api, models_config, rest
from serving.core import Core, tell
from serving.manager import Manager
from serving.metrics import Metrics
from serving.settings import Settings

_GRACE = 30.0  # seconds in which a server that stops finishes what it has begun


class Server:
    """
    Args:
        settings: of it.

    Raises:
        OSError: a port is taken.
        ValueError: the config file cannot be read.
    """

    def __init__(self, settings: Settings):
        self._settings = settings
        self._stop = threading.Event()
        limits = settings.limits
        self.manager = Manager(_models(settings), limits.rows, tell)
        self.core = Core(self.manager, limits, Metrics())

        self._grpc = grpc.server(
            ThreadPoolExecutor(limits.requests + 8, "grpc"),
            options=[
                ("grpc.max_receive_message_length", limits.body_bytes), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0),
            ],
        )  # fmt: skip
        grpc_api.add_services(self.core, self._grpc)
        self.grpc_port = self._grpc_bound()

        self._socket = socket.create_server((settings.host, settings.rest_port), family=_family(settings.host), backlog=1024)
        self.rest_port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            rest.app(self.core), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=int(_GRACE), server_header=False,
            ssl_certfile=settings.tls_certificate, ssl_keyfile=settings.tls_key,
        )  # fmt: skip
        self._rest = uvicorn.Server(config)
        self._rest.install_signal_handlers = lambda: None
        self._threads = [
            threading.Thread(target=self._rest.run, args=([self._socket],), name="rest"),
            threading.Thread(target=self._poll, name="versions"),
        ]

    def start(self) -> None:
        """Loads what there is, and then listens."""
        self.manager.refresh()
        self._grpc.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Takes no more requests, answers those it has, and lets go of the models."""
        self._stop.set()
        self._rest.should_exit = True
        self._grpc.stop(_GRACE).wait()
        for thread in self._threads:
            thread.join()
        self.manager.close()

    def _poll(self) -> None:
        while not self._stop.wait(self._settings.poll_seconds):
            try:
                self.manager.refresh()
            except Exception as error:  # a folder that cannot be read now may be readable later
                tell("cannot look for versions", error=str(error))

    def _grpc_bound(self) -> int:
        settings = self._settings
        address = f"[{settings.host}]:{settings.grpc_port}" if ":" in settings.host else f"{settings.host}:{settings.grpc_port}"
        if settings.tls_certificate:
            pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
            port = self._grpc.add_secure_port(address, grpc.ssl_server_credentials([pair]))
        else:
            port = self._grpc.add_insecure_port(address)
        if not port:
            raise OSError(f"cannot listen at {address}")
        return port


def run(settings: Settings, ready=lambda server: None) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        ready: called with the server when it listens.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = Server(settings)
    server.start()
    ready(server)
    while not stop.wait(1.0):
        pass
    tell("stopping")
    server.stop()


def log_to_stderr() -> None:
    """One JSON object a line: time, level, and what happened."""

    class Lines(logging.Formatter):
        def format(self, record):
            message = record.getMessage()
            body = message[1:] if message.startswith("{") else f'"event": "{message}"}}'
            trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z"
            return f'{{"time": "{stamp}", "level": "{record.levelname.lower()}", {body}{trace}'

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logger = logging.getLogger("unroll.serving")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def _models(settings: Settings):
    if settings.config is None:
        return lambda: models_config.found(settings.models)
    models = models_config.read(settings.config.read_text())
    return lambda: models


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
