"""The command `serve`: serves the exported models with TF Serving's API."""

import dataclasses
import os
import subprocess
import tempfile
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pipelines.command_line import SAVED_MODELS, SavedModelsFlag, print_error
from pipelines.export.card import read_card
from pipelines.export.exported import versions
from pipelines.settings.fields import PATH, require
from pipelines.support import kernels
from pipelines.support.errors import UserError
from pipelines.support.files import shown
from serving.settings import Limits, LoadRetries, Settings

_LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")


@dataclasses.dataclass(frozen=True)
class Serve:
    """Serve all exported models with TF Serving's REST API (port 8501) and gRPC API (port 8500).

    There is no authentication: the server answers everyone who can reach its ports. By default only this machine can;
    --host changes that. For access from other machines, put a proxy with authentication in front of the server.
    """

    examples: ClassVar = ("--open", "--engine tf-serving")

    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models. All of them are served, and new versions as soon as they appear."""
    engine: Literal["embedded", "tf-serving"] = "embedded"
    """embedded: the server in this package. tf-serving: TF Serving itself, `tensorflow_model_server` from the PATH or
    its Docker image."""
    config: Annotated[Path | None, PATH] = None
    """A models.config of TF Serving, which names the models to serve instead of --saved-models."""
    write_config: bool = False
    """Write models.config, batching.config and monitoring.config for TF Serving into --saved-models, and exit."""
    served_from: Annotated[str, PATH] = "/models"
    """With --write-config: path of the folder of the models as TF Serving sees it."""
    open: bool = False
    """Open the live page in the browser when the server is ready: it shows what the models answer."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 for all addresses of this machine."""
    rest_port: int = 8501
    """Port of the REST API; 0 for a free port."""
    grpc_port: int = 8500
    """Port of the gRPC API; 0 for a free port."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that REST clients may use for the server (header Host, and Origin of pages in browsers). By default any
    name, but only localhost if --host is this machine alone."""
    poll_seconds: float = 1.0
    """Seconds between two searches for new versions."""
    shutdown_delay: float = 1.0
    """Seconds after SIGTERM in which the server still answers but reports that it is not ready, so that load balancers
    notice."""
    max_body_bytes: int = 8 * 2**20
    """Maximum bytes of a request."""
    max_rows: int = 1024
    """Maximum rows of a request."""
    max_text_bytes: int = 2**20
    """Maximum bytes of a text."""
    max_length: int = 10_000
    """Maximum tokens to generate for one row. A larger value of the input max_length is set to this one."""
    max_tokens: int = 2**20
    """Maximum tokens to generate for a request: the sum of max_length over its rows. Where a signature has no input
    max_length, 32 bytes of text count as a token, with all texts padded to the longest one."""
    long_tokens: int = 1000
    """Requests with more tokens are long. They run beside the short requests, which do not wait for them."""
    max_requests: int = 256
    """Maximum predictions in progress, including those that wait. Further requests are refused with status 429. One
    client alone gets at most three quarters of them, one model two thirds, and its long requests half."""
    max_queued_bytes: int = 256 * 2**20
    """Maximum bytes of all requests that are read or are in progress. Further ones are refused with status 429."""
    timeout: float = 60.0
    """Maximum seconds from a request to its answer. A run is broken off at this time."""
    load_retries: int = 5
    """Maximum number of times that a failed load of a version is tried again."""
    load_retry_seconds: float = 60.0
    """Seconds between these attempts."""
    max_connections: int = 1000
    """Maximum connections of each API. The limit of open files (ulimit -n) may reduce it."""
    header_timeout: float = 10.0
    """Maximum seconds until a REST client has sent the header of a request."""
    body_timeout: float = 30.0
    """Maximum seconds until a client has sent the body of a request, or has received its answer."""
    idle_timeout: float = 60.0
    """Seconds after which a connection without requests is closed."""
    tls_certificate: Annotated[Path | None, PATH] = None
    """PEM file of a certificate. With it and --tls-key, both APIs are encrypted."""
    tls_key: Annotated[Path | None, PATH] = None
    """PEM file of the key of --tls-certificate."""

    def __call__(self) -> None:
        """Serves, or writes the configuration of TF Serving."""
        self._check()
        if self.write_config:
            self._write_configs(self.saved_models, self.served_from)
        elif self.engine == "tf-serving":
            self._start_tf_serving()
        else:
            self._start_embedded_server()

    def _check(self) -> None:
        for name in ("rest_port", "grpc_port"):
            require(0 <= getattr(self, name) < 2**16, name, getattr(self, name), "from 0 to 65535")
        above_0 = {"poll_seconds", *(field.name for field in dataclasses.fields(Limits))} - {"long_tokens"}
        for name in sorted(above_0):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        for name in ("long_tokens", "load_retries", "load_retry_seconds", "shutdown_delay"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise UserError("--tls-certificate and --tls-key belong together: give both or none")
        for path in (self.config, self.tls_certificate, self.tls_key):
            if path and not path.is_file():
                raise UserError(f"no such file: {path}")
        if not self.config:
            _check_folder(self.saved_models)
        if self.open and (self.write_config or self.engine == "tf-serving"):
            reason = "--write-config" if self.write_config else "--engine tf-serving"
            raise UserError(f"--open has no effect with {reason}: only the embedded server has a page")
        if self.engine == "tf-serving" and not self.write_config:
            self._check_tf_serving()

    def _check_tf_serving(self) -> None:
        """Refuses the flags that TF Serving would silently ignore, or understand otherwise."""
        for flag, value in (("--config", self.config), ("--tls-certificate", self.tls_certificate)):
            if value:
                raise UserError(f"--engine tf-serving does not use {flag}: leave it out, or use --engine embedded")
        for flag, port in (("--rest-port", self.rest_port), ("--grpc-port", self.grpc_port)):
            if not port:
                raise UserError(f"--engine tf-serving cannot choose a free port: give {flag} a number above 0")

    def _write_configs(self, folder: Path, served_from: str) -> None:
        from serving import engine

        try:
            paths = engine.write_configs(self.saved_models, folder, served_from)
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
        print_error(f"wrote {', '.join(map(str, paths))}")

    def _start_tf_serving(self) -> None:
        from serving import engine

        with tempfile.TemporaryDirectory() as configs:
            command = engine.start_command(self.saved_models, Path(configs), self.rest_port, self.grpc_port, self.host)
            if command is None:
                raise UserError(
                    "neither tensorflow_model_server nor docker is on the PATH: install Docker (the image is "
                    f"{engine.IMAGE}), or use --engine embedded"
                )
            if engine.uses_docker(command):
                self._write_configs(self.saved_models, "/models")
                self._warn_if_public(self.host)
            else:
                self._write_configs(Path(configs), str(self.saved_models.resolve()))
                self._warn_if_public("0.0.0.0")  # tensorflow_model_server has no option for the address
            print_error(" ".join(command))
            status = subprocess.call(command)
        if status:
            raise UserError(f"{Path(command[0]).name} ended with status {status}: see its messages above")

    def _start_embedded_server(self) -> None:
        from pipelines.support.quiet import import_tensorflow
        from serving.memory import limit_arenas

        limit_arenas()  # before TensorFlow starts its threads
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else gRPC prints why a port is not free, before we do
        if not self.config and kernels.choose(cards_of(self.saved_models)):
            print_error(f"{kernels.ONEDNN}=0, which is faster for these models")
        import_tensorflow(keeps_memory=False)  # a version that is replaced returns its memory
        from serving import logs, server

        limits = Limits(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Limits)})
        settings = Settings(
            models=self.saved_models,
            config=self.config,
            host=self.host,
            rest_port=self.rest_port,
            grpc_port=self.grpc_port,
            allowed_hosts=self.allowed_hosts,
            poll_seconds=self.poll_seconds,
            shutdown_delay=self.shutdown_delay,
            tls_certificate=self.tls_certificate,
            tls_key=self.tls_key,
            limits=limits,
            load_retries=LoadRetries(self.load_retries, self.load_retry_seconds),
        )
        logs.log_to_stderr()
        try:
            server.run(settings, self._report_ready)
        except ValueError as error:
            raise UserError(str(error)) from error
        except OSError as error:
            if error.filename:
                raise UserError(f"{error.filename}: {error.strerror}") from error
            message = f"{error.strerror or error}: choose other ports with --rest-port and --grpc-port"
            raise UserError(message) from error

    def _report_ready(self, server) -> None:
        scheme = "https" if self.tls_certificate else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        names = ", ".join(name for name, ready in server.manager.readiness().items() if ready)
        addresses = f"{scheme}://{host}:{server.rest_port}, gRPC {host}:{server.grpc_port}"
        print_error(f"serving {names or 'no model yet'}: {addresses}")
        self._warn_if_public(self.host)
        if self.open:
            _open_page(f"{scheme}://{_reachable(host)}:{server.rest_port}/")

    def _warn_if_public(self, host: str) -> None:
        if host not in _LOCAL_HOSTS:
            print_error(
                f"note: there is no authentication, and the ports are open at {host}: put a proxy with authentication "
                "in front of them"
            )


