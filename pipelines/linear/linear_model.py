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
With an encoder there is a fourth, logistic regression on its vectors (vector_model.py), whose logits are added, too.

Which C is best, how much each classifier counts, and how much n-grams of tokens weigh beside those of characters,
differs from data to data. All are chosen by the loss on training texts that no model was fitted to.

The problem of the support vector machine is convex, and a solver of scikit-learn finds its solution in seconds. Adam
does not: its steps have the same size for rare and for frequent n-grams.
"""

import dataclasses
import functools
import math
import time
from typing import Protocol

import numpy as np

from layers import NGramLogits
from pipelines.labelled.calibration import fit_factors
from pipelines.linear.linear_problem import (
    Fitted,
    Known,
    Problem,
    compute_logits,
    inverse_frequencies_of,
    log_count_ratios_of,
)
from pipelines.linear.ngrams import Counted, with_repeats
from pipelines.pretrained import vector_model
from pipelines.pretrained.vector_model import Vectors
from pipelines.support import console
from pipelines.support.numbers import minutes

_FOLDS = 3  # of the search
_MANY_TEXTS = 3000  # from which on the search leaves out one fold alone
_MAX_OCCURRENCES = 12_000_000  # of n-grams in texts that the search reads
_TOKEN_WEIGHTS = (1.0, 2.0, 4.0)  # of n-grams of tokens; those of characters weigh 1
_REPEATS = (0.0, 1.0)  # whether a repeated n-gram weighs more, as its logarithm: see `NGramLogits`
_MANY_REPEATS = 0.15  # mean logarithm of the counts, from which on that is searched: sentences have .05 to .11
_FIRST_COST = 1.0  # C with inverse frequencies that these are compared with
_COSTS = (0.3, 1.0, 3.0, 10.0)  # C with inverse frequencies
_COSTS_OF_MANY_CLASSES = (1.0, 3.0)  # where there is one weighting
_RATIO_COSTS = (0.3, 1.0)  # C with log-count ratios
_RATIO_COSTS_OF_CONTINUED = (0.3, 1.0, 3.0)  # of a fit that continues from a known model
_FEW_TEXTS = 1500  # below, a tenth more of them changes which settings are best
_LEAST_FACTOR = 0.4  # of the first classifier: where left out texts are too few to show that it helps, it still answers


class KnownModel(Protocol):
    """The linear model that a fit continues from.

    Attributes:
        bias: float32 [weightings, classes].
    """

    bias: np.ndarray

    def known(self, hashes: np.ndarray, one_decision: bool) -> Known:
        """Returns it with these n-grams, int32 [k], ascending; of one decision between two classes, or of each."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the search chooses.

    Attributes:
        cost: C with inverse frequencies.
        ratio_cost: C with log-count ratios; None leaves them out.
        token_weight: of n-grams of tokens, beside those of characters.
        factors: of the logits of the support vector machines with inverse frequencies, of complement naive Bayes, and
            of the support vector machines with log-count ratios.
        vector_cost, vector_factor: C of the logistic regression on an encoder's vectors, and the factor of its logits.
        losses: with an encoder, the mean log loss of left out texts by "n-grams", "encoder" and "both".
        repeats: how much more an n-gram weighs that a text has several times, see `NGramLogits`.
    """

    cost: float
    ratio_cost: float | None = None
    token_weight: float = 1.0
    factors: tuple[float, float, float] = (1.0, 0.0, 0.0)
    repeats: float = 0.0
    vector_cost: float | None = None
    vector_factor: float = 0.0
    losses: dict[str, float] | None = None


def fit(
    layer: NGramLogits,
    counted: Counted,
    labels: np.ndarray,
    text_weight: np.ndarray | None,
    seed: int,
    choice: Choice | None = None,
    start: KnownModel | None = None,
    vectors: Vectors | None = None,
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
        start: the model that the fit continues from; `counted` has its n-grams, and it knows all classes.
        vectors: of the texts by an encoder, and the layer that reads them.

    Returns:
        The choice; None if there are no n-grams: all logits stay zero.
    """
    if not len(counted.hashes):
        return None
    num_classes = labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1
    if start:  # there may be no text of a class that it knows
        num_classes = start.bias.shape[1]
    problem = Problem.of(layer, counted, labels, text_weight, num_classes, seed)
    if start:
        problem = dataclasses.replace(problem, known=start.known(counted.hashes, len(problem.decisions) == 1))
    if vectors:
        problem = dataclasses.replace(problem, vectors=vectors.rows)
    if choice is None:
        choice = choose(problem, problem.occurrences.nnz)
    fitted = fit_all(problem.with_repeats(choice.repeats), choice)
    put(layer, counted.hashes, fitted, choice, problem.prior())
    if vectors and choice.vector_cost:
        of_vectors = problem.fit_vectors(choice.vector_cost).of_classes()
        vectors.layer.set_weights([choice.vector_factor * values for values in of_vectors])
    return choice


