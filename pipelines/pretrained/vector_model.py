"""The linear model of an encoder's vectors: logistic regression, which a solver of scikit-learn fits.

    minimize over w, b   |w|^2 / 2 + C sum_i u_i loss(w x_i + b, y_i),    x = (vector - mean) / s

with the weights u of the texts and s, the root of the mean of |vector - mean|^2, so that C means the same for the
vectors of every encoder. The loss is that of a softmax over the classes, or of a sigmoid for each of several labels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import keras
import numpy as np

from pipelines.support import blas

COSTS = (1.0, 10.0)  # C
_TOLERANCE, _MAX_ITERATIONS = 1e-3, 300
_NEVER = -20.0  # logit of a class that no text has


class Vectors(NamedTuple):
    """What the linear model reads beside n-grams.

    Attributes:
        layer: dense, vectors -> logits.
        rows: the vectors of the texts, float32 [n, size].
    """

    layer: keras.layers.Dense
    rows: np.ndarray


class VectorModel(NamedTuple):
    """Logits of vectors x: x weights + bias.

    Attributes:
        weights: float32 [size, decisions].
        bias: float32 [decisions].
    """

    weights: np.ndarray
    bias: np.ndarray

    def logits(self, vectors: np.ndarray) -> np.ndarray:
        """Returns the logits of vectors, [n, size] -> [n, decisions]."""
        return vectors @ self.weights + self.bias

    def of_classes(self) -> "VectorModel":
        """Returns the model with a logit for each class: of one decision between two, each gets half of its logit."""
        if len(self.bias) > 1:
            return self
        half = np.array([-0.5, 0.5], np.float32)
        return VectorModel(self.weights * half, self.bias * half)


def fit(
    vectors: np.ndarray, decisions: np.ndarray, text_weight: np.ndarray | None, cost: float, exclude: bool
) -> VectorModel:
    """Fits the model.

    Args:
        vectors: float32 [n, size].
        decisions: bool [decisions, n], the texts of the class against the others.
        text_weight: of each text, float [n].
        cost: C.
        exclude: whether a text has exactly one of the classes; False for a single decision and for several labels.
    """
    center = np.average(vectors, axis=0, weights=text_weight)
    scaled = vectors - center
    scale = max(float(np.sqrt(np.mean(np.sum(np.square(scaled), axis=1)))), 1e-6)  # all vectors may be equal
    scaled = (scaled / scale).astype(np.float32)
    if exclude:
        fitted = [_fit(scaled, decisions.argmax(axis=0), text_weight, cost, len(decisions))]
    else:
        fitted = list(_fit_each(scaled, decisions, text_weight, cost))
    weights = np.concatenate([weights for weights, _ in fitted], axis=1) / scale
    bias = np.concatenate([bias for _, bias in fitted]) - center @ weights
    return VectorModel(weights.astype(np.float32), bias.astype(np.float32))


def _fit_each(scaled: np.ndarray, decisions: np.ndarray, text_weight, cost: float) -> Iterator[VectorModel]:
    for is_class in decisions:
        weights, bias = _fit(scaled, is_class.astype(int), text_weight, cost, 2)
        yield VectorModel(weights[:, 1:] - weights[:, :1], bias[1:] - bias[:1])


def _fit(scaled: np.ndarray, labels: np.ndarray, text_weight, cost: float, num_classes: int) -> VectorModel:
    """Returns the model with a logit for each class, weights [size, classes]; a class may have no text."""
    from sklearn.linear_model import LogisticRegression  # its import takes a second

    weights, bias = np.zeros((scaled.shape[1], num_classes)), np.full(num_classes, _NEVER)
    known = np.unique(labels)
    if len(known) == 1:
        bias[known] = 0.0
        return VectorModel(weights, bias)
    model = LogisticRegression(C=cost, tol=_TOLERANCE, max_iter=_MAX_ITERATIONS)
    with blas.one_thread():
        model.fit(scaled, labels, sample_weight=text_weight)
    if len(known) == 2:
        weights[:, known] = np.concatenate([-model.coef_, model.coef_]).T / 2
        bias[known] = np.array([-0.5, 0.5]) * model.intercept_
    else:
        weights[:, known], bias[known] = model.coef_.T, model.intercept_
    return VectorModel(weights, bias)
