"""A server on this machine that answers as Hugging Face's Hub does when a repository is downloaded."""

import hashlib
import json
from contextlib import AbstractContextManager
from pathlib import Path

from tests.pipelines.pretrained import local_server

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "org/tiny"


class Hub:
    """What the server has, and what it was asked.

    Attributes:
        folder: the files of the repository `org/tiny`.
        revisions: its branches and tags.
        refusal: status and X-Error-Code with which every request is refused.
        cut: name of a file. The server closes the connection after the first half of it.
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


class _Handler(local_server.Handler):
    state: Hub

    def do_GET(self):
        hub, path = self.state, self.path.partition("?")[0]
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

    def _described(self, file: Path) -> dict:
        name = file.relative_to(self.state.folder).as_posix()
        return {"type": "file", "path": name, "size": file.stat().st_size, "oid": _etag(file)}

    def _refuse(self, status: int, code: str) -> None:
        self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": "no"})

    def _json(self, value) -> None:
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _file(self, file: Path) -> None:
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_etag(file)}"'}
        self.send(200, file.read_bytes(), headers, file.name == self.state.cut)


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


def serve(folder: Path) -> AbstractContextManager[Hub]:
    """Serves the files of `folder` as the repository `org/tiny`."""
    return local_server.serve(_Handler, Hub(folder))