def cards_of(folder: Path) -> list[dict]:
    """Returns the card of the newest version of each model; {} for a model without one."""
    found = []
    for model in sorted(folder.iterdir()):
        if numbers := versions(model):
            try:
                found.append(read_card(model / str(numbers[-1])))
            except UserError:
                found.append({})
    return found


def _check_folder(folder: Path) -> None:
    """Raises a UserError that says what the folder is, if it is not that of the models."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: train a model first")
    from serving.models_config import find_models, find_versions

    path = folder.resolve()
    if (path / "saved_model.pb").is_file():
        if path.name.isdecimal():
            remedy = f"give --saved-models {shown(path.parent.parent)}"
            raise UserError(f"{folder} is a version of the model {path.parent.name}: {remedy}")
        remedy = f"move it to MODELS/{path.name}/1, and give --saved-models MODELS"
        raise UserError(f"{folder} is a SavedModel, but not in a folder of versions: {remedy}")
    versions = find_versions(path)
    if versions and not find_models(path):
        found = f"its version{'s' if len(versions) > 1 else ''} {', '.join(map(str, versions))}"
        raise UserError(f"{folder} is the folder of one model, with {found}: give --saved-models {shown(path.parent)}")


def _reachable(host: str) -> str:
    """The host as a browser on this machine reaches it: 0.0.0.0 and [::] mean all addresses."""
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)


def _open_page(address: str) -> None:
    """Opens the page, or prints where it is. In a thread: a browser in the terminal runs until the user ends it."""

    def open_page() -> None:
        try:
            is_open = webbrowser.open(address)
        except (webbrowser.Error, OSError):
            is_open = False
        if not is_open:
            print_error(f"no browser was found: open {address} yourself")

    threading.Thread(target=open_page, name="browser", daemon=True).start()
