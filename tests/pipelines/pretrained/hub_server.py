"""A server on this machine that answers as Hugging Face's Hub does when a repository is downloaded."""

import contextlib
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "org/tiny"


class Hub:
    """What the server has, and what it was asked.

    Attributes:
        folder: the files of the repository `org/tiny`.
        revisions: its branches and tags.
        refusal: status and X-Error-Code with which every request is refused.
        cut: name of a file of which only the first half is sent.
        requests: pairs of method and path.
        tokens: the headers Authorization of the requests.
        address: of the server.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.revisions = {"main", "v2"}
        self.refusal: tuple[int, str] | None = None
        self.cut: str | None = None
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.address = ""

    def downloaded(self) -> set[str]:
        """Returns the names of the files that were asked for."""
        return {path.partition(f"/resolve/{COMMIT}/")[2] for _, path in self.requests if "/resolve/" in path}


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self):
        hub, path = self.hub, self.path.partition("?")[0]
        hub.requests.append((self.command, path))
        hub.tokens.add(self.headers.get("Authorization"))
        api = f"/api/models/{REPOSITORY}"
        if hub.refusal:
            self._refuse(*hub.refusal)
        elif not path.startswith((f"{api}/", f"/{REPOSITORY}/")):
            self._refuse(404, "RepoNotFound")
        elif path.startswith(f"{api}/revision/"):
            found = path.removeprefix(f"{api}/revision/") in {*hub.revisions, COMMIT}
            self._json({"id": REPOSITORY, "sha": COMMIT}) if found else self._refuse(404, "RevisionNotFound")
        elif path == f"{api}/tree/{COMMIT}":
            self._json([self._described(file) for file in sorted(hub.folder.rglob("*")) if file.is_file()])
        elif path.startswith(f"/{REPOSITORY}/resolve/{COMMIT}/"):
            self._file(hub.folder / path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/"))
        else:
            self._refuse(404, "EntryNotFound")

    do_HEAD = do_GET

    def log_message(self, *arguments):
        pass

    def _described(self, file: Path) -> dict:
        name = file.relative_to(self.hub.folder).as_posix()
        return {"type": "file", "path": name, "size": file.stat().st_size, "oid": _etag(file)}

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": "no"})

    def _json(self, value) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _file(self, file: Path) -> None:
        body = file.read_bytes()
        sent = body[: len(body) // 2] if file.name == self.hub.cut else body
        self._send(200, sent, {"X-Repo-Commit": COMMIT, "ETag": f'"{_etag(file)}"'}, len(body))

    def _send(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Hub]:
    """Serves the files of `folder` as the repository `org/tiny`."""
    hub = Hub(folder)
    handler = type("Handler", (_Handler,), {"hub": hub})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hub
        server.shutdown()
