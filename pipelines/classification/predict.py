"""Explains the labels of a classifier: the words that count for and against each one."""

from collections.abc import Sequence

import numpy as np

from pipelines.export.exported import Exported
from pipelines.labelled.predict import predict_texts, texts_of
from pipelines.support.errors import UserError

_NUM_STRONGEST = 5  # words that are listed for and against a label
_GREEN, _RED, _BOLD, _RESET = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


def explain_texts(exported: Exported, given: Sequence[str], loaded=None) -> list[dict]:
    """Labels texts and weights their tokens.

    Args:
        given: see `predict_texts`.
        loaded: `exported`, if it is loaded already.

    Returns:
        The dicts of `predict_texts`, each with "weights": [[token, weight], ...] in the order of the text. A weight is
        what the label's log-odds lose when the token is deleted: positive for a token that counts for the label. If a
        text may have several labels, "weights" has such a list for each of its labels, or for the most probable one.
        Of several columns, it is [[token, weight, field], ...], and a number is one token, such as "price >= 2".

    Raises:
        UserError: the export has no such signature; or the errors of `predict_texts`.
    """
    loaded = loaded or exported.load()
    if "explain" not in loaded.signatures:
        raise UserError(
            f"{exported.title} has no explanations, as all exports of `transfer` and of numbers: leave out --explain"
        )
    results = predict_texts(exported, given, loaded)
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor

    for result, each in zip(results, texts_of(exported.card(), given), strict=True):
        text = tf.constant([each.encode("utf-8", "surrogatepass")])
        with capture_stderr_descriptor():  # the first call may print lines about oneDNN
            outputs = loaded.signatures["explain"](text=text)
        pieces = [[name.decode() for name in outputs[key].numpy()[0]] for key in ("pieces", "fields") if key in outputs]
        weights = outputs["weights"].numpy()[0]  # [pieces], or [pieces, classes]
        if "labels" not in result:
            result["weights"] = _weighted(pieces, weights)
            continue
        probabilities = result["probabilities"]
        explained = result["labels"] or [max(probabilities, key=probabilities.get)]
        index = {name: i for i, name in enumerate(exported.card()["classes"])}
        result["weights"] = {name: _weighted(pieces, weights[:, index[name]]) for name in explained}
    return results


def _weighted(pieces: list[list[str]], weights: np.ndarray) -> list[list]:
    """Returns a list for each piece: itself, its weight and, of several columns, its field."""
    names, *fields = pieces
    return [list(each) for each in zip(names, (round(float(weight), 4) for weight in weights), *fields, strict=True)]


def format_weights(result: dict, color: bool) -> str:
    """Returns the strongest tokens for and against each label; with `color`, also the text with colored tokens."""
    if "labels" not in result:
        return _format_label(result["weights"], color)
    by_label = result["weights"].items()
    return "\n".join(f"    {name}:\n{_format_label(weights, color)}" for name, weights in by_label)


def _format_label(weights: list[list], color: bool) -> str:
    threshold = 0.2 * max((abs(weight) for _, weight, *_ in weights), default=0.0)
    lines = []
    if color and weights:
        lines.append(" ".join(_colored(_named(*each), each[1], threshold) for each in weights))
    for title, sign in (("for", 1), ("against", -1)):
        tokens = sorted(
            ((_named(token, weight, *field), weight) for token, weight, *field in weights if sign * weight > 0),
            key=lambda item: -abs(item[1]),
        )
        listed = ", ".join(f"{token} {weight:+.2f}" for token, weight in tokens[:_NUM_STRONGEST]) or "nothing"
        lines.append(f"{title:<8} {listed}")
    return "\n".join(f"    {line}" for line in lines)


def _named(token: str, weight: float, field: str = "") -> str:
    """Returns the token with its field; that of a number names it already."""
    return f"{field}: {token}" if field and not token.startswith(f"{field} ") else token


def _colored(token: str, weight: float, threshold: float) -> str:
    if abs(weight) <= threshold:
        return token
    return f"{_BOLD}{_GREEN if weight > 0 else _RED}{token}{_RESET}"
