"""Names that are ranked by their scores: those of equal scores may stand in another order on another machine.

Two graphs that add up in another order give scores that differ in the last bits, so that of two classes with the same
score now one comes first and now the other. NumPy alone: pipelines/export/verify.py runs this file in a process without
our packages.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

# Output with names, the most probable one first -> output of the same shape with their scores.
_RANKED = {"top_labels": "top_scores", "next_tokens": "next_probabilities", "tokens": "probabilities"}
_CHOSEN = ("label", "labels")  # the classes of a text, among `top_labels`


def excused(
    name: str, expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], tolerance: float
) -> np.ndarray:
    """Returns where an output has another name than the expected one, of a score that is equal within `tolerance`.

    The other name must be one that is expected in the same row: one that stood just below the last place is refused,
    because nothing in the answer says whose score it had.

    Args:
        name: the output.
        expected, found: output -> values, strings or numbers, the names in both as the same type. The scores are those
            of `expected`: whether the found ones equal them is another comparison.
        tolerance: absolute or relative.

    Returns:
        Bool, of the shape of `expected[name]`, which is that of `found[name]`.
    """
    right, other = np.asarray(expected[name]), np.asarray(found[name])
    result = np.zeros(right.shape, bool)
    names_output = "top_labels" if name in _CHOSEN else name
    if not {names_output, _RANKED.get(names_output)} <= expected.keys():
        return result
    names, scores = np.asarray(expected[names_output]), np.asarray(expected[_RANKED[names_output]])
    is_ranked = names.shape == scores.shape and scores.ndim > 1 and bool(np.all(np.diff(scores) <= tolerance))
    if not is_ranked or names.shape[:-1] != (right.shape if name == "label" else right.shape[:-1]):
        return result
    for row in np.ndindex(names.shape[:-1]):
        score_of = dict(zip(names[row].tolist(), scores[row].tolist(), strict=True))
        result[row] = _swapped(np.atleast_1d(right[row]), np.atleast_1d(other[row]), score_of, tolerance, name)
    return result


def _swapped(right: np.ndarray, other: np.ndarray, score_of: dict[Any, float], tolerance: float, name: str) -> Any:
    """Returns where a row has another name of the same score: bool [names], or one bool for `label`."""
    pairs = list(zip(right.tolist(), other.tolist(), strict=True))
    close = [
        a != b and a in score_of and b in score_of and np.isclose(score_of[a], score_of[b], tolerance, tolerance)
        for a, b in pairs
    ]
    if name == "label":
        return close[0]
    return np.array(close, bool) & (sorted(right.tolist()) == sorted(other.tolist()))
