"""Fits a linear-chain conditional random field to sparse features of tokens, by L-BFGS. Imports no TensorFlow.

The log-likelihood of the tags y of one sentence x with the features F(x, t) of token t is

    s(x, y) - log sum_y' exp s(x, y')
    s(x, y) = start[y_1] + sum_t sum_(f in F(x, t)) w[f, y_t] + sum_t a[y_t, y_(t+1)] + end[y_T]

and the fit maximizes its sum over all sentences, minus c times the sum of the squares of all parameters. A weight
w[f, k] exists only where a training token with the feature f has the tag k, as in CRFsuite: that is a tenth of all.

A fit that continues from known parameters v0 subtracts c sum_i (1 + |v0_i|) (v_i - v0_i)^2 instead. The second factor
stands for the sentences of the earlier fit: where a feature has the same tag m times, its weight w has at the end
m (1 - p) = 2 c w, and the curvature of its log-likelihood, m p (1 - p), is 2 c w p.

Source: Lafferty, McCallum and Pereira 2001, "Conditional Random Fields"; Okazaki 2007, "CRFsuite".
"""

import time
from collections.abc import Sequence
from concurrent import futures
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from pipelines.support import blas, machine

_MAX_ITERATIONS = 60
_CURVATURE = 0.02  # of the loss along a parameter, for each time that it counts in training: a typical p (1 - p)
_CORRECTIONS = 6  # pairs of vectors from which L-BFGS estimates the curvature
_TOKENS_PER_CHUNK = 8_000
_FEATURES_PER_CHUNK = 50_000


class Weights(NamedTuple):
    """The parameters of a conditional random field of k tags.

    Attributes:
        features: w, a matrix of SciPy in compressed rows, float32 [features, k].
        transitions: a, float32 [k, k]; of a tag and the next one.
        start, end: float32 [k].
    """

    features: sparse.csr_matrix
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Rules(NamedTuple):
    """Which sequences of k tags are possible.

    Attributes:
        allowed: bool [k, k], which tags may follow which.
        allowed_start: bool [k], which tags a sentence may start with.
    """

    allowed: np.ndarray
    allowed_start: np.ndarray

    @classmethod
    def none(cls, num_tags: int) -> "Rules":
        """Returns that all are."""
        return cls(np.ones((num_tags, num_tags), bool), np.ones(num_tags, bool))

    @classmethod
    def of_spans(cls, tags: Sequence[str]) -> "Rules":
        """Returns that a tag I-x follows only B-x and I-x."""
        before = [None if not tag.startswith("I-") else (f"B-{tag[2:]}", tag) for tag in tags]
        allowed = [[of is None or tag in of for of in before] for tag in tags]
        return cls(np.array(allowed), np.array([of is None for of in before]))


