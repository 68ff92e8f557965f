"""Explains the labels of a classifier: the words that count for and against each one."""

import numpy as np

from pipelines.export.exported import Exported
from pipelines.labelled.predict import predict_texts
from pipelines.support.errors import UserError

_NUM_STRONGEST = 5  # words that are listed for and against a label
_GREEN, _RED, _BOLD, _RESET = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


def explain_texts(exported: Exported, texts: list[str], loaded=None) -> list[dict]:
    """Labels texts and weights their tokens.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        The dicts of `predict_texts`, each with "weights": [[token, weight], ...] in the order of the text. A weight is
        what the label's log-odds lose when the token is deleted: positive for a token that counts for the label. If a
        text may have several labels, "weights" has such a list for each of its labels, or for the most probable one.

    Raises:
        UserError: the export has no such signature.
    """
    loaded = loaded or exported.load()
    if "explain" not in loaded.signatures:
        raise UserError(f"{exported.title} has no explanations, as all exports of `transfer`: leave out --explain")
    results = predict_texts(exported, texts, loaded)
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor

    for result in results:
        text = tf.constant([result["text"].encode("utf-8", "surrogatepass")])
        with capture_stderr_descriptor():  # the first call may print lines about oneDNN
            outputs = loaded.signatures["explain"](text=text)
        pieces = [piece.decode() for piece in outputs["pieces"].numpy()[0]]
        weights = outputs["weights"].numpy()[0]  # [pieces], or [pieces, classes]
        if "labels" not in result:
            result["weights"] = _weighted(pieces, weights)
            continue
        probabilities = result["probabilities"]
        explained = result["labels"] or [max(probabilities, key=probabilities.get)]
        index = {name: i for i, name in enumerate(probabilities)}
        result["weights"] = {name: _weighted(pieces, weights[:, index[name]]) for name in explained}
    return results


def _weighted(pieces: list[str], weights: np.ndarray) -> list[list]:
    return [[piece, round(float(weight), 4)] for piece, weight in zip(pieces, weights, strict=True)]


def format_weights(result: dict, color: bool) -> str:
    """Returns the strongest tokens for and against each label; with `color`, also the text with colored tokens."""
    if "labels" not in result:
        return _format_label(result["weights"], color)
    by_label = result["weights"].items()
    return "\n".join(f"    {name}:\n{_format_label(weights, color)}" for name, weights in by_label)


def _format_label(weights: list[list], color: bool) -> str:
    threshold = 0.2 * max((abs(weight) for _, weight in weights), default=0.0)
    lines = []
    if color and weights:
        lines.append(" ".join(_colored(token, weight, threshold) for token, weight in weights))
    for title, sign in (("for", 1), ("against", -1)):
        tokens = sorted(
            ((token, weight) for token, weight in weights if sign * weight > 0), key=lambda item: -abs(item[1])
        )
        listed = ", ".join(f"{token} {weight:+.2f}" for token, weight in tokens[:_NUM_STRONGEST]) or "nothing"
        lines.append(f"{title:<8} {listed}")
    return "\n".join(f"    {line}" for line in lines)


def _colored(token: str, weight: float, threshold: float) -> str:
    if abs(weight) <= threshold:
        return token
    return f"{_BOLD}{_GREEN if weight > 0 else _RED}{token}{_RESET}"
