"""The problem of the linear model over n-grams: its weightings, and what fits one classifier; see linear_model.py."""

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy import sparse

from layers import NGramLogits
from pipelines.linear import solver
from pipelines.linear.ngrams import Counted, inverse_frequencies, num_texts_with, with_repeats
from pipelines.pretrained import vector_model

_SMOOTHING = 1.0  # added to every count
_MIN_NORM = 1e-6
_SHORT_TEXTS = 1  # percent of the training texts, the ones with the smallest norm, that get logits near the prior ones
_BAYES_SMOOTHING = 0.5  # added to the sums of the weighted n-grams


class Totals(NamedTuple):
    """How many texts have each n-gram.

    Attributes:
        num_texts: number of all texts.
        of_ngrams: texts with each n-gram, float [k].
        of_decisions: texts of each decision's class with each n-gram, float [decisions, k]; most are 0 of many classes.
    """

    num_texts: int
    of_ngrams: np.ndarray
    of_decisions: sparse.csr_array

    def of_decision(self, decision: int) -> np.ndarray:
        """Returns the texts of one decision's class with each n-gram, float [k]."""
        return self.of_decisions[[decision]].toarray().ravel()


class Fitted(NamedTuple):
    """The weights of all decisions, with the first weighting and, if there is one, the second: float32.

    Attributes:
        ratios, weights: of each n-gram, [k, decisions].
        bias: [decisions].
        min_norm: the norm below which texts get smaller logits, [decisions].
    """

    ratios: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    min_norm: np.ndarray


class Known(NamedTuple):
    """The linear model that a fit continues from, at the n-grams and for the decisions of a problem.

    Its score of a text is one more feature of the new problem, so that the new weights correct it. Both are linear in
    the same n-grams, and become one vector of weights.

    Attributes:
        of_weightings: with each weighting, as many as `Problem.num_weightings`; the ratios of an n-gram that the model
            does not know are 0, and all of them where it does not use the weighting.
        counts: weight of the texts that it was fitted to, and of those of each decision's class, float [1 + decisions].
        token_weight, repeats: see `linear_model.Choice`.
    """

    of_weightings: list[Fitted]
    counts: np.ndarray
    token_weight: float
    repeats: float

    @property
    def has_ratios(self) -> bool:
        """Whether it uses log-count ratios."""
        return any(each.ratios.any() for each in self.of_weightings[1:])


def inverse_frequencies_of(problem: "Problem", decision: int) -> np.ndarray:
    """Returns the inverse document frequency of each n-gram, the same for all decisions."""
    if problem.totals:
        return inverse_frequencies(problem.totals.of_ngrams, problem.totals.num_texts)
    return inverse_frequencies(num_texts_with(problem.occurrences), problem.occurrences.shape[0])


def log_count_ratios_of(problem: "Problem", decision: int) -> np.ndarray:
    """Returns log(frequency in the class / frequency outside of it) of each n-gram, float [k]."""
    if problem.totals:
        inside = problem.totals.of_decision(decision)
        outside = problem.totals.of_ngrams - inside
    else:
        is_class = problem.decisions[decision]
        inside, outside = (num_texts_with(problem.occurrences[rows]) for rows in (is_class, ~is_class))
    inside, outside = inside + _SMOOTHING, outside + _SMOOTHING
    return np.log(inside / inside.sum()) - np.log(outside / outside.sum())


_WEIGHTINGS = inverse_frequencies_of, log_count_ratios_of


