"""The page at `/`: the models, the states of their versions, and an example request for each. Without JavaScript."""

import html
import json
import shlex
import urllib.parse

import tensorflow as tf

from serving.core import Core
from serving.errors import ServingError
from serving.manager import State, Version

CONTENT_TYPE = "text/html; charset=utf-8"
HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'", "cache-control": "no-store"}
_EXAMPLES = {"O": "An example text.", "b": True, "i": 1, "u": 1}  # by NumPy's kind of a dtype; else 1.0
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f3f3f3;padding:.7rem;overflow-x:auto}"
    "td,th{padding:.1rem 1.5rem .1rem 0;text-align:left;vertical-align:top}"
)


def render(core: Core, base: str) -> bytes:
    """Returns the page in UTF-8.

    Args:
        core: answers the requests.
        base: address of the server as the client sees it, such as http://localhost:8501.
    """
    names = sorted(core.manager.readiness())
    parts = [
        "<!doctype html>",
        f"<html lang=en><meta charset=utf-8><title>Models</title><style>{_STYLE}</style>",
        "<h1>Models</h1>",
        f"<p>{len(names)} model{'' if len(names) == 1 else 's'}. This server has the "
        '<a href="https://www.tensorflow.org/tfx/serving/api_rest">REST API of TF Serving</a>. '
        "Its state: <a href=/readyz>/readyz</a>, <a href=/monitoring/prometheus/metrics>metrics</a>.</p>",
    ]
    for name in names:
        parts += _model(core, name, base)
    return "\n".join([*parts, ""]).encode("utf-8", "replace")


def example_inputs(dtypes: dict, shapes: dict) -> dict:
    """Returns a value for each input of a signature, for a batch of one row.

    Args:
        dtypes, shapes: of a `servable.Signature`.
    """
    return {name: _example(dtypes[name], shapes[name]) for name in dtypes}


def _model(core: Core, name: str, base: str) -> list[str]:
    """Returns the section of a model."""
    try:
        versions = core.manager.versions(name)
    except ServingError:  # it is not loaded yet, or has just been removed
        versions = []
    rows = "".join(f"<tr><td>{each.number}<td>{each.state.name}<td>{html.escape(each.error)}" for each in versions)
    path = f"/v1/models/{urllib.parse.quote(name, safe='')}"
    parts = [f"<h2>{html.escape(name)}</h2>"]
    parts.append(f"<table><tr><th>version<th>state<th>{rows}</table>" if rows else "<p>No version is loaded.</p>")
    request = _request(versions)
    if request:
        command = f"curl -d {shlex.quote(request)} {shlex.quote(f'{base}{path}:predict')}"
        parts.append(f"<pre>{html.escape(command)}</pre>")
    parts.append(f'<p><a href="{html.escape(path)}/metadata">signatures</a></p>')
    return parts


def _request(versions: list[Version]) -> str | None:
    """Returns the body of an example request to the default signature of the newest available version."""
    servable = next((each.servable for each in versions if each.state == State.AVAILABLE), None)
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