def kept(choice: Choice | None, num_texts: int) -> Choice | None:
    """Returns the settings for a fit to more texts than they were chosen on; None: they are chosen again, of few."""
    return None if num_texts < _FEW_TEXTS else choice


def fit_all(problem: Problem, choice: Choice) -> Fitted:
    """Fits all classifiers of all decisions to a problem with the repeats of `choice`."""
    # The model takes the mean of the weightings.
    of_machine, of_bayes, of_ratios = (problem.num_weightings * factor for factor in choice.factors)
    weight = choice.token_weight
    first = problem.fit(inverse_frequencies_of, choice.cost, weight, of_machine)
    np.add(first.weights, of_bayes * problem.bayes(weight).weights, out=first.weights)
    if problem.num_weightings == 1:
        return first
    second = problem.fit(log_count_ratios_of, choice.ratio_cost, weight, of_ratios)
    return Fitted(*(np.concatenate(values, axis=-1) for values in zip(first, second, strict=True)))


def put(layer: NGramLogits, hashes: np.ndarray, fitted: Fitted, choice: Choice, prior: np.ndarray) -> None:
    """Puts the weights into `layer`.

    Args:
        hashes: of the n-grams.
        fitted: of `fit_all`, with `choice`.
        prior: see `Problem.prior`.
    """
    ratios, weights, bias, min_norm = fitted
    num_decisions = len(prior)
    num_weightings = len(bias) // num_decisions
    num_used = 2 if choice.ratio_cost else 1  # of the weightings; the logits of the others are zero
    prior = np.repeat([num_weightings / num_used, 0], [num_used, num_weightings - num_used])[:, None] * prior
    prior = prior.reshape(-1)
    if layer.num_classes == 2 * len(bias):  # one decision between two classes: each gets half of its logit
        half = np.tile(np.float32([-0.5, 0.5]), num_weightings)
        ratios, min_norm = np.repeat(ratios, 2, -1), np.repeat(min_norm, 2)
        weights, bias, prior = (np.repeat(each, 2, -1) * half for each in (weights, bias, prior))
    layer.set_ngrams(hashes, ratios, weights, bias, min_norm, prior, choice.repeats)


def _describe(choice: Choice) -> str:
    bayes = ", naive Bayes" * (choice.factors[1] > 0)
    ratios = f", naive Bayes ratios (C {choice.ratio_cost:.2g})" if choice.ratio_cost else ""
    repeats = ", and repeated ones more than others" * (choice.repeats > 0)
    vectors = f"; vectors of the encoder (C {choice.vector_cost:.2g})" if choice.vector_factor else ""
    if choice.losses:
        vectors += "; log loss of left out texts: " + ", ".join(f"{k} {loss:.3f}" for k, loss in choice.losses.items())
    return (
        f"  chosen on texts left out of the fit: inverse frequencies (C {choice.cost:.2g}){bayes}{ratios}; n-grams of "
        f"words weigh {choice.token_weight:g} times those of characters{repeats}{vectors}"
    )


def choose(problem: Problem, size: int) -> Choice:
    """Chooses by the loss on texts that were left out of a fit; says what, and how long the fit takes, if minutes.

    Args:
        size: number of n-grams in the texts of the fit.
    """
    choice, seconds = _choose(problem)
    console.say(_describe(choice))
    if expected := minutes(seconds * size):
        console.say(f"expected: about {expected} for the fit")
    return choice