@dataclasses.dataclass(frozen=True)
class Problem:
    """The texts and decisions that linear classifiers are fitted to.

    Attributes:
        occurrences: float32 [n, k], what each n-gram of a text weighs, see `ngrams.with_repeats`.
        is_token: bool [k], which n-grams are those of tokens.
        decisions: bool [decisions, n], the texts of the class against the others.
        text_weight: float [n].
        seed: of the solver and the folds.
        several_labels: whether the decisions do not exclude each other.
        num_weightings: 2 with log-count ratios, else 1.
        fading: how fast the logits of short texts fade, see `NGramLogits`.
        totals: of all texts, if these are some of them: the ratios are then the same for all.
        known: the model that the fit continues from.
        vectors: of an encoder, float32 [n, size]; None without one.
    """

    occurrences: sparse.csr_matrix
    is_token: np.ndarray
    decisions: np.ndarray
    text_weight: np.ndarray | None
    seed: int
    several_labels: bool = False
    num_weightings: int = 1
    fading: int = 4
    totals: Totals | None = None
    known: Known | None = None
    vectors: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        layer: NGramLogits,
        counted: Counted,
        labels: np.ndarray,
        text_weight: np.ndarray | None,
        num_classes: int,
        seed: int,
    ) -> "Problem":
        """Returns the problem whose solution `layer` takes; for the arguments see `linear_model.fit`."""
        several_labels = labels.ndim == 2
        is_class = labels.T == 1 if several_labels else labels == np.arange(num_classes)[:, None]  # [classes, n]
        return cls(
            counted.occurrences,
            counted.is_token,
            is_class[1:] if num_classes == 2 and not several_labels else is_class,
            text_weight,
            seed,
            several_labels,
            layer.num_classes // num_classes,
            layer.fading,
        )

    def prior(self) -> np.ndarray:
        """Returns the logits that give each class its frequency in training, [decisions]."""
        weight = np.ones(self.decisions.shape[1]) if self.text_weight is None else self.text_weight
        exclude = len(self.decisions) > 1 and not self.several_labels
        counts = np.append(weight.sum(), self.decisions @ weight)
        if self.known:
            counts += self.known.counts
        return prior(counts[1:], counts[0], exclude)

    def with_repeats(self, repeats: float) -> "Problem":
        """Returns the problem with 1 + repeats log(count) in place of how often a text has an n-gram."""
        return dataclasses.replace(self, occurrences=with_repeats(self.occurrences, repeats))

    def rows(self, chosen: np.ndarray) -> "Problem":
        """Returns the problem of some of the texts."""
        weight = None if self.text_weight is None else self.text_weight[chosen]
        return dataclasses.replace(
            self,
            occurrences=self.occurrences[chosen],
            decisions=self.decisions[:, chosen],
            text_weight=weight,
            vectors=None if self.vectors is None else self.vectors[chosen],
        )

    def fit(self, weigh, cost: float | None, token_weight: float, factor: float = 1.0) -> Fitted:
        """Fits each decision.

        Args:
            weigh: inverse_frequencies_of or log_count_ratios_of.
            cost: C; None gives weights of zero.
            token_weight: of n-grams of tokens.
            factor: of the weights and biases.
        """
        shape = (len(self.is_token), len(self.decisions))
        ratios, weights, bias, min_norm = np.zeros(shape, np.float32), np.zeros(shape, np.float32), [], []
        if cost is None:
            return Fitted(ratios, weights, np.zeros(shape[1], np.float32), np.zeros(shape[1], np.float32))
        known = self._known(weigh)
        of_known = np.full(shape[1], np.nan)  # the factors of the scores by the known model

        def texts_of_decisions():
            weighted = None
            for i, is_class in enumerate(self.decisions):
                if weighted is None or weigh is log_count_ratios_of:  # inverse frequencies are the same for all classes
                    weighted = self._weighted(weigh, i, token_weight)
                ratios[:, i] = weighted.ratios
                min_norm.append(weighted.least)
                texts = weighted.scaled
                if known:
                    texts = with_score(texts, known.weights[:, i], known.bias[i])
                yield texts, is_class, self.text_weight

        size = len(self.decisions), self.occurrences.nnz
        for i, (coefficients, constant) in enumerate(solver.fit_all(texts_of_decisions(), cost, self.seed, *size)):
            if known:
                is_new = not known.weights[:, i].any()
                if is_new or coefficients.any():
                    of_known[i] = 0 if is_new else coefficients[-1]
                else:  # no text has the label, or all have it, which says nothing: what is known stays
                    constant = 0.0
                coefficients = coefficients[:-1]
            weights[:, i] = coefficients * factor
            bias.append(constant * factor)
        found = Fitted(ratios, weights, np.float32(bias), np.float32(min_norm))
        if not known:
            return found
        learned = of_known[of_known > 0]
        of_known = factor * np.where(np.isnan(of_known), learned.mean() if len(learned) else 1, of_known)
        with_known = weights + np.float32(of_known) * known.weights
        return found._replace(weights=with_known, bias=found.bias + np.float32(of_known) * known.bias)

    def fit_vectors(self, cost: float) -> vector_model.VectorModel:
        """Fits the linear model of the vectors with C = `cost`."""
        exclude = len(self.decisions) > 1 and not self.several_labels
        return vector_model.fit(self.vectors, self.decisions, self.text_weight, cost, exclude)

    def _known(self, weigh) -> Fitted | None:
        """Returns the known model with a weighting; None without one."""
        return self.known.of_weightings[_WEIGHTINGS.index(weigh)] if self.known else None

    def _weighted(self, weigh, decision: int, token_weight: float) -> "Weighted":
        """Returns the texts for one decision. The n-grams of a known model keep their ratios."""
        ratios, most = np.where(self.is_token, token_weight, 1.0) * weigh(self, decision), np.inf
        if known := self._known(weigh):
            of_known = known.ratios[:, decision]
            ratios, most = np.where(of_known > 0, of_known, ratios), float(known.min_norm[decision]) or np.inf
        return Weighted.of(self.occurrences, ratios, self.fading, most)

    def bayes(self, token_weight: float) -> Fitted:
        """Returns what `fit` returns, of complement naive Bayes with inverse frequencies; its biases are zero.

        Of one decision, or of several labels per text, a weight is the logarithm of the ratio of the frequencies in the
        texts of the class and in the others.
        """
        weighted = self._weighted(inverse_frequencies_of, 0, token_weight)
        texts = weighted.scaled[:, :-1]
        if self.text_weight is not None:
            texts = sparse.diags_array(self.text_weight.astype(np.float32)) @ texts
        inside = self.decisions.astype(np.float32) @ texts + _BAYES_SMOOTHING  # [decisions, k]
        outside = np.asarray(texts.sum(axis=0)).ravel() + 2 * _BAYES_SMOOTHING - inside
        weights = -np.log(outside / outside.sum(axis=1, keepdims=True))
        if len(self.decisions) == 1 or self.several_labels:
            weights += np.log(inside / inside.sum(axis=1, keepdims=True))
        else:
            weights -= weights.mean(axis=0)  # which changes no softmax
        if self.known:
            weights[:, num_texts_with(self.occurrences) == 0] = 0  # of them these texts say nothing
        num_decisions = len(self.decisions)
        ratios = np.repeat(weighted.ratios[:, None].astype(np.float32), num_decisions, axis=1)
        min_norm = np.full(num_decisions, weighted.least, np.float32)
        return Fitted(ratios, weights.T.astype(np.float32), np.zeros(num_decisions, np.float32), min_norm)


