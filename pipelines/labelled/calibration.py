"""Factors of logits, fitted to validation texts: probabilities then say how often a label is right.

One model has one factor, the inverse of its temperature (Guo et al. 2017, "On Calibration of Modern Neural Networks").
The logits of several models are added, each with a factor of its own, which is 0 for a model that does not help.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from pipelines.support import blas, console

# See `fit_factors`: a few texts do not move a factor far from its start.
_PRIOR, _PRIOR_OF_SEVERAL = 1.0, 20.0
_LEAST_SHARE = 0.02  # of the sum of all factors, below which a model is left out
_MAX_FACTOR = 50.0
_SMALLEST_PROBABILITY = 1e-7


class Calibration(NamedTuple):
    """What `calibrate` finds.

    Attributes:
        factors: of the logits of each model.
        probabilities: of the validation texts, float [n, classes], each by factors that were fitted to the other half
            of the texts.
        members: of several models, what each gives: dicts of "name", "share" (of the logits), and "accuracy" and "loss"
            of the model alone.
    """

    factors: tuple[float, ...]
    probabilities: np.ndarray
    members: tuple[dict[str, Any], ...] = ()

    def scores(self, labels: np.ndarray) -> dict[str, float]:
        """Returns "loss" (cross-entropy) and "accuracy" of the probabilities; several labels: per text and label.

        Args:
            labels: as for `calibrate`.
        """
        log = np.log(np.clip(self.probabilities, _SMALLEST_PROBABILITY, 1))
        if labels.ndim == 1:
            is_right = self.probabilities.argmax(axis=1) == labels
            return {"accuracy": float(is_right.mean()), "loss": float(0.0 - log[np.arange(len(labels)), labels].mean())}
        other = np.log(np.clip(1 - self.probabilities, _SMALLEST_PROBABILITY, 1))
        is_right = (self.probabilities >= 0.5) == (labels == 1)
        return {"accuracy": float(is_right.mean()), "loss": float(-np.where(labels == 1, log, other).mean())}


def calibrate(members: Sequence[np.ndarray], labels: np.ndarray, start: Sequence[float] | None = None) -> Calibration:
    """Chooses the factors with the lowest cross-entropy on validation texts.

    Args:
        members: the logits of each model, float [n, classes].
        labels: int [n], class ids; of several labels per text, int [n, classes] of 0 and 1.
        start: the factors without evidence, by default 1 / members; a few texts do not move them far.
    """
    stacked = np.stack(members).astype(np.float64)  # [members, n, classes]
    first = np.full(len(members), 1 / len(members)) if start is None else np.array(start, float)
    half = np.arange(len(labels)) % 2
    probabilities = np.empty(stacked.shape[1:])
    for other in (0, 1):
        factors = _fit(stacked[:, half != other], labels[half != other], first)
        probabilities[half == other] = _probabilities(stacked[:, half == other], factors, labels.ndim == 2)
    return Calibration(tuple(_fit(stacked, labels, first).tolist()), probabilities.astype(np.float32))


def calibrate_together(
    network: np.ndarray, ngrams: np.ndarray, labels: np.ndarray, start: Sequence[float] | None = None
) -> Calibration:
    """As `calibrate`, of a network and the linear model over n-grams beside it; says how much each of them counts."""
    logits = {"network": network, "n-grams": ngrams}
    found = calibrate(list(logits.values()), labels, start)
    shares = [factor / sum(found.factors) for factor in found.factors]
    console.say(f"  of the logits, {shares[0]:.0%} are the network's and {shares[1]:.0%} those of the linear model")
    alone = [calibrate([of_member], labels).scores(labels) for of_member in logits.values()]
    members = [{"name": name, "share": share, **own} for name, share, own in zip(logits, shares, alone, strict=True)]
    return found._replace(members=tuple(members))


def logits_of(probabilities: np.ndarray, multi_label: bool) -> np.ndarray:
    """Returns logits that have these probabilities, float [n, classes]."""
    clipped = np.clip(probabilities.astype(np.float64), _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)
    return special.logit(clipped) if multi_label else np.log(clipped)


def _fit(members: np.ndarray, labels: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Returns the factors, float [members]; those of models that do not help are 0."""
    found, _ = fit_factors(members, labels, _PRIOR if len(members) == 1 else _PRIOR_OF_SEVERAL, start)
    helps = found >= _LEAST_SHARE * found.sum()
    if helps.all() or not found.sum():
        return found if found.sum() else start
    kept = np.zeros(len(members))
    kept[helps] = _fit(members[helps], labels, np.full(helps.sum(), 1 / helps.sum()))
    return kept


def fit_factors(
    members: np.ndarray,
    labels: np.ndarray,
    prior: float = 0.0,
    start: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Returns the factors of the members with the lowest cross-entropy, which is convex in them, and the cross-entropy.

    Args:
        members: logits, float64 [members, n, classes].
        labels: as for `calibrate`.
        prior: nats that the square of a factor's distance from `start` costs.
        start: float [members], by default 1 / members.
        weight: of each text, float [n].

    Returns:
        (float [members], the sum of the cross-entropies of the texts in nats, with the prior).
    """
    start = np.full(len(members), 1 / len(members)) if start is None else start.astype(float)
    weight = np.ones(len(labels)) if weight is None else weight
    target = labels if labels.ndim == 2 else np.eye(members.shape[2])[labels]  # [n, classes]

    def loss(factors):
        logits = np.tensordot(factors, members, 1)  # [n, classes]
        if labels.ndim == 2:
            losses = np.logaddexp(0, np.where(target == 1, -logits, logits)).sum(axis=1)
            error = special.expit(logits) - target
        else:
            total = special.logsumexp(logits, axis=1, keepdims=True)
            losses = total[:, 0] - (logits * target).sum(axis=1)
            error = np.exp(logits - total) - target
        gradient = np.tensordot(members, weight[:, None] * error, 2)
        distance = factors - start
        return losses @ weight + prior * (distance @ distance), gradient + 2 * prior * distance

    with blas.one_thread():
        found = optimize.minimize(loss, start, jac=True, bounds=[(0, _MAX_FACTOR)] * len(members), method="L-BFGS-B")
    return found.x, float(found.fun)


def _probabilities(members: np.ndarray, factors: np.ndarray, multi_label: bool) -> np.ndarray:
    logits = np.tensordot(factors, members, 1)
    return special.expit(logits) if multi_label else special.softmax(logits, axis=1)
