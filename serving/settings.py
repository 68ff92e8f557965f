"""All options of the server."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits for one request, and for all requests together."""

    max_body_bytes: int = 8 * 2**20
    """Maximum bytes of a request."""
    max_rows: int = 1024
    """Maximum rows of a request, and of a batch of several requests."""
    max_text_bytes: int = 2**20
    """Maximum bytes of a string in a request."""
    max_length: int = 10_000
    """Maximum tokens to generate for one row. A larger value of the input `max_length` is set to this one."""
    max_tokens: int = 2**20
    """Maximum tokens to generate for a request, and for a batch of several requests: the sum of `max_length` over its
    rows. A signature without this input counts a token per 32 bytes of text, padded to the longest text."""
    long_tokens: int = 1000
    """A request with more tokens is long. Long requests run beside the short ones, which do not wait for them."""
    max_requests: int = 256
    """Maximum predictions in progress, including those that wait; further requests are refused. A client, a model and a
    lane have a share of them (admission.py)."""
    max_queued_bytes: int = 256 * 2**20
    """Maximum bytes of all requests that are being read or are in progress; further requests are refused."""
    timeout: float = 60.0
    """Maximum seconds from a request to its answer; a gRPC client may set a shorter time."""
    max_connections: int = 1000
    """Maximum connections of each API. The limit of open files may reduce it."""
    header_timeout: float = 10.0
    """Maximum seconds until a REST client has sent the header of a request, and until a TLS handshake ends."""
    body_timeout: float = 30.0
    """Maximum seconds until a client has sent the body of a request, or has received its answer."""
    idle_timeout: float = 60.0
    """Seconds after which a connection without requests is closed."""


@dataclasses.dataclass(frozen=True)
class LoadRetries:
    """When a version that could not be loaded is tried again. The defaults are those of TF Serving."""

    number: int = 5
    """Maximum attempts after the first one. Files that change start again."""
    seconds: float = 60.0
    """Seconds between two attempts."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The models to serve, and the addresses of the server."""

    models: Path
    """Folder of the models: <name>/<version>/saved_model.pb."""
    config: Path | None = None
    """TF Serving's models.config, which replaces the contents of `models`."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 for all addresses of the machine."""
    rest_port: int = 8501
    """Port of the REST API; 0 for a free port."""
    grpc_port: int = 8500
    """Port of the gRPC API; 0 for a free port."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that REST clients may use for the server, as in the Host header. Without names: any name, but only this
    machine's own if the server listens only to this machine."""
    poll_seconds: float = 1.0
    """Seconds between two searches for new versions."""
    shutdown_delay: float = 1.0
    """Seconds between the report that the server stops and the refusal of new requests."""
    tls_certificate: Path | None = None
    """PEM file of the certificate; with it and `tls_key`, both APIs are encrypted."""
    tls_key: Path | None = None
    """PEM file of the certificate's key."""
    limits: Limits = Limits()
    load_retries: LoadRetries = LoadRetries()
