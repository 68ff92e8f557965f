"""Fits a `SparseNGramLogits` layer: the linear model of n-grams for more than a hundred classes.

It is that of linear_model.py with one weighting, the inverse document frequency, and without a search: a fit takes as
many solutions as there are classes. Of each class only the largest weights are kept. Where all texts for all classes
would take too long, a class is fitted to its own texts, the most similar other ones and some random ones (Jain et al.
2019, "Slice: Scalable Linear Extreme Classifiers").

A training that continues corrects the model that is known, as `linear_problem.Known` does: its score of a text for a
class is one more feature of that class.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from layers import SparseNGramLogits
from pipelines.classification.linear_start import SparseStart
from pipelines.linear import linear_problem, solver
from pipelines.linear.linear_model import Choice
from pipelines.linear.ngrams import Counted, inverse_frequencies, num_texts_with, with_repeats
from pipelines.support import console

_FACTOR = 5.0  # makes logits of margins, until calibration
_CHOICE = Choice(cost=3.0, token_weight=2.0, factors=(_FACTOR, 0.0, 0.0), repeats=1.0)
_MAX_READ = 2_000_000_000  # n-grams, over all classes, up to which a class is fitted to all texts
_LEAST_SIMILAR, _SIMILAR_PER_TEXT = 200, 10  # of the other texts that a class is fitted to, and more for large classes
_RANDOM = 200
_PROJECTION = 128  # random features in which the similarity of texts to a class is computed


def fit(
    layer: SparseNGramLogits,
    counted: Counted,
    labels: np.ndarray,
    text_weight: np.ndarray | None,
    seed: int,
    start: SparseStart | None = None,
) -> Choice | None:
    """Fits the weights of n-grams, and puts them into `layer`.

    Args:
        counted, labels, text_weight, seed: as for `linear_model.fit`.
        start: the model that the fit continues from; `counted` has its n-grams, and it knows all classes.

    Returns:
        The settings; None if there are no n-grams: all logits stay zero.
    """
    if not len(counted.hashes):
        return None
    known = start.at(counted.hashes) if start else None
    is_class = sparse.csc_array(labels == 1) if labels.ndim == 2 else _indicators(labels, layer.num_classes)
    num_texts, num_classes = is_class.shape  # bool [n, classes]
    repeats = known.repeats if known else _CHOICE.repeats
    problem = _weighted(counted, repeats, known)
    of_known = known.weights.tocsc() if known else None  # [n-grams, classes]
    others = None
    if num_classes * counted.occurrences.nnz > _MAX_READ:
        console.say(f"{num_classes:,} classes: each is fitted to its own texts and the most similar others ...")
        others = _Others(problem.scaled, is_class, seed)
    kept_per_class = 4 * layer.num_weights // num_classes

    def texts_of_classes():
        for i in range(num_classes):
            own = is_class.indices[is_class.indptr[i] : is_class.indptr[i + 1]]
            has_label = np.zeros(num_texts, bool)
            has_label[own] = True
            texts, weight = problem.scaled, text_weight
            if others is not None:
                rows = others.rows(i, own)
                texts, has_label = texts[rows], has_label[rows]
                weight = None if weight is None else weight[rows]
            if known:
                texts = linear_problem.with_score(texts, of_known[:, [i]].toarray().ravel(), known.bias[i])
            yield texts, has_label, weight

    kept, bias = _Largest(problem.ratios, layer.num_weights), np.zeros(num_classes)
    size = num_classes, min(counted.occurrences.nnz, _MAX_READ // num_classes)
    solutions = solver.fit_all(texts_of_classes(), _CHOICE.cost, seed, *size)
    solved = ((i, _FACTOR * found, _FACTOR * constant) for i, (found, constant) in enumerate(solutions))
    for i, found, constant in solved if known is None else _corrected(solved, of_known, known.bias):
        kept.add(i, found, kept_per_class)
        bias[i] = constant
    counts = np.append(num_texts if text_weight is None else text_weight.sum(), np.zeros(num_classes))
    counts[1:] = is_class.T.astype(np.float32) @ (np.ones(num_texts) if text_weight is None else text_weight)
    counts += known.counts if known else 0
    prior = linear_problem.prior(counts[1:], counts[0], labels.ndim == 1)
    layer.set_ngrams(counted.hashes, problem.ratios, kept.matrix(num_classes), bias, problem.least, prior, repeats)
    return _CHOICE


def _weighted(counted: Counted, repeats: float, known: SparseStart | None) -> linear_problem.Weighted:
    """Returns the texts with weighted n-grams. Those of a known model keep their ratios."""
    frequencies = inverse_frequencies(num_texts_with(counted.occurrences), counted.occurrences.shape[0])
    ratios, most = np.where(counted.is_token, _CHOICE.token_weight, 1.0) * frequencies, np.inf
    if known:
        ratios, most = np.where(known.ratios > 0, known.ratios, ratios), known.min_norm or np.inf
    return linear_problem.Weighted.of(with_repeats(counted.occurrences, repeats), ratios, most=most)


def _corrected(
    solved: Iterable[tuple[int, np.ndarray, float]], of_known: sparse.csc_array, bias: np.ndarray
) -> Iterator[tuple[int, np.ndarray, float]]:
    """Yields number, weights and bias of each class, of the known model and its correction together.

    Classes without a text stay as they are known, but for the mean factor of the others.

    Args:
        solved: number, weights and bias of each class; the last weight is that of the known score.
        of_known: the weights of the known model, [n-grams, classes].
        bias: of the known model, [classes].
    """
    factors, unseen = [], []
    for i, found, constant in solved:
        known = of_known[:, [i]].toarray().ravel()
        if known.any() and not found.any():
            unseen.append(i)
            continue
        factor = found[-1] if known.any() else 0.0
        factors += [factor] if factor > 0 else []
        yield i, found[:-1] + factor * known, constant + factor * bias[i]
    mean = np.mean(factors) if factors else 1.0
    for i in unseen:
        yield i, mean * of_known[:, [i]].toarray().ravel(), mean * bias[i]


def _indicators(labels: np.ndarray, num_classes: int) -> sparse.csc_array:
    """Returns which class each text has, bool [n, classes]."""
    return sparse.csc_array((np.ones(len(labels), bool), (np.arange(len(labels)), labels)), (len(labels), num_classes))


class _Largest:
    """The weights that change logits most, of all classes.

    Args:
        ratios: of each n-gram, float [k].
        count: number of weights that are kept.
    """

    def __init__(self, ratios: np.ndarray, count: int):
        self._ratios, self._count = ratios, count
        self._parts: list[tuple[np.ndarray, ...]] = []  # n-grams, classes and values of weights

    def add(self, i: int, weights: np.ndarray, most: int) -> None:
        """Adds the weights of class `i`, float [k]: at most `most` of them, and none that is zero."""
        size = np.abs(weights * self._ratios)
        kept = np.flatnonzero(size)
        kept = kept[_indices_of_largest(size[kept], most)]
        self._parts.append((kept.astype(np.int32), np.full(len(kept), i, np.int32), weights[kept].astype(np.float32)))
        if sum(len(ngrams) for ngrams, _, _ in self._parts) > 2 * self._count:
            self._prune()

    def _prune(self) -> None:
        ngrams, classes, values = map(np.concatenate, zip(*self._parts, strict=True))
        kept = _indices_of_largest(np.abs(values * self._ratios[ngrams]), self._count)
        self._parts = [(ngrams[kept], classes[kept], values[kept])]

    def matrix(self, num_classes: int) -> sparse.csr_array:
        """Returns the weights, [n-grams, classes]."""
        self._prune()
        ((ngrams, classes, values),) = self._parts
        return sparse.csr_array((values, (ngrams, classes)), (len(self._ratios), num_classes))


def _indices_of_largest(size: np.ndarray, count: int) -> np.ndarray:
    """Returns the indices, ascending, of the `count` largest elements."""
    if len(size) <= count:
        return np.arange(len(size))
    return np.sort(np.argpartition(size, len(size) - count)[len(size) - count :])


class _Others:
    """Chooses the texts of other classes that a class is fitted to.

    Args:
        scaled: float [n, k], the texts.
        is_class: bool [n, classes].
    """

    def __init__(self, scaled: sparse.csr_array, is_class: sparse.csc_array, seed: int):
        self._rng = np.random.default_rng(seed)
        signs = self._rng.choice(np.float32([-1, 1]), (scaled.shape[1], _PROJECTION))
        self._texts = scaled @ signs  # [n, projection]; products are on average those of the texts
        self._centers = is_class.T.astype(np.float32) @ self._texts  # [classes, projection]
        self._is_class = is_class

    def rows(self, i: int, own: np.ndarray) -> np.ndarray:
        """Returns the numbers of the texts for class `i`, whose own texts are `own`."""
        similarity = self._texts @ self._centers[i]
        similarity[own] = -np.inf
        count = min(len(similarity) - 1, max(_LEAST_SIMILAR, _SIMILAR_PER_TEXT * len(own)))
        similar = np.argpartition(-similarity, count)[:count]
        random = self._rng.integers(len(similarity), size=_RANDOM)
        return np.unique(np.concatenate([own, similar, random]))
