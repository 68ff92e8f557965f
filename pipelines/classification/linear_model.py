"""Fits an `NGramLogits` layer: weights each n-gram in two ways, and fits linear classifiers to them.

The weightings are the inverse document frequency, the same for all classes, and the naive Bayes log-count ratio of each
class (Wang and Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification"). For each class
and weighting, a linear support vector machine minimizes

    |w|^2 / 2 + C sum_i max(0, 1 - y_i (w x_i + b))^2,    y_i = 1 for texts of the class, -1 for others

With the inverse document frequencies there is a second classifier, complement naive Bayes (Rennie et al. 2003,
"Tackling the Poor Assumptions of Naive Bayes Text Classifiers"), whose weight for n-gram f and class c is

    w_fc = -log p(f | texts of other classes)

with frequencies from the sums of the weighted n-grams. It needs no solver, errs on other texts, and helps most where
texts are few. The logits of the three are added: they are as many linear functions of the same n-grams.

Which C is best, how much each classifier counts, and how much n-grams of tokens weigh beside those of characters,
differs from data to data. All are chosen by the loss on training texts that no model was fitted to.

The problem of the support vector machine is convex, and a solver of scikit-learn finds its solution in seconds. Adam
does not: its steps have the same size for rare and for frequent n-grams.
"""

import dataclasses
import functools
import math
import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse

from layers import NGramLogits
from pipelines.classification.ngrams import Counted, inverse_frequencies
from pipelines.labelled.calibration import fit_factors
from pipelines.support import console

