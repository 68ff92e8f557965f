"""A server on this machine in place of one that models are downloaded from."""

import contextlib
import http.server
import threading
from collections.abc import Iterator


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests.

    Attributes:
        state: what the server has, and what it was asked.
    """

    state: object

    def log_message(self, *arguments):
        """Writes nothing."""

    def send(self, status: int, body: bytes, headers: dict[str, str], cut: bool = False) -> None:
        """Sends an answer; with `cut`, the connection ends after the first half of the body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)


@contextlib.contextmanager
def serve(handler: type[Handler], state) -> Iterator:
    """Answers by `handler`; yields `state`, which gets the server's address."""
    answering = type("Answering", (handler,), {"state": state})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answering) as server:
        state.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()
