"""The linear model of a tagger: counts the features of the training tokens, and solves for their weights."""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import CRF, TokenFeatureLogits
from layers.known_ngrams import NO_HASH
from pipelines.data.tag_schemes import is_spans
from pipelines.runs import continuing
from pipelines.support import console, machine
from pipelines.support.errors import UserError
from pipelines.tagging import crf_solver
from pipelines.tagging.batches import EncodedSentences, token_encoder
from pipelines.tagging.config import PENALTY, TaggingConfig
from pipelines.tagging.crf_solver import Potentials, Rules, Weights
from pipelines.tagging.features import TokenFeatures
from pipelines.tagging.hashed import NUM_HASHES, TEMPLATES
from pipelines.tagging.hidden_markov import Sentences
from pipelines.tagging.networks import LINEAR_LOGITS

_ROWS_AT_ONCE = 100
_MAX_FEATURES = 1_000_000
_BYTES_PER_SCORE = 60  # that a fit takes at most for each tag of each token, and for each tag of each feature


class Counted(NamedTuple):
    """The features of the training tokens.

    Attributes:
        hashes: int32 [k], ascending, those of `TokenFeatureLogits.hash_features`.
        occurrences: float32 [tokens, k + 1], 1 where the token has the feature; every token has the last one.
        num_weights: number of pairs of a feature and a tag that occur.
    """

    hashes: np.ndarray
    occurrences: sparse.csr_matrix
    num_weights: int


class Known(NamedTuple):
    """A linear model to continue from.

    Attributes:
        hashes: of its features, int32 [k], ascending.
        weights: of these features and last of the feature that every token has: see `crf_solver.Weights`.
    """

    hashes: np.ndarray
    weights: Weights

    @classmethod
    def of_run(cls, config: TaggingConfig, num_tags: int, crf: str) -> "Known":
        """Returns the linear model of the run to continue from, whose tags are the first of `num_tags`.

        Args:
            crf: name of the layer with its transitions.

        Raises:
            UserError: the run is damaged, or an older version trained it.
        """
        arrays = continuing.weights_of(config)
        names = ("hashes", "starts", "tags", "values", "bias")
        if not {f"{LINEAR_LOGITS}/{name}" for name in names} <= set(arrays):
            raise UserError("--from: an older version of Unroll trained that model: train again on all texts")
        hashes, starts, tags, values, bias = (arrays[f"{LINEAR_LOGITS}/{name}"] for name in names)
        new = num_tags - len(bias)
        num_used = int(np.count_nonzero(hashes != NO_HASH))  # the others are at the end
        end = starts[num_used]
        features = sparse.csr_matrix((values[:end], tags[:end], starts[: num_used + 1]), (num_used, num_tags))
        of_all = sparse.csr_matrix(np.pad(bias, (0, new))[None])
        features = sparse.vstack([features, of_all], format="csr")
        transitions = np.pad(arrays[f"{crf}/transitions"], (0, new))
        start, last = (np.pad(arrays[f"{crf}/{name}"], (0, new)) for name in ("start", "end"))
        return cls(hashes[:num_used], Weights(features, transitions, start, last))

    def at(self, hashes: np.ndarray) -> Weights:
        """Returns the parameters with these features, among which are all of its own: int32 [n], ascending."""
        rows = np.append(np.searchsorted(hashes, self.hashes), len(hashes))
        features = self.weights.features.tocoo()
        shape = len(hashes) + 1, features.shape[1]
        placed = sparse.csr_matrix((features.data, (rows[features.row], features.col)), shape)
        return self.weights._replace(features=placed)


def count(encoded: EncodedSentences, num_tags: int, known: Known | None = None) -> Counted:
    """Counts the features of the training tokens, with `hashes` among the inputs.

    Args:
        known: the model to continue from, whose features and weights are counted, too.

    Raises:
        UserError: there is too little memory for the fit.
    """
    hashes = _hash_features(encoded.inputs["hashes"], encoded.lengths)
    counted = _count(hashes, encoded.tags, num_tags, known)
    expected, free = _BYTES_PER_SCORE * num_tags * max(len(hashes), len(counted.hashes)), machine.free_memory()
    if free is not None and expected > free:
        raise UserError(
            f"--model linear: {num_tags:,} tags of {len(hashes):,} tokens take about {expected / 1e9:.1f} GB of "
            f"memory, and {free / 1e9:.1f} GB are free: train a network (--model lstm), or leave out rare tags"
        )
    return counted


