"""A server on this machine that answers as Kaggle does when a model is downloaded."""

import json
from contextlib import AbstractContextManager
from pathlib import Path

from tests.pipelines.pretrained import local_server


class Kaggle:
    """What the server has, and what it was asked.

    Attributes:
        folder: the files of version 3 of every model.
        refusal: status with which every request is refused.
        cut: name of a file. The server closes the connection after the first half of it.
        requests: names of the calls.
        address: of the server.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.refusal: int | None = None
        self.cut: str | None = None
        self.requests: list[str] = []
        self.address = ""


class _Handler(local_server.Handler):
    state: Kaggle

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        call = self.path.rpartition("/")[2]
        self.state.requests.append(call)
        if self.state.refusal:
            self._send(self.state.refusal, b'{"message": "no"}')
        elif call == "GetModelInstance":
            self._send(200, b'{"versionNumber": 3}')
        elif call == "ListModelInstanceVersionFiles":
            files = [path for path in self.state.folder.rglob("*") if path.is_file()]
            names = [{"name": path.relative_to(self.state.folder).as_posix()} for path in files]
            self._send(200, json.dumps({"files": names, "nextPageToken": ""}).encode())
        else:
            file = self.state.folder / asked["path"]
            self._send(200, file.read_bytes(), "application/octet-stream", file.name == self.state.cut)

    def _send(self, status: int, body: bytes, kind: str = "application/json", cut: bool = False) -> None:
        self.send(status, body, {"Content-Type": kind, "X-Kaggle-HubVersion": "99.0.0"}, cut)


def serve(folder: Path) -> AbstractContextManager[Kaggle]:
    """Serves the files of `folder` as every model."""
    return local_server.serve(_Handler, Kaggle(folder))