def with_score(texts: sparse.csr_matrix, weights: np.ndarray, bias: float) -> sparse.csr_matrix:
    """Returns the texts with one more feature before the last one, their score by a known model.

    Args:
        texts: see `Weighted.scaled`, [n, k + 1].
        weights: float32 [k].

    Returns:
        float32 [n, k + 2].
    """
    score = texts @ np.append(weights, np.float32(bias))
    return sparse.hstack([texts[:, :-1], score[:, None], texts[:, -1:]], "csr", np.float32)


def prior(counts: np.ndarray, total: float, exclude: bool) -> np.ndarray:
    """Returns the logits that give each class its frequency in training, [classes].

    Args:
        counts: weight of the texts of each class, [classes].
        total: weight of all texts.
        exclude: whether the classes exclude each other: of a softmax; else of a sigmoid for each.
    """
    frequency = (counts + _SMOOTHING) / (total + 2 * _SMOOTHING)
    return np.log(frequency) if exclude else np.log(frequency / (1 - frequency))


def _norms(occurrences: sparse.csr_matrix, ratios: np.ndarray) -> np.ndarray:
    """Returns the norm of each text's ratios: [n] of ratios [k], [n, decisions] of ratios [k, decisions]."""
    squared = np.square(occurrences.data), occurrences.indices, occurrences.indptr
    return np.maximum(np.sqrt(sparse.csr_matrix(squared, occurrences.shape) @ np.square(ratios)), _MIN_NORM)


class Weighted(NamedTuple):
    """The texts of one weighting.

    Attributes:
        ratios: of each n-gram, float [k].
        scaled: float32 [n, k + 1], the rows that `NGramLogits` multiplies by the weights and, last, by the bias.
        least: the norm below which texts get smaller logits.
    """

    ratios: np.ndarray
    scaled: sparse.csr_matrix
    least: float

    @classmethod
    def of(
        cls, occurrences: sparse.csr_matrix, ratios: np.ndarray, fading: int = 4, most: float = np.inf
    ) -> "Weighted":
        """Returns the texts with these n-grams (what each weighs in a text, [n, k]); `most` bounds `least`."""
        norm = _norms(occurrences, ratios)
        least = min(float(np.percentile(norm, _SHORT_TEXTS)), float(most))
        trust = np.minimum(1, norm / least) ** fading
        scale = (trust / norm).astype(np.float32)
        data = ratios.astype(np.float32)[occurrences.indices] * np.repeat(scale, np.diff(occurrences.indptr))
        data *= occurrences.data
        weighted = sparse.csr_matrix((data, occurrences.indices, occurrences.indptr), occurrences.shape)
        return cls(ratios, sparse.hstack([weighted, trust[:, None].astype(np.float32)], "csr"), least)


def compute_logits(occurrences, ratios, weights, bias, min_norm, prior, fading: int) -> np.ndarray:
    """Returns what `NGramLogits` computes, [n, decisions]."""
    norm = _norms(occurrences, ratios)
    trust = np.minimum(1, norm / np.maximum(min_norm, _MIN_NORM)) ** fading
    return trust * (occurrences @ (ratios * weights) / norm + bias) + (1 - trust) * prior
