"""Labels that are ratings, such as 1 to 5: how far the predicted one is from the true one."""

from collections.abc import Sequence

import numpy as np

from pipelines.data import labels
from pipelines.support import bootstrap
from pipelines.support.errors import UserError
from pipelines.support.scores import score_of

_NUM_BOOTSTRAPS = 1000
_MIN_RATINGS, _MAX_RATINGS = 3, 11  # 0 to 10; more numbers are probably the ids of classes


def may_be_ratings(classes: Sequence[str]) -> bool:
    """Whether the classes are a few different numbers."""
    return _MIN_RATINGS <= len(classes) <= _MAX_RATINGS and labels.are_numbers(classes)


def require_ordered(classes: Sequence[str], source: str) -> None:
    """Raises a UserError if the classes have no order: if they are not at least three numbers."""
    named = next((name for name in classes if not labels.are_numbers([name])), None)
    if named is not None:
        raise UserError(f"{source}: --label-type ordinal needs numbers, such as 1 to 5, and one label is {named!r}")
    if len(classes) < _MIN_RATINGS:
        raise UserError(f"{source}: --label-type ordinal needs at least three different labels; it has {len(classes)}")


def compute_scores(true: np.ndarray, predicted: np.ndarray, classes: Sequence[str]) -> dict:
    """Returns "mean_absolute_error", "quadratic_kappa" (Cohen 1968) and their 95 % intervals, by the bootstrap.

    kappa = 1 - sum (i - j)^2 observed[i, j] / sum (i - j)^2 expected[i, j], where `expected` has the products of the
    frequencies of true and of predicted labels. None if all true and predicted labels are the same.

    Args:
        true, predicted: int [n], ids of classes.
        classes: numbers in ascending order.
    """
    values = np.array([float(name) for name in classes])
    num_classes = len(values)
    counts = np.bincount(true * num_classes + predicted, minlength=num_classes**2).astype(float)
    draws = np.random.default_rng(0).multinomial(len(true), counts / len(true), size=_NUM_BOOTSTRAPS)
    observed = np.concatenate([counts[None], draws]).reshape(-1, num_classes, num_classes) / len(true)  # [draws, i, j]
    distance = values[:, None] - values[None]
    expected = observed.sum(axis=2)[:, :, None] * observed.sum(axis=1)[:, None, :]
    error = (np.abs(distance) * observed).sum(axis=(1, 2))
    by_chance = (distance**2 * expected).sum(axis=(1, 2))
    kappa = 1 - (distance**2 * observed).sum(axis=(1, 2)) / np.where(by_chance > 0, by_chance, np.nan)
    found: dict = {}
    for name, each in (("mean_absolute_error", error), ("quadratic_kappa", kappa)):
        found[name] = None if np.isnan(each[0]) else float(each[0])
        found[f"{name}_interval"] = None if np.isnan(each[0]) else bootstrap.interval(each[1:])
    return found


def shown(scores: dict) -> str:
    """Returns both scores in a line; "" where the labels are no ratings."""
    found = scores.get("ratings")
    if found is None:
        return ""
    error, kappa = (score_of(found, name).number() for name in ("mean_absolute_error", "quadratic_kappa"))
    return f"mean absolute error {error}, quadratic kappa {kappa}"


def report_lines(scores: dict[str, dict], is_ordinal: bool) -> list[str]:
    """Returns the section of the report on labels that are numbers in order; none for other labels.

    Args:
        scores: split -> scores.
        is_ordinal: whether the training had --label-type ordinal.
    """
    lines = [f"- {split}: {shown(each)}" for split, each in scores.items() if shown(each)]
    if not lines:
        return []
    hint = "The predicted label is the median of the probabilities."
    if not is_ordinal:
        hint = (
            "If the order of these numbers counts, `--label-type ordinal` predicts the median of the probabilities, "
            "which is nearer to the true number."
        )
    meaning = (
        "The mean absolute error is the distance of the predicted number from the true one; the quadratic kappa is 1 "
        "if all are equal and 0 for chance (Cohen 1968)."
    )
    return ["## As ratings", "", *lines, "", f"{meaning} {hint}", ""]
