"""A server on this machine that answers as Kaggle does when a model is downloaded."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path


class Kaggle:
    """What the server has, and what it was asked.

    Attributes:
        folder: the files of version 3 of every model.
        refusal: status with which every request is refused.
        cut: name of a file of which only the first half is sent.
        requests: names of the calls.
        address: of the server.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.refusal: int | None = None
        self.cut: str | None = None
        self.requests: list[str] = []
        self.address = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    kaggle: Kaggle

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        call = self.path.rpartition("/")[2]
        self.kaggle.requests.append(call)
        if self.kaggle.refusal:
            self._send(self.kaggle.refusal, b'{"message": "no"}')
        elif call == "GetModelInstance":
            self._send(200, b'{"versionNumber": 3}')
        elif call == "ListModelInstanceVersionFiles":
            files = [path for path in self.kaggle.folder.rglob("*") if path.is_file()]
            names = [{"name": path.relative_to(self.kaggle.folder).as_posix()} for path in files]
            self._send(200, json.dumps({"files": names, "nextPageToken": ""}).encode())
        else:
            file = self.kaggle.folder / asked["path"]
            body = file.read_bytes()
            sent = body[: len(body) // 2] if file.name == self.kaggle.cut else body
            self._send(200, sent, "application/octet-stream", len(body))

    def log_message(self, *arguments):
        pass

    def _send(self, status: int, body: bytes, kind: str = "application/json", length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Kaggle-HubVersion", "99.0.0")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Kaggle]:
    """Serves the files of `folder` as every model."""
    kaggle = Kaggle(folder)
    handler = type("Handler", (_Handler,), {"kaggle": kaggle})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        kaggle.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kaggle
        server.shutdown()
