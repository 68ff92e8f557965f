"""The page at `/`: the live page, and for each model the states of its versions and an example request.

The second part needs no JavaScript. The live part (page/) asks the REST API for everything else.
"""

import html
import json
import re
import shlex
import urllib.parse

import tensorflow as tf

from serving import cards, static_files
from serving.core import Core
from serving.errors import ServingError
from serving.servable import Servable
from serving.versions import State, Version

CONTENT_TYPE = "text/html; charset=utf-8"
# Vega's interpreter of expressions replaces `eval`, so that no script but the server's own files can run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-store", "x-content-type-options": "nosniff"}
_TEMPLATE = static_files.FOLDER / "index.html"
_PLACE = re.compile(r"<!--(names|scripts|models)-->")  # replaced once, so that no name can contain a place
_EXAMPLES = {"O": "An example text.", "b": True, "i": 1, "u": 1}  # by NumPy's kind of a dtype; else 1.0


def render(core: Core, base: str) -> bytes:
    """Returns the page in UTF-8.

    Args:
        core: answers the requests.
        base: address of the server as the client sees it, such as http://localhost:8501.
    """
    names = sorted(core.manager.readiness())
    summary = f"<p>{len(names)} model{'' if len(names) == 1 else 's'}.</p>"
    parts = {
        # TF Serving's API has neither a list of the models nor what their cards say.
        "names": _json_in_html([(name, *_shown(_words(core, name))) for name in names]),
        "scripts": "\n".join(f'<script src="/page/{name}" defer></script>' for name in static_files.SCRIPTS),
        "models": "\n".join([summary, *(line for name in names for line in _model(core, name, base))]),
    }
    page = _PLACE.sub(lambda match: parts[match[1]], _TEMPLATE.read_text(encoding="utf-8"))
    return page.encode("utf-8", "replace")


def _json_in_html(value) -> str:
    """JSON that cannot end the element in which it stands."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def example_inputs(dtypes: dict, shapes: dict) -> dict:
    """Returns a value for each input of a signature, for a batch of one row.

    Args:
        dtypes, shapes: of a `servable.Signature`.
    """
    return {name: _example(dtypes[name], shapes[name]) for name in dtypes}


def _versions(core: Core, name: str) -> list[Version]:
    """Returns the versions of a model; none if it is not loaded yet, or has just been removed."""
    try:
        return core.manager.versions(name)
    except ServingError:
        return []


def _newest(versions: list[Version]) -> Servable | None:
    """Returns the newest available version."""
    return next((each.servable for each in versions if each.state == State.AVAILABLE), None)


def _words(core: Core, name: str) -> cards.Words:
    servable = _newest(_versions(core, name))
    return servable.words if servable else cards.Words()


def _shown(words: cards.Words) -> tuple:
    """What the page reads of the words (page.js)."""
    return words.class_names, words.example, words.example_row


def _model(core: Core, name: str, base: str) -> list[str]:
    """Returns the section of a model."""
    versions = _versions(core, name)
    rows = "".join(f"<tr><td>{each.number}<td>{each.state.name}<td>{html.escape(each.error)}" for each in versions)
    path = f"/v1/models/{urllib.parse.quote(name, safe='')}"
    parts = [f"<h3>{html.escape(name)}</h3>"]
    parts.append(f"<table><tr><th>version<th>state<th>{rows}</table>" if rows else "<p>No version is loaded.</p>")
    request = _request(versions)
    if request:
        command = f"curl -d {shlex.quote(request)} {shlex.quote(f'{base}{path}:predict')}"
        parts.append(f"<pre>{html.escape(command)}</pre>")
    parts.append(f'<p><a href="{html.escape(path)}/metadata">signatures</a></p>')
    return parts


def _request(versions: list[Version]) -> str | None:
    """Returns the body of an example request to the default signature of the newest available version."""
    servable = _newest(versions)
    if servable is None:
        return None
    try:
        signature = servable.signature("")
    except ServingError:  # a model of another program without a default signature
        return None
    inputs = example_inputs(signature.dtypes, signature.shapes)
    document = {"instances": next(iter(inputs.values()))} if len(inputs) == 1 else {"inputs": inputs}
    return json.dumps(document, ensure_ascii=False)


def _example(dtype, shape: tf.TensorShape):
    """Returns a value of the dtype in lists as deep as the shape; unknown sizes are 1."""
    value = _EXAMPLES.get(dtype.kind, 1.0)
    for size in reversed(shape.as_list() if shape.rank is not None else [1]):
        value = [value] * (1 if size is None else size)
    return value
