"""JSON files that begin with a checksum of their other bytes, so that a damaged or edited one is recognized."""

import hashlib
import json
from pathlib import Path

from pipelines.support.errors import UserError
from pipelines.support.files import write_text

_START = b'{\n  "sha256": "'
_DIGITS = 64


def write_record(path: Path, values: dict) -> None:
    """Writes `values` as JSON with a checksum, atomically."""
    text = json.dumps({"sha256": "", **values}, indent=2, ensure_ascii=False) + "\n"
    start = _START.decode()
    write_text(path, start + _checksum(text.encode()) + text.removeprefix(start))


def read_record(path: Path, remedy: str) -> dict:
    """Reads what `write_record` wrote.

    Args:
        remedy: what the user can do if the file is damaged.

    Raises:
        UserError: any bit of the file has changed.
    """
    data = Path(path).read_bytes()
    end = len(_START) + _DIGITS
    if not data.startswith(_START) or _checksum(_START + data[end:]).encode() != data[len(_START) : end]:
        raise UserError(f"{path} is damaged or was edited: {remedy}")
    values = json.loads(data)
    del values["sha256"]
    return values


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
