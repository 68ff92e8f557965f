"""`serve` and `check`: the exported models behind TF Serving's API."""

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import tyro

from pipelines.commands.common import SAVED_MODELS, PathFlag, SavedModels, print_json, tell
from pipelines.configs.base import require
from pipelines.errors import UserError


@dataclasses.dataclass(frozen=True)
class Serve:
    """Answer requests with every exported model: TF Serving's REST API on 8501 and its gRPC API on 8500.

    Nobody is asked who they are: whoever reaches the ports is answered. So the server listens on this machine alone, until --host says
    otherwise; put a proxy that knows its users before it.
    """

    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models: all of them are served, and new versions as they appear."""
    engine: Literal["embedded", "tf-serving"] = "embedded"
    """embedded: the server in this package; tf-serving: `tensorflow_model_server` from the PATH, or Docker's tensorflow/serving."""
    config: Annotated[Path | None, PathFlag] = None
    """TF Serving's models.config, instead of all that is in the folder."""
    write_config: bool = False
    """Write models.config, batching.config and monitoring.config for TF Serving into the folder of the models, and end."""
    served_from: Annotated[str, PathFlag] = "/models"
    """With --write-config: where the server will find the folder."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 for all of the machine's."""
    rest_port: int = 8501
    """Port of REST; 0 for a free one."""
    grpc_port: int = 8500
    """Port of gRPC; 0 for a free one."""
    poll_seconds: float = 1.0
    """How often to look for new versions."""
    max_body_bytes: int = 8 * 2**20
    """Largest request."""
    max_rows: int = 1024
    """Most rows of a request."""
    max_text_bytes: int = 2**20
    """Longest text."""
    max_requests: int = 256
    """Requests at a time, those that wait included; more are told to come again."""
    timeout: float = 60.0
    """Seconds for an answer."""
    tls_certificate: Annotated[Path | None, PathFlag] = None
    """PEM file: with it and its key both APIs are encrypted."""
    tls_key: Annotated[Path | None, PathFlag] = None
    """Key of --tls-certificate."""

    def __call__(self) -> None:
        self._check()
        if self.write_config:
            self._write(self.saved_models, self.served_from)
        elif self.engine == "tf-serving":
            self._start_tf_serving()
        else:
            self._serve()

    def _check(self) -> None:
        for name in ("rest_port", "grpc_port"):
            require(0 <= getattr(self, name) < 2**16, name, getattr(self, name), "from 0 to 65535")
        for name in ("poll_seconds", "max_body_bytes", "max_rows", "max_text_bytes", "max_requests", "timeout"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise UserError("--tls-certificate and --tls-key belong together: give both or none")
        for path in (self.config, self.tls_certificate, self.tls_key):
            if path and not path.is_file():
                raise UserError(f"no such file: {path}")
        if not self.config and not self.saved_models.is_dir():
            raise UserError(f"there is no folder {self.saved_models}: train a model first")

    def _write(self, folder: Path, served_from: str) -> None:
        from serving import engine

        try:
            written = engine.write_configs(self.saved_models, folder, served_from)
        except ValueError as error:
            raise UserError(str(error)) from error
        tell(f"wrote {', '.join(map(str, written))}")

    def _start_tf_serving(self) -> None:
        from serving import engine

        with tempfile.TemporaryDirectory() as configs:
            command = engine.command(self.saved_models, Path(configs), self.rest_port, self.grpc_port, self.host)
            if command is None:
                raise UserError(
                    "there is neither tensorflow_model_server nor docker on the PATH: install Docker (its image is "
                    f"{engine.IMAGE}), or leave --engine tf-serving out for the embedded server"
                )
            if engine.in_docker(command):
                self._write(self.saved_models, "/models")
            else:
                self._write(Path(configs), str(self.saved_models.resolve()))
            tell(" ".join(command))
            status = subprocess.call(command)
        if status:
            raise UserError(f"{Path(command[0]).name} ended with status {status}")

    def _serve(self) -> None:
        from pipelines.quiet import import_tensorflow

        import_tensorflow()
        from serving import server
        from serving.settings import Limits, Settings

        limits = Limits(self.max_body_bytes, self.max_rows, self.max_text_bytes, self.max_requests, self.timeout)
        settings = Settings(
            self.saved_models, self.config, self.host, self.rest_port, self.grpc_port, self.poll_seconds, self.tls_certificate, self.tls_key, limits
        )
        server.log_to_stderr()
        try:
            server.run(settings, self._tell_ready)
        except ValueError as error:
            raise UserError(str(error)) from error
        except OSError as error:
            raise UserError(f"{error.strerror or error}: give other ports with --rest-port and --grpc-port") from error

    def _tell_ready(self, server) -> None:
        scheme = "https" if self.tls_certificate else "http"
        names = [name for name, ready in server.manager.ready().items() if ready]
        tell(f"serving {', '.join(names) or 'nothing yet'}: {scheme}://{self.host}:{server.rest_port}, gRPC {self.host}:{server.grpc_port}")
        if self.host != "127.0.0.1":
            tell("note: there is no authentication: whoever reaches these ports is answered. Put a proxy before them.")


@dataclasses.dataclass(frozen=True)
class Check:
    """Say whether TF Serving will take a SavedModel, and what is wrong with it if not."""

    path: tyro.conf.Positional[Annotated[Path, PathFlag]]
    """A version's folder, such as saved_models/sentiment/1."""
    server: Annotated[str, tyro.conf.arg(metavar="VERSION")] = "2.20.0"
    """Version of TF Serving."""
    json: bool = False
    """Print the findings as one JSON object."""

    def __call__(self) -> None:
        from serving import check

        if self.server not in check.SERVERS:
            raise UserError(f"--server {self.server}: what its ops are is not known; there is {', '.join(check.SERVERS)}")
        try:
            findings = check.check(self.path, self.server)
        except ValueError as error:
            raise UserError(str(error)) from error
        wrong = [finding for finding in findings if finding.wrong]
        if self.json:
            print_json({"path": str(self.path), "server": self.server, "ok": not wrong, "findings": list(map(dataclasses.asdict, findings))})
        else:
            for finding in findings:
                print(f"{'wrong' if finding.wrong else 'ok':<6}{finding.what}{': ' if finding.wrong else ''}{finding.wrong}")
        sys.stdout.flush()
        if wrong:
            raise UserError(f"TF Serving {self.server} would not serve {self.path}: {wrong[0].what}: {wrong[0].wrong}")