def _choose(problem: Problem) -> tuple[Choice, float]:
    """Chooses by the loss on texts that were left out of a fit, and the factor of the logits with it.

    First how much n-grams of tokens weigh; in long texts, whether repeated ones weigh more; then the costs and the
    share of the log-count ratios.

    Returns:
        (The choice, seconds that the fit of the chosen classifiers takes for each n-gram of a text).
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
    first, known = Choice(_FIRST_COST), problem.known
    if known:  # what its weights mean is given
        first = Choice(
            _FIRST_COST, _FIRST_COST if known.has_ratios else None, known.token_weight, repeats=known.repeats
        )
    if not left_out.text_weight.any():
        return first, 0.0
    logits_of_vectors = {}  # C -> [texts, classes]
    for cost in vector_model.COSTS if problem.vectors is not None else ():
        parts = [fit.fit_vectors(cost).logits(problem.vectors[fold]) for fit, fold in zip(fitted, folds, strict=True)]
        logits_of_vectors[cost] = _of_classes(np.concatenate(parts))
    seconds = {}  # of the fits of each weighting and cost

    @functools.cache
    def parts_of(repeats: float) -> list:  # of each fold, the problem and what is left out
        left_out = (with_repeats(problem.occurrences[fold], repeats) for fold in folds)
        return list(zip([fit.with_repeats(repeats) for fit in fitted], left_out, strict=True))

    @functools.cache
    def logits_of(weigh, cost: float | None, token_weight: float, repeats: float) -> np.ndarray:  # [texts, classes]
        parts, started = [], time.monotonic()
        for fit, occurrences in parts_of(repeats):
            if cost is None:
                values, prior = fit.bayes(token_weight), 0.0
            else:
                values, prior = fit.fit(weigh, cost, token_weight), fit.prior()
            parts.append(compute_logits(occurrences, *values, prior, problem.fading))
        seconds[weigh, cost] = time.monotonic() - started
        return _of_classes(np.concatenate(parts))

    labels = _labels(left_out)

    def members_of(choice: Choice) -> list[tuple]:
        members = [(inverse_frequencies_of, choice.cost), (inverse_frequencies_of, None)]
        return members + ([(log_count_ratios_of, choice.ratio_cost)] if choice.ratio_cost else [])

    def loss_of(choice: Choice) -> tuple[float, Choice]:
        logits = [logits_of(*member, choice.token_weight, choice.repeats) for member in members_of(choice)]
        vectors = [logits_of_vectors[choice.vector_cost]] if choice.vector_cost else []
        factors, loss = fit_factors(np.stack(logits + vectors), labels, weight=left_out.text_weight)
        factors, of_vectors = factors[: len(logits)], float(factors[len(logits) :].sum())
        factors[0] = max(factors[0], 0.0 if of_vectors else _LEAST_FACTOR)
        factors = tuple(np.pad(factors, (0, 3 - len(factors))).tolist())
        return loss, dataclasses.replace(choice, factors=factors, vector_factor=of_vectors)

    def best_of(choices) -> Choice:
        return min(map(loss_of, choices), key=lambda pair: pair[0])[1]

    ratio_costs: tuple[float | None, ...]
    if known:
        ratio_costs = _RATIO_COSTS_OF_CONTINUED if known.has_ratios else (None,)
    else:
        first = best_of(Choice(_FIRST_COST, token_weight=token_weight) for token_weight in _TOKEN_WEIGHTS)
        if np.log(problem.occurrences.data).mean() >= _MANY_REPEATS:
            first = best_of(dataclasses.replace(first, repeats=repeats) for repeats in _REPEATS)
        ratio_costs = (None, *_RATIO_COSTS) if problem.num_weightings == 2 else (None,)
    costs = _COSTS if problem.num_weightings == 2 else _COSTS_OF_MANY_CLASSES
    best = best_of(dataclasses.replace(first, cost=cost, ratio_cost=ratio) for cost in costs for ratio in ratio_costs)
    if logits_of_vectors:
        found = [fit_factors(each[None], labels, weight=left_out.text_weight)[1] for each in logits_of_vectors.values()]
        losses = {"n-grams": loss_of(best)[0], "encoder": min(found)}
        best = best_of(dataclasses.replace(best, vector_cost=cost) for cost in logits_of_vectors)
        losses["both"] = loss_of(best)[0]
        total = float(left_out.text_weight.sum())
        best = dataclasses.replace(best, losses={name: loss / total for name, loss in losses.items()})
    # Among more texts than the search has read, the same C would regularise less.
    shrink = math.sqrt(len(read) / len(order))
    ratio_cost = best.ratio_cost and best.ratio_cost * shrink
    chosen = dataclasses.replace(best, cost=best.cost * shrink, ratio_cost=ratio_cost)
    spent = sum(seconds[member] for member in members_of(best))
    return chosen, spent / sum(fit.occurrences.nnz for fit in fitted)


def _of_classes(logits: np.ndarray) -> np.ndarray:
    """Returns the logits of all classes: of one decision, each of two classes has half of its logit."""
    return np.concatenate([-logits / 2, logits / 2], axis=1) if logits.shape[1] == 1 else logits


def _labels(problem: Problem) -> np.ndarray:
    """Returns the class ids of the texts, int [n]; of several labels per text, int [n, classes] of 0 and 1."""
    if problem.several_labels:
        return problem.decisions.T.astype(int)
    return problem.decisions[0].astype(int) if len(problem.decisions) == 1 else problem.decisions.argmax(axis=0)
