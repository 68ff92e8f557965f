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
    max_requests: int = 256
    """Maximum requests in progress, including those that wait; further requests are refused."""
    timeout: float = 60.0
    """Maximum seconds until the answer; a gRPC client may set a shorter time."""


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
    poll_seconds: float = 1.0
    """Seconds between two searches for new versions."""
    tls_certificate: Path | None = None
    """PEM file of the certificate; with it and `tls_key`, both APIs are encrypted."""
    tls_key: Path | None = None
    """PEM file of the certificate's key."""
    limits: Limits = Limits()
