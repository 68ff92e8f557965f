"""Compares the answers of a running server with those of a SavedModel, to the requests that are stored with it.

These are its warm-up requests: for each signature one with a single row and one with all rows. The right answers are
computed here, by the SavedModel itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from serving import client, near_ties
from serving.check import Finding

AVAILABLE = "AVAILABLE"
_MAX_SHOWN = 200  # characters of a value


class Request(NamedTuple):
    """A stored request.

    Attributes:
        signature: its name.
        inputs: input -> values, [rows, ...], or a number for all rows.
    """

    signature: str
    inputs: dict[str, np.ndarray]


def compare(
    folder: Path, address: client.Address, model: str, version: int | None, tolerance: float
) -> Iterator[Finding]:
    """Yields a finding for the model, for each of its signatures, and for each answer.

    Args:
        folder: of the version.
        model, version: name and version on the server; None: its newest version.
        tolerance: of numbers, absolute or relative.

    Raises:
        ValueError: the folder has no requests, or no SavedModel that can be loaded.
        client.Unanswered: the server does not answer.
    """
    requests = read_requests(folder)
    missing = _missing_model(address, model, version)
    yield missing
    if missing.problem:
        return
    served = client.signatures(address.server, model, ca_file=address.ca_file, version=version)
    right = _answers(folder, requests)
    for name in dict.fromkeys(request.signature for request in requests):
        yield Finding(f"signature {name}", "" if name in served else "the server does not have it")
    for number, (request, expected) in enumerate(zip(requests, right, strict=True), 1):
        if request.signature not in served:
            continue
        rows = max((len(values) for values in request.inputs.values() if values.ndim), default=0)
        title = f"{request.signature}, request {number} of {rows} {'row' if rows == 1 else 'rows'}"
        try:
            got = client.predict(
                address.server,
                model,
                _as_lists(request.inputs, address),
                request.signature,
                ca_file=address.ca_file,
                version=version,
            )
        except client.Refused as error:
            yield Finding(title, f"expected an answer, got: {error}")
            continue
        yield Finding(title, "; ".join(differences(expected, got, tolerance)))


def read_requests(folder: Path) -> list[Request]:
    """Returns the warm-up requests of a SavedModel.

    Raises:
        ValueError: it has none.
    """
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = folder / "assets.extra" / "tf_serving_warmup_requests"
    found = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator() if path.is_file() else ():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        found.append(Request(request.model_spec.signature_name or "serving_default", inputs))
    if not found:
        raise ValueError(f"{folder} has no requests to send (no {path.relative_to(folder)}): train the model again")
    return found


def differences(expected: dict[str, np.ndarray], got: dict[str, list], tolerance: float) -> list[str]:
    """Returns how an answer differs from the expected one: a line for each output, with the first place.

    Names of equal scores may be swapped (near_ties.py).
    """
    lines = []
    decoded = {name: _decoded(values) for name, values in expected.items()}
    arrays = {name: np.array(values) for name, values in got.items()}
    for name in sorted({*expected, *got}):
        if name not in got or name not in expected:
            lines.append(f"output {name}: " + ("missing" if name in expected else "not expected"))
            continue
        right, found = decoded[name], arrays[name]
        if right.size == found.size == 0:
            continue
        if right.shape != found.shape:
            lines.append(f"{name}: expected the shape {list(right.shape)}, got {list(found.shape)}")
            continue
        is_equal = _equal(right, found, tolerance)
        if right.dtype == object and not np.all(is_equal):
            is_equal = is_equal | near_ties.excused(name, decoded, arrays, tolerance)
        places = np.argwhere(~is_equal)
        if len(places):
            place = tuple(places[0])
            index = "".join(f"[{i}]" for i in place)
            others = f" ({len(places):,} of {right.size:,} values differ)" if right.size > 1 else ""
            lines.append(f"{name}{index}: expected {_shown(right[place])}, got {_shown(found[place])}{others}")
    return lines


def _missing_model(address: client.Address, model: str, version: int | None) -> Finding:
    """Returns whether the server has a version of the model."""
    try:
        states = client.versions(address, model)
    except client.Refused as error:
        return Finding(f"model {model}", f"the server does not have it: {error}")
    title = f"model {model}" + (f", version {version}" if version is not None else "")
    available = sorted(number for number, state in states.items() if state == AVAILABLE)
    if version in available or (version is None and available):
        return Finding(title)
    has = f"it has {', '.join(map(str, available))}" if available else "none is available"
    return Finding(title, f"the server does not have this version: {has}")


def _answers(folder: Path, requests: list[Request]) -> list[dict[str, np.ndarray]]:
    """Returns the answers of the SavedModel itself."""
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(str(folder))
    except Exception as error:  # of a damaged file, TensorFlow raises whatever its code meets
        raise ValueError(f"{folder} holds no SavedModel that can be loaded: {str(error).splitlines()[0]}") from error
    found = []
    for request in requests:
        outputs = loaded.signatures[request.signature](**{name: tf.constant(v) for name, v in request.inputs.items()})
        found.append({name: value.numpy() for name, value in outputs.items()})
    return found


def _as_lists(inputs: dict[str, np.ndarray], address: client.Address) -> dict[str, Any]:
    """Returns inputs as the client takes them: lists for JSON, arrays for gRPC, which keep their types."""
    if not address.is_rest:
        return inputs
    return {name: _decoded(values).tolist() for name, values in inputs.items()}


def _equal(right: np.ndarray, found: np.ndarray, tolerance: float) -> np.ndarray:
    if right.dtype == object or found.dtype.kind not in "biuf":
        return right == found
    return np.isclose(found, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def _decoded(values: np.ndarray) -> np.ndarray:
    return (
        np.frompyfunc(lambda each: each.decode("utf-8", "replace"), 1, 1)(values) if values.dtype == object else values
    )


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