def fit(
    layer: TokenFeatureLogits,
    crf: CRF,
    counted: Counted,
    encoded: EncodedSentences,
    penalty: float,
    seconds: float | None = None,
    known: Known | None = None,
) -> None:
    """Fits the weights of the features and of the transitions, and puts them into the layers.

    Args:
        counted: of `count`.
        penalty, seconds: see `crf_solver.fit`.
        known: the model to continue from.
    """
    console.say(f"fitting {counted.num_weights:,} weights of the linear model ...")
    has_rules = crf.allowed is not None
    given = Rules(np.array(crf.allowed), np.array(crf.allowed_start)) if has_rules else Rules.none(layer.num_tags)
    start = known.at(counted.hashes) if known else None
    found = crf_solver.fit(counted.occurrences, encoded.tags, encoded.lengths, given, penalty, seconds, start)
    layer.set_features(counted.hashes, found.features[:-1], found.features[-1].toarray()[0])
    crf.transitions.assign(found.transitions)
    crf.start.assign(found.start)
    crf.end.assign(found.end)


def fit_and_tag(train_tokens: Sentences, train_tags: Sentences, tokens: Sentences) -> list[list[str]]:
    """Fits the linear model to some sentences, and tags others.

    Args:
        train_tokens, train_tags: the training sentences, at least one, none of them empty.
        tokens: sentences to tag.
    """
    names = sorted(set(itertools.chain.from_iterable(train_tags)))
    ids = {name: i for i, name in enumerate(names)}
    tags = np.array([ids[tag] for tag in itertools.chain.from_iterable(train_tags)])
    rules = Rules.of_spans(names) if is_spans(names) else Rules.none(len(names))
    encode = token_encoder(TokenFeatures("whitespace", [], [], 0, 0, reads=("hashes",)))

    def hashes_and_lengths(sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.array([len(each) for each in sentences])
        return _hash_features(encode(sentences)["hashes"], lengths), lengths

    hashes, lengths = hashes_and_lengths(train_tokens)
    counted = _count(hashes, tags, len(names))
    weights = crf_solver.fit(counted.occurrences, tags, lengths, rules, PENALTY)
    others = [each for each in tokens if len(each)]
    if not others:
        return [[] for _ in tokens]
    hashes, lengths = hashes_and_lengths(others)
    unary = _occurrences(hashes, counted.hashes) @ weights.features.toarray()  # [tokens, tags]
    found = crf_solver.decode(Potentials(unary, weights.transitions, weights.start, weights.end), lengths, rules)
    found = np.split([names[i] for i in found], np.cumsum(lengths)[:-1])
    of_others = (each.tolist() for each in found)
    return [next(of_others) if len(each) else [] for each in tokens]


@functools.cache
def _hasher() -> Callable[[tf.Tensor], tf.Tensor]:
    """The function `TokenFeatureLogits.hash_features` as a graph."""
    signature = [tf.TensorSpec([None, None, NUM_HASHES], tf.int32)]
    return tf.function(TokenFeatureLogits(1, 1, 1, TEMPLATES).hash_features, input_signature=signature, autograph=False)


def _hash_features(hashes: tf.Tensor, lengths: np.ndarray) -> np.ndarray:
    """Returns the hashes of the features of all tokens, int32 [tokens, templates].

    Args:
        hashes: of the tokens, int32 [tokens, NUM_HASHES].
        lengths: tokens of each row, int [rows].
    """
    hash_rows = _hasher()
    rows = tf.RaggedTensor.from_row_lengths(hashes, lengths)
    found = []
    for start in range(0, len(lengths), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        found.append(tf.boolean_mask(hash_rows(part.to_tensor()), tf.sequence_mask(part.row_lengths())).numpy())
    return np.concatenate(found)


def _count(hashes: np.ndarray, tags: np.ndarray, num_tags: int, of_run: Known | None = None) -> Counted:
    known, counts = np.unique(hashes[hashes >= 0], return_counts=True)  # a negative hash stands for no feature
    known = np.sort(known[np.argsort(-counts, kind="stable")[:_MAX_FEATURES]])
    known = known if of_run is None else np.union1d(known, of_run.hashes)
    occurrences = _occurrences(hashes, known)
    token = np.repeat(np.arange(len(hashes)), np.diff(occurrences.indptr))
    pairs = np.unique(occurrences.indices.astype(np.int64) * num_tags + tags[token])
    if of_run is not None:
        features = of_run.at(known).features.tocoo()
        pairs = np.union1d(pairs, features.row.astype(np.int64) * num_tags + features.col)
    return Counted(known, occurrences, int(np.searchsorted(pairs, len(known) * num_tags)))


def _occurrences(hashes: np.ndarray, known: np.ndarray) -> sparse.csr_matrix:
    """Returns which tokens have which known features, and last the feature that all have: [tokens, known + 1]."""
    column = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    has = known[column] == hashes
    column = np.concatenate([column, np.full((len(column), 1), len(known))], axis=1).astype(np.int32)
    has = np.concatenate([has, np.ones((len(has), 1), bool)], axis=1)
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    shape = (len(hashes), len(known) + 1)
    return sparse.csr_matrix((np.ones(indptr[-1], np.float32), column[has], indptr), shape)
