"""Fits an `NGramLogits` layer: weights each n-gram in two ways, and fits a linear classifier to either weighting.

The weightings are the inverse document frequency, the same for all classes, and the naive Bayes log-count ratio of each
class (Wang and Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification"). For each class
and weighting, a linear support vector machine minimizes

    |w|^2 / 2 + C sum_i max(0, 1 - y_i (w x_i + b))^2,    y_i = 1 for texts of the class, -1 for others

Which C is best, and whether the second weighting helps, differs from data to data. Both are chosen by the loss on
training texts that a model was not fitted to, and the logits are multiplied by the factor with the lowest loss there
(Guo et al. 2017, "On Calibration of Modern Neural Networks").

The problem is convex, and a solver of scikit-learn finds its solution in seconds. Adam does not: its steps have the
same size for rare and for frequent n-grams.
"""

import dataclasses
import warnings

import numpy as np
from scipy import optimize, sparse

from layers import NGramLogits
from pipelines.classification.ngrams import Counted, inverse_frequencies
from pipelines.support import console

_SMOOTHING = 1.0  # added to every count
_MIN_NORM = 1e-6
_SHORT_TEXTS = 4  # percent of the training texts, the ones with the smallest norm, that get smaller logits
_FOLDS = 3  # of the search
_MAX_OCCURRENCES = 4_000_000  # of n-grams in texts that the search reads
_COSTS = (1.0, 3.0, 10.0)  # C with inverse frequencies
_COST_OF_MANY_CLASSES = 3.0  # where there is one weighting
_RATIO_COSTS = (0.3, 1.0)  # C with log-count ratios
_RATIO_SHARES = (0.5, 1.0)  # of their logits, beside those with inverse frequencies
_LOG_FACTORS = (-1.0, 3.5)  # between which the logarithm of the factor of the logits is searched


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the search chooses.

    Attributes:
        cost: C with inverse frequencies.
        ratio_cost: C with log-count ratios; None leaves them out.
        ratio_share: of the logits with log-count ratios, beside those with inverse frequencies.
        factor: of all logits.
    """

    cost: float
    ratio_cost: float | None = None
    ratio_share: float = 0.0
    factor: float = 1.0


def fit(
    layer: NGramLogits,
    counted: Counted,
    labels: np.ndarray,
    class_weight: dict[int, float] | None,
    seed: int,
    choice: Choice | None = None,
) -> Choice | None:
    """Fits the weights of n-grams, and puts both into `layer`.

    Args:
        layer: its logits are those of all classes with the first weighting, then, if the layer has twice as many
            logits as there are classes, those with the second. The logits of the model are their mean.
        counted: the n-grams of the training texts.
        labels: int [n], class ids; every class has a text. Of several labels per text, int [n, classes] of 0 and 1.
        class_weight: weight of the texts of each class.
        seed: of the order in which the solver visits the texts, and of the folds.
        choice: None: it is chosen here.

    Returns:
        The choice; None if there are no n-grams: all logits stay zero.
    """
    if not len(counted.hashes):
        return None
    text_weight = None if class_weight is None else np.array([class_weight[label] for label in labels.tolist()])
    num_classes = labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1
    one_decision = num_classes == 2 and labels.ndim == 1
    is_class = labels.T == 1 if labels.ndim == 2 else labels == np.arange(num_classes)[:, None]  # [classes, n]
    decisions = is_class[1:] if one_decision else is_class
    num_weightings = layer.num_classes // num_classes
    problem = _Problem(counted.occurrences, counted.scale, decisions, text_weight, seed)
    if choice is None:
        choice = _choose(problem, has_ratios=num_weightings == 2, several_labels=labels.ndim == 2)
        console.say(_describe(choice))
    factor = num_weightings * choice.factor  # the model takes the mean of the weightings
    columns = [problem.fit(inverse_frequencies, choice.cost, factor)]
    if num_weightings == 2:
        columns.append(problem.fit(_log_count_ratios, choice.ratio_cost, factor * choice.ratio_share))
    ratios, weights, bias, min_norm = (np.concatenate(values, axis=-1) for values in zip(*columns, strict=True))
    if one_decision:  # each class gets half of its logit
        half = np.tile(np.float32([-0.5, 0.5]), len(columns))
        ratios, min_norm = np.repeat(ratios, 2, -1), np.repeat(min_norm, 2)
        weights, bias = np.repeat(weights, 2, -1) * half, np.repeat(bias, 2) * half
    layer.set_ngrams(counted.hashes, ratios, weights, bias, min_norm)
    return choice


def _describe(choice: Choice) -> str:
    ratios = f" and naive Bayes ratios (C {choice.ratio_cost:g})" if choice.ratio_cost else ""
    return f"  chosen on texts left out of the fit: inverse frequencies (C {choice.cost:g}){ratios}"


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
        scale: float [k], of the n-grams.
        decisions: bool [decisions, n], the texts of the class against the others.
        text_weight: float [n].
        seed: of the solver and the folds.
    """

    occurrences: sparse.csr_matrix
    scale: np.ndarray
    decisions: np.ndarray
    text_weight: np.ndarray | None
    seed: int

    def rows(self, chosen: np.ndarray) -> "_Problem":
        """Returns the problem of some of the texts."""
        weight = None if self.text_weight is None else self.text_weight[chosen]
        return dataclasses.replace(
            self, occurrences=self.occurrences[chosen], decisions=self.decisions[:, chosen], text_weight=weight
        )

    def fit(self, weigh, cost: float | None, factor: float = 1.0) -> tuple[np.ndarray, ...]:
        """Fits each decision.

        Args:
            weigh: inverse_frequencies or _log_count_ratios.
            cost: C; None gives weights of zero.
            factor: of the weights and biases.

        Returns:
            (ratios [k, decisions], weights [k, decisions], bias [decisions], the norm below which texts get smaller
            logits [decisions]), float32.
        """
        shape = (len(self.scale), len(self.decisions))
        ratios, weights, bias, min_norm = np.zeros(shape, np.float32), np.zeros(shape, np.float32), [], []
        if cost is None:
            return ratios, weights, np.zeros(shape[1], np.float32), np.zeros(shape[1], np.float32)
        scaled = None
        for i, is_class in enumerate(self.decisions):
            if scaled is None or weigh is _log_count_ratios:  # inverse frequencies are the same for all classes
                ratios_of_class = self.scale * weigh(self.occurrences, is_class)
                norm = _norms(self.occurrences, ratios_of_class)
                least = np.percentile(norm, _SHORT_TEXTS)
                scaled = _scaled(self.occurrences, ratios_of_class, norm, least)
            coefficients, constant = _fit_one(scaled, is_class, self.text_weight, cost, self.seed)
            ratios[:, i], weights[:, i] = ratios_of_class, coefficients * factor
            bias.append(constant * factor)
            min_norm.append(least)
        return ratios, weights, np.float32(bias), np.float32(min_norm)