_SMOOTHING = 1.0  # added to every count
_MIN_NORM = 1e-6
_SHORT_TEXTS = 1  # percent of the training texts, the ones with the smallest norm, that get logits near the prior ones
_FOLDS = 3  # of the search
_MANY_TEXTS = 3000  # from which on the search leaves out one fold alone
_MAX_OCCURRENCES = 12_000_000  # of n-grams in texts that the search reads
_TOKEN_WEIGHTS = (1.0, 2.0, 4.0)  # of n-grams of tokens; those of characters weigh 1
_FIRST_COST = 1.0  # C with inverse frequencies that these are compared with
_COSTS = (0.3, 1.0, 3.0, 10.0)  # C with inverse frequencies
_COSTS_OF_MANY_CLASSES = (1.0, 3.0)  # where there is one weighting
_RATIO_COSTS = (0.3, 1.0)  # C with log-count ratios
_LEAST_FACTOR = 0.4  # of the first classifier: where left out texts are too few to show that it helps, it still answers
_BAYES_SMOOTHING = 0.5  # added to the sums of the weighted n-grams


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the search chooses.

    Attributes:
        cost: C with inverse frequencies.
        ratio_cost: C with log-count ratios; None leaves them out.
        token_weight: of n-grams of tokens, beside those of characters.
        factors: of the logits of the support vector machines with inverse frequencies, of complement naive Bayes, and
            of the support vector machines with log-count ratios.
    """

    cost: float
    ratio_cost: float | None = None
    token_weight: float = 1.0
    factors: tuple[float, float, float] = (1.0, 0.0, 0.0)


def fit(
    layer: NGramLogits,
    counted: Counted,
    labels: np.ndarray,
    text_weight: np.ndarray | None,
    seed: int,
    choice: Choice | None = None,
) -> Choice | None:
    """Fits the weights of n-grams, and puts both into `layer`.

    Args:
        layer: its logits are those of all classes with the first weighting, then, if the layer has twice as many
            logits as there are classes, those with the second. The logits of the model are their mean.
        counted: the n-grams of the training texts.
        labels: int [n], class ids; every class has a text. Of several labels per text, int [n, classes] of 0 and 1.
        text_weight: weight of each text, float [n].
        seed: of the order in which the solver visits the texts, and of the folds.
        choice: None: it is chosen here.

    Returns:
        The choice; None if there are no n-grams: all logits stay zero.
    """
    if not len(counted.hashes):
        return None
    num_classes = labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1
    one_decision = num_classes == 2 and labels.ndim == 1
    is_class = labels.T == 1 if labels.ndim == 2 else labels == np.arange(num_classes)[:, None]  # [classes, n]
    decisions = is_class[1:] if one_decision else is_class
    num_weightings = layer.num_classes // num_classes
    problem = _Problem(
        counted.occurrences, counted.is_token, decisions, text_weight, seed, labels.ndim == 2, layer.fading
    )
    if choice is None:
        choice = _choose(problem, has_ratios=num_weightings == 2)
        console.say(_describe(choice))
    # The model takes the mean of the weightings.
    of_machine, of_bayes, of_ratios = (num_weightings * factor for factor in choice.factors)
    weight = choice.token_weight
    ratios, weights, bias, min_norm = problem.fit(inverse_frequencies, choice.cost, weight, of_machine)
    weights += of_bayes * problem.bayes(weight)[1]
    columns = [(ratios, weights, bias, min_norm)]
    if num_weightings == 2:
        columns.append(problem.fit(_log_count_ratios, choice.ratio_cost, weight, of_ratios))
    ratios, weights, bias, min_norm = (np.concatenate(values, axis=-1) for values in zip(*columns, strict=True))
    num_used = 2 if choice.ratio_cost else 1  # of the weightings; the logits of the others are zero
    prior = np.repeat([num_weightings / num_used, 0], [num_used, num_weightings - num_used])[:, None] * problem.prior()
    prior = prior.reshape(-1)
    if one_decision:  # each class gets half of its logit
        half = np.tile(np.float32([-0.5, 0.5]), len(columns))
        ratios, min_norm = np.repeat(ratios, 2, -1), np.repeat(min_norm, 2)
        weights, bias, prior = (np.repeat(each, 2, -1) * half for each in (weights, bias, prior))
    layer.set_ngrams(counted.hashes, ratios, weights, bias, min_norm, prior)
    return choice


def _describe(choice: Choice) -> str:
    bayes = ", naive Bayes" * (choice.factors[1] > 0)
    ratios = f", naive Bayes ratios (C {choice.ratio_cost:.2g})" if choice.ratio_cost else ""
    return (
        f"  chosen on texts left out of the fit: inverse frequencies (C {choice.cost:.2g}){bayes}{ratios}; n-grams of "
        f"words weigh {choice.token_weight:g} times those of characters"
    )


def _log_count_ratios(occurrences: sparse.csr_matrix, is_class: np.ndarray) -> np.ndarray:
    """Returns log(frequency in the class / frequency outside of it) of each n-gram, float [k]."""
    inside = np.asarray(occurrences[is_class].sum(axis=0)).ravel() + _SMOOTHING
    outside = np.asarray(occurrences[~is_class].sum(axis=0)).ravel() + _SMOOTHING
    return np.log(inside / inside.sum()) - np.log(outside / outside.sum())


@dataclasses.dataclass(frozen=True)
class _Problem:
    """The texts and decisions that linear classifiers are fitted to.

    Attributes:
        occurrences: float32 [n, k], 1 where the text has the n-gram.
        is_token: bool [k], which n-grams are those of tokens.
        decisions: bool [decisions, n], the texts of the class against the others.
        text_weight: float [n].
        seed: of the solver and the folds.
        several_labels: whether the decisions do not exclude each other.
        fading: how fast the logits of short texts fade, see `NGramLogits`.
    """

    occurrences: sparse.csr_matrix
    is_token: np.ndarray
    decisions: np.ndarray
    text_weight: np.ndarray | None
    seed: int
    several_labels: bool = False
    fading: int = 4

    def prior(self) -> np.ndarray:
        """Returns the logits that give each class its frequency in training, [decisions]."""
        weight = np.ones(self.decisions.shape[1]) if self.text_weight is None else self.text_weight
        exclude = len(self.decisions) > 1 and not self.several_labels
        return prior(self.decisions @ weight, weight.sum(), exclude)

    def rows(self, chosen: np.ndarray) -> "_Problem":
        """Returns the problem of some of the texts."""
        weight = None if self.text_weight is None else self.text_weight[chosen]
        return dataclasses.replace(
            self, occurrences=self.occurrences[chosen], decisions=self.decisions[:, chosen], text_weight=weight
        )

    def fit(self, weigh, cost: float | None, token_weight: float, factor: float = 1.0) -> tuple[np.ndarray, ...]:
        """Fits each decision.

        Args:
            weigh: inverse_frequencies or _log_count_ratios.
            cost: C; None gives weights of zero.
            token_weight: of n-grams of tokens.
            factor: of the weights and biases.

        Returns:
            (ratios [k, decisions], weights [k, decisions], bias [decisions], the norm below which texts get smaller
            logits [decisions]), float32.
        """
        shape = (len(self.is_token), len(self.decisions))
        ratios, weights, bias, min_norm = np.zeros(shape, np.float32), np.zeros(shape, np.float32), [], []
        if cost is None:
            return ratios, weights, np.zeros(shape[1], np.float32), np.zeros(shape[1], np.float32)
        scale = np.where(self.is_token, token_weight, 1.0)
        weighted = None
        for i, is_class in enumerate(self.decisions):
            if weighted is None or weigh is _log_count_ratios:  # inverse frequencies are the same for all classes
                weighted = Weighted.of(self.occurrences, scale * weigh(self.occurrences, is_class), self.fading)
            coefficients, constant = fit_one(weighted.scaled, is_class, self.text_weight, cost, self.seed)
            ratios[:, i], weights[:, i] = weighted.ratios, coefficients * factor
            bias.append(constant * factor)
            min_norm.append(weighted.least)
        return ratios, weights, np.float32(bias), np.float32(min_norm)

    def bayes(self, token_weight: float) -> tuple[np.ndarray, ...]:
        """Returns what `fit` returns, of complement naive Bayes with inverse frequencies; its biases are zero.

        Of one decision, or of several labels per text, a weight is the logarithm of the ratio of the frequencies in the
        texts of the class and in the others.
        """
        scale = np.where(self.is_token, token_weight, 1.0)
        weighted = Weighted.of(self.occurrences, scale * inverse_frequencies(self.occurrences), self.fading)
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
        num_decisions = len(self.decisions)
        ratios = np.repeat(weighted.ratios[:, None].astype(np.float32), num_decisions, axis=1)
        min_norm = np.full(num_decisions, weighted.least, np.float32)
        return ratios, weights.T.astype(np.float32), np.zeros(num_decisions, np.float32), min_norm


def prior(counts: np.ndarray, total: float, exclude: bool) -> np.ndarray:
    """Returns the logits that give each class its frequency in training, [classes].

    Args:
        counts: weight of the texts of each class, [classes].
        total: weight of all texts.
        exclude: whether the classes exclude each other: of a softmax; else of a sigmoid for each.
    """
    frequency = (counts + _SMOOTHING) / (total + 2 * _SMOOTHING)
    return np.log(frequency) if exclude else np.log(frequency / (1 - frequency))


def _choose(problem: _Problem, has_ratios: bool) -> Choice:
    """Chooses by the loss on texts that were left out of a fit, and the factor of the logits with it.

    First how much n-grams of tokens weigh, then the costs and the share of the log-count ratios.
    """
    rng = np.random.default_rng(problem.seed)
    order = rng.permutation(problem.occurrences.shape[0])
    lengths = np.diff(problem.occurrences.indptr)[order]
    read = order[: max(_FOLDS, int(np.searchsorted(np.cumsum(lengths), _MAX_OCCURRENCES)))]
    folds = np.array_split(read, _FOLDS)[: 1 if len(read) >= _MANY_TEXTS else _FOLDS]
    weight = np.ones(len(problem.decisions.T)) if problem.text_weight is None else problem.text_weight.copy()
    fitted = []
    for fold in folds:
        fitted.append(problem.rows(np.setdiff1d(read, fold, assume_unique=True)))
        if len(problem.decisions) > 1 and not problem.several_labels:
            # The right answer is none that a fit without a text of the class can give.
            weight[fold] *= fitted[-1].decisions.any(axis=1)[problem.decisions[:, fold].argmax(axis=0)]
    left_out = dataclasses.replace(problem, text_weight=weight).rows(np.concatenate(folds))
    if not left_out.text_weight.any():
        return Choice(_FIRST_COST)

    @functools.cache
    def logits_of(weigh, cost: float | None, token_weight: float) -> np.ndarray:  # [left out texts, classes]
        parts = []
        for fold, fit in zip(folds, fitted, strict=True):
            if cost is None:
                values, prior = fit.bayes(token_weight), 0.0
            else:
                values, prior = fit.fit(weigh, cost, token_weight), fit.prior()
            parts.append(_logits(problem.occurrences[fold], *values, prior, problem.fading))
        return _of_classes(np.concatenate(parts))

    labels = _labels(left_out)

    def loss_of(choice: Choice) -> tuple[float, Choice]:
        members = [(inverse_frequencies, choice.cost), (inverse_frequencies, None)]
        members += [(_log_count_ratios, choice.ratio_cost)] if choice.ratio_cost else []
        logits = np.stack([logits_of(*member, choice.token_weight) for member in members])
        factors, loss = fit_factors(logits, labels, weight=left_out.text_weight)
        factors[0] = max(factors[0], _LEAST_FACTOR)
        return loss, dataclasses.replace(choice, factors=tuple(np.pad(factors, (0, 3 - len(factors))).tolist()))

    def best_of(choices) -> Choice:
        return min(map(loss_of, choices), key=lambda pair: pair[0])[1]

    first = best_of(Choice(_FIRST_COST, token_weight=token_weight) for token_weight in _TOKEN_WEIGHTS)
    costs = _COSTS if has_ratios else _COSTS_OF_MANY_CLASSES
    ratio_costs = (None, *_RATIO_COSTS) if has_ratios else (None,)
    best = best_of(Choice(cost, ratio, first.token_weight) for cost in costs for ratio in ratio_costs)
    # Among more texts than the search has read, the same C would regularise less.
    shrink = math.sqrt(len(read) / len(order))
    ratio_cost = best.ratio_cost and best.ratio_cost * shrink
    return dataclasses.replace(best, cost=best.cost * shrink, ratio_cost=ratio_cost)


def _of_classes(logits: np.ndarray) -> np.ndarray:
    """Returns the logits of all classes: of one decision, each of two classes has half of its logit."""
    return np.concatenate([-logits / 2, logits / 2], axis=1) if logits.shape[1] == 1 else logits


def _labels(problem: _Problem) -> np.ndarray:
    """Returns the class ids of the texts, int [n]; of several labels per text, int [n, classes] of 0 and 1."""
    if problem.several_labels:
        return problem.decisions.T.astype(int)
    return problem.decisions[0].astype(int) if len(problem.decisions) == 1 else problem.decisions.argmax(axis=0)


def _norms(occurrences: sparse.csr_matrix, ratios: np.ndarray) -> np.ndarray:
    """Returns the norm of each text's ratios: [n] of ratios [k], [n, decisions] of ratios [k, decisions]."""
    return np.maximum(np.sqrt(occurrences @ np.square(ratios)), _MIN_NORM)


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
    def of(cls, occurrences: sparse.csr_matrix, ratios: np.ndarray, fading: int = 4) -> "Weighted":
        """Returns the texts with these n-grams (1 where the text has it, [n, k])."""
        norm = _norms(occurrences, ratios)
        least = float(np.percentile(norm, _SHORT_TEXTS))
        trust = np.minimum(1, norm / least) ** fading
        scale = (trust / norm).astype(np.float32)
        data = ratios.astype(np.float32)[occurrences.indices] * np.repeat(scale, np.diff(occurrences.indptr))
        weighted = sparse.csr_matrix((data, occurrences.indices, occurrences.indptr), occurrences.shape)
        return cls(ratios, sparse.hstack([weighted, trust[:, None].astype(np.float32)], "csr"), least)


