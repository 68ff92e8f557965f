"""The static files of the live page: scripts, styles and figures, and the library that draws the figures."""

import functools
import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "page"
SCRIPTS = (
    "trace.js",
    "rest.js",
    "elements.js",
    "figures.js",
    "panels.js",
    "intervene.js",
    "classes.js",
    "columns.js",
    "answers.js",
    "completion.js",
    "form.js",
    "page.js",
)
# Written by `python -m pipelines.inspect.live_figures`.
FIGURES = ("attention.json", "gates.json", "next.json", "norms.json")
VEGA = "vega.js"
# The names are fixed: a path from a request is never joined to a folder.
NAMES = frozenset({"page.css", "help.html", VEGA, *SCRIPTS, *(f"figures/{name}" for name in FIGURES)})
_CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
}
_VEGA_SNIPPET = "window.vegaEmbed = vegaEmbed;"


class StaticFile(NamedTuple):
    """A file as the server sends it.

    Attributes:
        content: the bytes.
        compressed: the bytes with gzip.
        content_type: with its charset.
        etag: changes with the content.
    """

    content: bytes
    compressed: bytes
    content_type: str
    etag: str


@functools.cache
def read(name: str) -> StaticFile:
    """Returns a file; it is read once.

    Args:
        name: one of `NAMES`.

    Raises:
        KeyError: there is no such file.
        ImportError: the library that draws the figures is not installed.
    """
    if name not in NAMES:
        raise KeyError(name)
    content = _vega() if name == VEGA else (FOLDER / name).read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return StaticFile(content, gzip.compress(content, mtime=0), _CONTENT_TYPES[Path(name).suffix], etag)


def _vega() -> bytes:
    import vl_convert  # here, because it takes memory that a server without visitors does not need

    # In a function, because the names at the top of the bundle would be global ones.
    return f"(() => {{{vl_convert.javascript_bundle(_VEGA_SNIPPET)}\n}})();\n".encode()