def _choose(problem: _Problem, has_ratios: bool, several_labels: bool) -> Choice:
    """Chooses by the loss on texts that were left out of a fit, and the factor of the logits with it."""
    rng = np.random.default_rng(problem.seed)
    order = rng.permutation(problem.occurrences.shape[0])
    lengths = np.diff(problem.occurrences.indptr)[order]
    order = order[: max(_FOLDS, int(np.searchsorted(np.cumsum(lengths), _MAX_OCCURRENCES)))]
    costs = _COSTS if has_ratios else (_COST_OF_MANY_CLASSES,)
    fits = {(inverse_frequencies, cost): [] for cost in costs}
    if has_ratios:
        fits |= {(_log_count_ratios, cost): [] for cost in _RATIO_COSTS}
    folds = np.array_split(order, _FOLDS)
    weight = np.ones(len(problem.decisions.T)) if problem.text_weight is None else problem.text_weight.copy()
    for fold in folds:
        fitted = problem.rows(np.setdiff1d(order, fold, assume_unique=True))
        if len(problem.decisions) > 1 and not several_labels:
            # The right answer is none that a fit without a text of the class can give.
            weight[fold] *= fitted.decisions.any(axis=1)[problem.decisions[:, fold].argmax(axis=0)]
        for (weigh, cost), logits in fits.items():
            logits.append(_logits(problem.occurrences[fold], *fitted.fit(weigh, cost)))
    left_out = dataclasses.replace(problem, text_weight=weight).rows(np.concatenate(folds))
    if not left_out.text_weight.any():
        return Choice(costs[0])
    logits_of = {key: np.concatenate(values) for key, values in fits.items()}  # [n, decisions]
    best, least = Choice(costs[0]), np.inf
    for cost in costs:
        for ratio_cost, share in [(None, 0.0), *((c, s) for c in _RATIO_COSTS * has_ratios for s in _RATIO_SHARES)]:
            logits = logits_of[inverse_frequencies, cost]
            if ratio_cost:
                logits = logits + share * logits_of[_log_count_ratios, ratio_cost]
            found = optimize.minimize_scalar(
                lambda log_factor, logits=logits: _loss(np.exp(log_factor) * logits, left_out, several_labels),
                bounds=_LOG_FACTORS,
                method="bounded",
                options={"xatol": 0.05},
            )
            if found.fun < least:
                least, best = found.fun, Choice(cost, ratio_cost, share, float(np.exp(found.x)))
    return best


