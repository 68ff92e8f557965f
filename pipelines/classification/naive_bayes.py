"""Fits an `NGramLogits` layer: chooses n-grams that count for or against a class, and computes their weights.

Source: Wang and Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification". The problem is
    convex, and a solver of scikit-learn finds its solution in seconds. Adam does not: its steps have the same size for
    rare and for frequent n-grams.
"""

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits

_MIN_TEXTS = 5  # rarer n-grams would be learned by heart
_SMOOTHING = 1.0  # added to every count
_INVERSE_REGULARIZATION = 30.0


def fit(layer: NGramLogits, ids: tf.RaggedTensor, labels: np.ndarray, seed: int) -> None:
    """Chooses n-grams, fits their weights, and puts both into `layer`.

    Args:
        ids: of the training texts, int32 [n, (tokens)].
        labels: int [n], class ids; every class has a text.
        seed: of the order in which the solver visits the texts.
    """
    hashes, occurrences = _count_occurrences(layer, ids)
    if not len(hashes):
        return  # all logits stay zero
    classes = range(layer.num_classes) if layer.num_classes > 2 else [1]
    columns = [_fit_one_class(occurrences, labels == c, layer.full_norm, seed) for c in classes]
    ratios, weights, bias = (np.stack(values, axis=-1).astype(np.float32) for values in zip(*columns, strict=True))
    if layer.num_classes == 2:  # one decision; each class gets half of its logit
        ratios, weights, bias = (
            np.repeat(ratios, 2, -1),
            weights * np.float32([-0.5, 0.5]),
            bias * np.float32([-0.5, 0.5]),
        )
    layer.set_ngrams(hashes, ratios, weights, bias)


def _count_occurrences(layer: NGramLogits, ids: tf.RaggedTensor) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Finds the most frequent n-grams.

    Returns:
        (hashes [k] of the n-grams that occur in the most texts, ascending; float32 [n, k], 1 where the text has the
        n-gram).
    """
    hash_batch = tf.function(layer.hash_ngrams, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    texts = []
    for start in range(0, ids.shape[0], 100):
        texts += [np.unique(row) for row in hash_batch(ids[start : start + 100].to_tensor()).numpy()]
    all_hashes = np.concatenate(texts)
    hashes, counts = np.unique(all_hashes, return_counts=True)
    frequent = (counts >= _MIN_TEXTS) & (hashes >= 0)  # a negative hash stands for no n-gram
    hashes, counts = hashes[frequent], counts[frequent]
    hashes = np.sort(hashes[np.argsort(-counts, kind="stable")[: layer.num_ngrams]])
    column = np.searchsorted(hashes, all_hashes)
    known = column < len(hashes)
    known[known] = hashes[column[known]] == all_hashes[known]
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    shape = (len(texts), len(hashes))
    return hashes, sparse.csr_matrix((np.ones(known.sum(), np.float32), (row[known], column[known])), shape)


def _fit_one_class(
    occurrences: sparse.csr_matrix, is_class: np.ndarray, full_norm: float, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Fits one class against the others: returns the n-grams' log-count ratios [k], their weights [k], and the bias."""
    from sklearn.linear_model import LogisticRegression

    inside = np.asarray(occurrences[is_class].sum(axis=0)).ravel() + _SMOOTHING
    outside = np.asarray(occurrences[~is_class].sum(axis=0)).ravel() + _SMOOTHING
    ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    norm = np.maximum(np.sqrt(occurrences @ np.square(ratios)), 1e-6)
    scale = (np.minimum(1, np.square(norm / full_norm)) if full_norm else 1) / norm
    scaled = occurrences.multiply(ratios[None].astype(np.float32)).multiply(scale[:, None]).tocsr()
    # The time of the dual solver grows with the number of texts, not of n-grams.
    solver = LogisticRegression(
        C=_INVERSE_REGULARIZATION, solver="liblinear", dual=True, tol=0.01, max_iter=1000, random_state=seed
    )
    solver.fit(scaled, is_class)
    return ratios, solver.coef_[0], solver.intercept_[0]