def fit(
    features: sparse.csr_matrix,
    tags: np.ndarray,
    lengths: np.ndarray,
    rules: Rules,
    penalty: float,
    seconds: float | None = None,
    known: Weights | None = None,
) -> Weights:
    """Fits the parameters.

    Args:
        features: float32 [tokens, features], 1 where the token has the feature; the tokens of all sentences follow each
            other.
        tags: int [tokens].
        lengths: tokens of each sentence, int [sentences], each at least 1.
        rules: which sequences of tags are possible.
        penalty: c.
        seconds: the fit ends with the first iteration after this time; None: no limit.
        known: parameters to continue from, of the same features and tags.
    """
    problem = _Problem(features, tags, lengths, rules, penalty, known)
    # L-BFGS takes half as many iterations in variables along which the loss is about equally curved.
    scale = 1 / np.sqrt(2 * problem.penalties + _CURVATURE * problem.observed)
    ends_at = None if seconds is None else time.monotonic() + seconds

    def stop_in_time(intermediate_result) -> None:
        if ends_at is not None and time.monotonic() > ends_at:
            raise StopIteration

    with futures.ThreadPoolExecutor(machine.processor()["cores"]) as pool, blas.one_thread():

        def scaled(vector: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = problem.loss(scale * vector, pool)
            return loss, scale * gradient

        found = optimize.minimize(
            scaled,
            problem.start / scale,
            method="L-BFGS-B",
            jac=True,
            callback=stop_in_time,
            options={"maxiter": _MAX_ITERATIONS, "maxcor": _CORRECTIONS},
        )
    return problem.weights(scale * found.x)


class Potentials(NamedTuple):
    """The scores of the tags of some sentences, of k tags.

    Attributes:
        unary: of the tags of each token, float [tokens, k].
        transitions, start, end: see `Weights`.
    """

    unary: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


def log_likelihood(scores: Potentials, tags: np.ndarray, lengths: np.ndarray, rules: Rules) -> float:
    """Returns the sum of log p of the tags (int [tokens]) of sentences with these lengths."""
    unary, transitions, start, end = (np.asarray(each, np.float64) for each in scores)
    order = np.argsort(-lengths, kind="stable")
    first = np.cumsum(lengths) - lengths
    chunk = Chunk.of(first[order], lengths[order])
    allowed = np.where(rules.allowed, transitions, -np.inf), np.where(rules.allowed_start, start, -np.inf)
    log_z, _, _ = chunk.expectations(unary[chunk.tokens], *allowed, end)
    last = first + lengths - 1
    before = np.delete(np.arange(len(tags)), last)
    of_tags = unary[np.arange(len(tags)), tags].sum() + transitions[tags[before], tags[before + 1]].sum()
    return float(of_tags + start[tags[first]].sum() + end[tags[last]].sum() - log_z)


class _Problem:
    """The loss as a function of one vector: w of the pairs that occur, then a, start and end.

    Attributes:
        observed: how often each of these counts in the training sentences, float64 [parameters].
        start: the known parameters, or zeros; penalties: of the squared distances to them; float64 [parameters].
    """

    def __init__(self, features, tags, lengths, rules: Rules, penalty: float, known: Weights | None = None):
        k = len(rules.allowed_start)
        self._features, self._num_tags = features, k
        ends = np.cumsum(lengths)
        first, last = ends - lengths, ends - 1
        has_tag = sparse.csr_matrix((np.ones(len(tags), np.float32), tags, np.arange(len(tags) + 1)), (len(tags), k))
        self._by_feature = features.T.tocsr()
        counts = (self._by_feature @ has_tag).tocsr()  # how often each feature has each tag
        if known is not None:  # its pairs that do not occur count 0 times
            counts = _with_pairs(counts, known.features)
        counts.sort_indices()
        self._pairs, self._tags = counts, tags
        before = np.delete(np.arange(len(tags)), last)  # tokens with a next one
        transitions = np.zeros((k, k))
        np.add.at(transitions, (tags[before], tags[before + 1]), 1)
        observed = (
            counts.data,
            transitions,
            np.bincount(tags[first], minlength=k),
            np.bincount(tags[last], minlength=k),
        )
        self.observed = np.concatenate([np.ravel(each) for each in observed]).astype(np.float64)
        self.start = np.zeros(len(self.observed)) if known is None else self._vector(known)
        self.penalties = penalty * (1 + np.abs(self.start))
        self._rules = rules
        # Sentences of similar length are in a chunk: its recursions take as many steps as the longest one has tokens.
        order = np.argsort(-lengths, kind="stable")
        chunk = np.cumsum(lengths[order]) // _TOKENS_PER_CHUNK
        self._chunks = [
            Chunk.of(first[rows], lengths[rows]) for rows in np.split(order, np.flatnonzero(np.diff(chunk)) + 1)
        ]

    def _vector(self, weights: Weights) -> np.ndarray:
        """Returns the vector of parameters: the inverse of `weights`."""
        of_pairs = _with_pairs(weights.features, self._pairs)
        of_pairs.sort_indices()
        return np.concatenate([of_pairs.data, *map(np.ravel, weights[1:])]).astype(np.float64)

    def weights(self, vector: np.ndarray) -> Weights:
        """Returns the parameters of a vector."""
        k, pairs = self._num_tags, self._pairs
        of_pairs, transitions, start, end = np.split(vector.astype(np.float32), np.cumsum([pairs.nnz, k * k, k]))
        features = sparse.csr_matrix((of_pairs, pairs.indices, pairs.indptr), pairs.shape)
        return Weights(features, transitions.reshape(k, k), start, end)

    def loss(self, vector: np.ndarray, pool: futures.Executor) -> tuple[float, np.ndarray]:
        """Returns the negative log-likelihood with the penalty, and its gradient."""
        weights = self.weights(vector)
        dense = weights.features.toarray()  # [features, k]: the product with a sparse matrix would take longer
        scores = (
            np.where(self._rules.allowed, weights.transitions, -np.inf).astype(np.float64),
            np.where(self._rules.allowed_start, weights.start, -np.inf).astype(np.float64),
            weights.end.astype(np.float64),
        )
        marginals = np.empty((len(self._tags), self._num_tags), np.float32)

        def expect(chunk: Chunk) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
            unary = self._features[chunk.tokens] @ dense  # [tokens of the chunk, k]
            log_z, found, transitions = chunk.expectations(unary.astype(np.float64), *scores)
            marginals[chunk.tokens] = found
            return log_z, transitions, found[chunk.first].sum(0), found[chunk.last].sum(0)

        def expect_pairs(start: int) -> np.ndarray:
            rows = slice(start, start + _FEATURES_PER_CHUNK)
            of_tags = self._by_feature[rows] @ marginals
            pairs = self._pairs[rows]
            return of_tags[np.repeat(np.arange(len(of_tags)), np.diff(pairs.indptr)), pairs.indices]

        of_chunks = list(pool.map(expect, self._chunks))
        of_pairs = pool.map(expect_pairs, range(0, len(dense), _FEATURES_PER_CHUNK))
        log_z, *others = (sum(each) for each in zip(*of_chunks, strict=True))
        expected = np.concatenate([*of_pairs, *(np.ravel(each) for each in others)])
        moved = vector - self.start
        loss = log_z - vector @ self.observed + self.penalties @ moved**2
        return loss, expected - self.observed + 2 * self.penalties * moved


def _with_pairs(matrix: sparse.csr_matrix, pairs: sparse.csr_matrix) -> sparse.csr_matrix:
    """Returns a matrix that also has an element, if only 0, wherever `pairs` has one."""
    rows = np.concatenate([np.repeat(np.arange(each.shape[0]), np.diff(each.indptr)) for each in (matrix, pairs)])
    columns = np.concatenate([matrix.indices, pairs.indices])
    data = np.concatenate([matrix.data, np.zeros(pairs.nnz, matrix.dtype)])
    return sparse.coo_matrix((data, (rows, columns)), matrix.shape).tocsr()  # adds up what is at the same place


def decode(scores: Potentials, lengths: np.ndarray, rules: Rules) -> np.ndarray:
    """Returns the most probable tags of sentences with these lengths (Viterbi), int [tokens]."""
    transitions = np.where(rules.allowed, scores.transitions, -np.inf)
    order = np.argsort(-lengths, kind="stable")
    chunk = Chunk.of((np.cumsum(lengths) - lengths)[order], lengths[order])
    unary = scores.unary[chunk.tokens]
    best = unary[chunk.steps[0]] + np.where(rules.allowed_start, scores.start, -np.inf)  # [sentences, k]
    totals, previous = np.empty_like(unary), np.empty(unary.shape, np.int32)
    for t, places in enumerate(chunk.steps):
        if t:
            candidates = best[: len(places), :, None] + transitions
            previous[places] = candidates.argmax(axis=1)
            best = candidates.max(axis=1) + unary[places]
        totals[places] = best
    tags = np.empty(len(unary), np.int64)
    tags[chunk.last] = (totals[chunk.last] + scores.end).argmax(axis=1)
    for places in chunk.steps[:0:-1]:
        tags[places - 1] = previous[places, tags[places]]
    found = np.empty_like(tags)
    found[chunk.tokens] = tags
    return found


class Chunk(NamedTuple):
    """Some sentences of similar length, the longest first.

    Attributes:
        tokens: int [n], the places of their tokens among all, sentence after sentence.
        steps: for each t, int [sentences with more than t tokens], where the t-th token of each is in `tokens`.
        first, last: int [sentences], where the first and the last token of each is in `tokens`.
    """

    tokens: np.ndarray
    steps: list[np.ndarray]
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, first: np.ndarray, lengths: np.ndarray) -> "Chunk":
        """Returns the chunk of sentences by the place of their first tokens and their lengths, in descending order."""
        ends = np.cumsum(lengths)
        starts = ends - lengths
        within = np.arange(ends[-1]) - np.repeat(starts, lengths)
        tokens = np.repeat(first, lengths) + within
        num_with = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")  # sentences with more than t tokens
        return cls(tokens, [starts[:n] + t for t, n in enumerate(num_with)], starts, ends - 1)

    def expectations(
        self, unary: np.ndarray, transitions: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Computes what the tags of the sentences are expected to be, by the forward-backward algorithm.

        The messages are probabilities, scaled at each token.

        Args:
            unary: scores of the tags of each token, float64 [n, k].
            transitions: float64 [k, k]; start, end: float64 [k]. -inf forbids.

        Returns:
            (The sum of log Z over the sentences; the probability of each tag of each token, [n, k]; the expected number
            of each pair of neighbouring tags, [k, k].)
        """
        largest = unary.max(axis=1, keepdims=True)
        unary = np.exp(unary - largest)
        shift = transitions.max()
        steps = np.exp(transitions - shift)
        forward, scale = np.empty_like(unary), np.empty(len(unary))
        message = unary[self.steps[0]] * np.exp(start - start.max())
        for t, places in enumerate(self.steps):
            if t:
                message = (message[: len(places)] @ steps) * unary[places]
            scale[places] = message.sum(axis=1)
            message = message / scale[places, None]
            forward[places] = message
        ends = np.exp(end - end.max())
        total = forward[self.last] @ ends  # [sentences]
        log_z = np.log(scale).sum() + largest.sum() + np.log(total).sum()
        log_z += len(total) * (start.max() + end.max()) + (len(unary) - len(total)) * shift
        backward = np.empty_like(unary)
        backward[self.last] = ends / total[:, None]
        following = np.zeros_like(unary)  # what the next token says, at its place
        for t in range(len(self.steps) - 1, 0, -1):
            places = self.steps[t]
            following[places] = backward[places] * unary[places] / scale[places, None]
            backward[self.steps[t - 1][: len(places)]] = following[places] @ steps.T
        before = np.delete(np.arange(len(unary)), self.last)
        pairs = (forward[before].T @ following[before + 1]) * steps
        return float(log_z), forward * backward, pairs
