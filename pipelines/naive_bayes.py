"""The n-grams that speak for or against a class, with their weights: what an `NGramLogits` layer knows.

Wang and Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification". The problem is convex, and a
solver of scikit-learn finds its solution in seconds. Adam does not: it takes steps of one size for rare and for frequent n-grams.
"""

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits

_LEAST_TEXTS = 5  # what an n-gram of fewer texts says, it says of those texts
_SMOOTHING = 1.0  # added to every count
_INVERSE_REGULARIZATION = 30.0


def fit(layer: NGramLogits, ids: tf.RaggedTensor, labels: np.ndarray, seed: int) -> None:
    """Chooses n-grams, fits their weights, and puts both into `layer`.

    Args:
        ids: int32 [n, (tokens)], the training texts.
        labels: int [n], class ids; no class is without a text.
        seed: of the order in which the solver takes the texts.
    """
    hashes, found = _occurrences(layer, ids)
    if not len(hashes):
        return  # all logits stay zero
    classes = range(layer.num_classes) if layer.num_classes > 2 else [1]
    columns = [_one_against_the_rest(found, labels == c, layer.full_norm, seed) for c in classes]
    ratios, weights, bias = (np.stack(values, axis=-1).astype(np.float32) for values in zip(*columns, strict=True))
    if layer.num_classes == 2:  # one decision, of which each class gets half
        ratios, weights, bias = np.repeat(ratios, 2, -1), weights * np.float32([-0.5, 0.5]), bias * np.float32([-0.5, 0.5])
    layer.set_ngrams(hashes, ratios, weights, bias)


def _occurrences(layer: NGramLogits, ids: tf.RaggedTensor) -> tuple[np.ndarray, sparse.csr_matrix]:
    """The hashes [k] of the n-grams that are in most texts, ascending, and which text has which: float32 [n, k] of 0 and 1."""
    of_batch = tf.function(layer.hash_ngrams, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    texts = []
    for start in range(0, ids.shape[0], 100):
        texts += [np.unique(row) for row in of_batch(ids[start : start + 100].to_tensor()).numpy()]
    all_hashes = np.concatenate(texts)
    hashes, counts = np.unique(all_hashes, return_counts=True)
    hashes, counts = hashes[(counts >= _LEAST_TEXTS) & (hashes >= 0)], counts[(counts >= _LEAST_TEXTS) & (hashes >= 0)]
    hashes = np.sort(hashes[np.argsort(-counts, kind="stable")[: layer.num_ngrams]])
    column = np.searchsorted(hashes, all_hashes)
    known = column < len(hashes)
    known[known] = hashes[column[known]] == all_hashes[known]
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    shape = (len(texts), len(hashes))
    return hashes, sparse.csr_matrix((np.ones(known.sum(), np.float32), (row[known], column[known])), shape)


def _one_against_the_rest(
    found: sparse.csr_matrix, is_class: np.ndarray, full_norm: float, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The n-grams' log-count ratios [k], their weights [k], and the bias."""
    from sklearn.linear_model import LogisticRegression

    inside = np.asarray(found[is_class].sum(axis=0)).ravel() + _SMOOTHING
    outside = np.asarray(found[~is_class].sum(axis=0)).ravel() + _SMOOTHING
    ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    norm = np.maximum(np.sqrt(found @ np.square(ratios)), 1e-6)
    scale = (np.minimum(1, np.square(norm / full_norm)) if full_norm else 1) / norm
    scaled = found.multiply(ratios[None].astype(np.float32)).multiply(scale[:, None]).tocsr()
    # The dual solver's time grows with the texts, not with the n-grams.
    solver = LogisticRegression(
        C=_INVERSE_REGULARIZATION, solver="liblinear", dual=True, tol=0.01, max_iter=1000, random_state=seed
    )
    solver.fit(scaled, is_class)
    return ratios, solver.coef_[0], solver.intercept_[0]