def _loss(logits: np.ndarray, problem: _Problem, several_labels: bool) -> float:
    """Cross-entropy per text: of a softmax, or of a sigmoid for each decision."""
    if several_labels or len(problem.decisions) == 1:
        signed = np.where(problem.decisions.T, logits, -logits)
        losses = np.logaddexp(0, -signed).sum(axis=1)
    else:
        shifted = logits - logits.max(axis=1, keepdims=True)
        losses = (
            np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(shifted)), problem.decisions.argmax(axis=0)]
        )
    return float(np.average(losses, weights=problem.text_weight))


def _norms(occurrences: sparse.csr_matrix, ratios: np.ndarray) -> np.ndarray:
    """Returns the norm of each text's ratios: [n] of ratios [k], [n, decisions] of ratios [k, decisions]."""
    return np.maximum(np.sqrt(occurrences @ np.square(ratios)), _MIN_NORM)


def _scaled(occurrences: sparse.csr_matrix, ratios: np.ndarray, norm: np.ndarray, least: float) -> sparse.csr_matrix:
    """Returns the rows that `NGramLogits` multiplies by the weights, float32 [n, k]."""
    scale = (np.minimum(1, np.square(norm / least)) / norm).astype(np.float32)
    data = ratios.astype(np.float32)[occurrences.indices] * np.repeat(scale, np.diff(occurrences.indptr))
    return sparse.csr_matrix((data, occurrences.indices, occurrences.indptr), occurrences.shape)


def _logits(occurrences, ratios, weights, bias, min_norm) -> np.ndarray:
    """Returns what `NGramLogits` computes, [n, decisions]."""
    norm = _norms(occurrences, ratios)
    scale = np.minimum(1, np.square(norm / np.maximum(min_norm, _MIN_NORM))) / norm
    return (occurrences @ (ratios * weights)) * scale + bias


def _fit_one(
    scaled: sparse.csr_matrix, is_class: np.ndarray, text_weight: np.ndarray | None, cost: float, seed: int
) -> tuple[np.ndarray, float]:
    """Fits one class against the others; returns (weights [k], bias)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if is_class.all() or not is_class.any():  # all texts have the label, or none: there is nothing to learn
        return np.zeros(scaled.shape[1]), np.log(len(is_class) + 1.0) * (1 if is_class.all() else -1)
    # The time of the dual solver grows with the number of texts, not of n-grams.
    solver = LinearSVC(C=cost, tol=0.01, max_iter=2000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is close, which is enough
        solver.fit(scaled, is_class, text_weight)
    return solver.coef_[0], solver.intercept_[0]
