"""Every knob of the server."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may take."""

    body_bytes: int = 8 * 2**20
    """Bytes of a request."""
    rows: int = 1024
    """Rows of a request, and of a batch that is made of several."""
    text_bytes: int = 2**20
    """Bytes of a string in it."""
    requests: int = 256
    """Requests at a time, those that wait included; more are told to come again."""
    seconds: float = 60.0
    """Time for an answer; a client of gRPC may give less."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where the models are, and where the server listens."""

    models: Path
    """Folder of the models: <name>/<version>/saved_model.pb."""
    config: Path | None = None
    """TF Serving's models.config, instead of all that is in `models`."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 for all of the machine's."""
    rest_port: int = 8501
    """Of REST; 0 for any that is free."""
    grpc_port: int = 8500
    """Of gRPC; 0 for any that is free."""
    poll_seconds: float = 1.0
    """How often to look for new versions."""
    tls_certificate: Path | None = None
    """A PEM file: with it and its key, both APIs are encrypted."""
    tls_key: Path | None = None
    """The key of --tls-certificate."""
    limits: Limits = Limits()
