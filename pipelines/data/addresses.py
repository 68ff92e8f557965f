"""Data at an address, such as https://host/reviews.csv or s3://bucket/reviews.parquet: a copy on this machine.

Copies are kept in `UNROLL_CACHE`. Each command asks once whether the data has changed, by the HTTP entity tag or the
size and time of the object; without an answer a copy of https is used as it is.
"""

import contextlib
import functools
import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines.support import console, object_storage
from pipelines.support.errors import UserError
from pipelines.support.files import write_text, written_beside

_CHUNK = 2**20  # bytes
_SECONDS = 30  # without an answer, after which a connection fails
_VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}  # of an answer -> of the next request
_RECORD = "address.json"
_PAGE = "text/html"


@functools.cache
def copied(address: str, cache: Path) -> Path:
    """Returns the path of a copy of the file at an address, which has the file's name. It is made once in a process.

    Args:
        address: of https, http, s3 or gs.
        cache: folder of all copies.

    Raises:
        UserError: the address is of another kind, there is no such file, or its host does not answer.
    """
    folder = cache / "addresses" / hashlib.sha256(address.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    if address.startswith(object_storage.SCHEMES):
        return _copied_object(address, folder)
    if not address.startswith(("https://", "http://")):
        raise UserError(f"{address}: an address of data starts with https://, http://, s3:// or gs://")
    return _downloaded(address, folder)


def _copied_object(address: str, folder: Path) -> Path:
    found = object_storage.find(address)
    if found.folder:
        raise UserError(f"{address} is a folder: give its files with a pattern, such as {found.folder}*.csv")
    (stored,) = found.objects
    target, known = folder / PurePosixPath(address).name, _known(folder)
    status = {"address": address, "size": stored.size, "modified": stored.modified}
    if known == status and target.is_file():
        return target
    with written_beside(target, "wb") as file:
        object_storage.copy(address, Path(file.name))
        if object_storage.find(address).objects != [stored]:
            raise UserError(f"{address} changed while it was read: give the command again when it is complete")
    write_text(folder / _RECORD, json.dumps(status))
    return target


def _downloaded(address: str, folder: Path) -> Path:
    import requests
    from requests.exceptions import HTTPError, RequestException

    known = _known(folder)
    target = folder / known["name"] if known else None
    is_kept = target is not None and target.is_file()
    headers = {_VALIDATORS[name]: known[name] for name in _VALIDATORS if name in known} if is_kept else {}
    try:
        with requests.get(address, headers=headers, stream=True, timeout=_SECONDS) as answer:
            if answer.status_code == requests.codes.not_modified and target is not None:
                return target
            answer.raise_for_status()
            if _PAGE in answer.headers.get("Content-Type", ""):
                raise UserError(f"{address} is a web page and not a file of data: give the address of the file itself")
            target = folder / _name(address, answer.headers.get("Content-Disposition", ""))
            size = int(answer.headers.get("Content-Length", 0)) or None
            with written_beside(target, "wb") as file, console.bar(size, "B") as bar:
                for chunk in answer.iter_content(_CHUNK):
                    file.write(chunk)
                    bar.update(len(chunk))
            validators = {name: answer.headers[name] for name in _VALIDATORS if name in answer.headers}
    except HTTPError as error:
        raise UserError(f"{address}: the server answered {error.response.status_code}: check the address") from error
    except RequestException as error:
        if is_kept and target is not None:
            console.say(f"{address}: no connection to {urlsplit(address).hostname}: an earlier copy is read")
            return target
        raise UserError(
            f"{address}: no connection to {urlsplit(address).hostname}, or it broke off: go online and run this again"
        ) from error
    write_text(folder / _RECORD, json.dumps({"address": address, "name": target.name} | validators))
    return target


def _known(folder: Path) -> dict[str, Any]:
    """Returns the record of a copy; {} if there is none."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / _RECORD).read_text())
    return {}


def _name(address: str, disposition: str) -> str:
    """Returns the name of a file by the header Content-Disposition, else by the path of its address."""
    given = re.search(r'filename="?([^";]+)', disposition)
    name = given[1] if given else unquote(urlsplit(address).path)
    return PurePosixPath(name.replace("\\", "/")).name.lstrip(".") or "data"