def _logits(occurrences, ratios, weights, bias, min_norm, prior, fading: int) -> np.ndarray:
    """Returns what `NGramLogits` computes, [n, decisions]."""
    norm = _norms(occurrences, ratios)
    trust = np.minimum(1, norm / np.maximum(min_norm, _MIN_NORM)) ** fading
    return trust * (occurrences @ (ratios * weights) / norm + bias) + (1 - trust) * prior


def fit_one(
    scaled: sparse.csr_matrix, is_class: np.ndarray, text_weight: np.ndarray | None, cost: float, seed: int
) -> tuple[np.ndarray, float]:
    """Fits one class against the others; returns (weights [k], bias)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if text_weight is not None and not text_weight.all():
        kept = text_weight > 0
        scaled, is_class, text_weight = scaled[kept], is_class[kept], text_weight[kept]
    if is_class.all() or not is_class.any():  # all texts have the label, or none: there is nothing to learn
        return np.zeros(scaled.shape[1] - 1), np.log(len(is_class) + 1.0) * (1 if is_class.all() else -1)
    # The time of the dual solver grows with the number of texts, not of n-grams.
    solver = LinearSVC(C=cost, tol=0.01, max_iter=2000, random_state=seed, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is close, which is enough
        solver.fit(scaled, is_class, text_weight)
    return solver.coef_[0, :-1], solver.coef_[0, -1]
