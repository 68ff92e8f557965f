"""Fits an `NGramLogits` layer: chooses n-grams, weights each in two ways, fits a linear classifier to either weighting.

The weightings are the inverse document frequency, the same for all classes, and the naive Bayes log-count ratio of each
class (Wang and Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification"). Each is the
better one on some data, and the mean of their logits is about as good as the better one.

The problem is convex, and a solver of scikit-learn finds its solution in seconds. Adam does not: its steps have the
same size for rare and for frequent n-grams.
"""

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits

_TEXTS_PER_COUNT = 5000  # for each 5,000 training texts, an n-gram must occur in one more text,
_MAX_MIN_COUNT = 5  # up to this number: n-grams that are rare among many texts would be learned by heart
_SMOOTHING = 1.0  # added to every count
_TOKEN_WEIGHT = 2.0  # of n-grams of tokens, because a text has fewer of them than n-grams of characters
_INVERSE_REGULARIZATION = 5.0
_SHORT_TEXTS = 4  # percent of the training texts, the ones with the smallest norm, that get smaller logits


def fit(
    layer: NGramLogits,
    inputs: dict[str, tf.RaggedTensor],
    labels: np.ndarray,
    class_weight: dict[int, float] | None,
    seed: int,
) -> None:
    """Chooses n-grams, fits their weights, and puts both into `layer`.

    Args:
        layer: its logits are those of all classes with the first weighting, then those with the second.
        inputs: of the training texts: "ids", ragged int32 [n, (tokens)], and "characters", ragged int32 [n, (length)],
            if the layer counts n-grams of them.
        labels: int [n], class ids; every class has a text. Of several labels per text, int [n, classes] of 0 and 1.
        class_weight: weight of the texts of each class.
        seed: of the order in which the solver visits the texts.
    """
    hashes, occurrences = _count_occurrences(layer, inputs)
    if not len(hashes):
        return  # all logits stay zero
    text_weight = None if class_weight is None else np.array([class_weight[label] for label in labels.tolist()])
    scale = np.where(hashes % 2, 1.0, _TOKEN_WEIGHT)  # even hashes are those of tokens
    num_classes = layer.num_classes // 2
    is_class = labels.T == 1 if labels.ndim == 2 else labels == np.arange(num_classes)[:, None]  # [classes, n]
    one_decision = num_classes == 2 and labels.ndim == 1
    columns = []
    for weigh in (_inverse_frequencies, _log_count_ratios):
        for of_class in is_class[1:] if one_decision else is_class:
            ratios = scale * weigh(occurrences, of_class)
            columns.append((ratios, *_fit_one_class(occurrences, ratios, of_class, text_weight, seed)))
    ratios, weights, bias, min_norm = (
        np.stack(values, axis=-1).astype(np.float32) for values in zip(*columns, strict=True)
    )
    if one_decision:  # each class gets half of its logit
        half = np.float32([-0.5, 0.5, -0.5, 0.5])
        ratios, min_norm = np.repeat(ratios, 2, -1), np.repeat(min_norm, 2)
        weights, bias = np.repeat(weights, 2, -1) * half, np.repeat(bias, 2) * half
    layer.set_ngrams(hashes, ratios, weights, bias, min_norm)


def _count_occurrences(layer: NGramLogits, inputs: dict[str, tf.RaggedTensor]) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Finds the most frequent n-grams.

    Returns:
        (hashes [k] of the n-grams that occur in the most texts, ascending; float32 [n, k], 1 where the text has the
        n-gram).
    """
    ids = list(inputs.values())  # of words and, if they are read, of characters; each ragged [n, tokens]
    signature = [tf.TensorSpec([None, None], tf.int32)] * len(ids)
    hash_batch = tf.function(layer.hash_ngrams, input_signature=signature, autograph=False)
    texts = []
    for start in range(0, ids[0].shape[0], 100):
        hashes = hash_batch(*(each[start : start + 100].to_tensor() for each in ids)).numpy()
        texts += [np.unique(row) for row in hashes]
    all_hashes = np.concatenate(texts)
    hashes, counts = np.unique(all_hashes, return_counts=True)
    min_count = min(max(1, len(texts) // _TEXTS_PER_COUNT), _MAX_MIN_COUNT)
    frequent = (counts >= min_count) & (hashes >= 0)  # a negative hash stands for no n-gram
    hashes, counts = hashes[frequent], counts[frequent]
    hashes = np.sort(hashes[np.argsort(-counts, kind="stable")[: layer.num_ngrams]])
    column = np.searchsorted(hashes, all_hashes)
    known = column < len(hashes)
    known[known] = hashes[column[known]] == all_hashes[known]
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    shape = (len(texts), len(hashes))
    return hashes, sparse.csr_matrix((np.ones(known.sum(), np.float32), (row[known], column[known])), shape)


def _inverse_frequencies(occurrences: sparse.csr_matrix, is_class: np.ndarray) -> np.ndarray:
    """Returns log((1 + n) / (1 + texts with the n-gram)) + 1 of each n-gram, float [k], as in scikit-learn."""
    counts = np.asarray(occurrences.sum(axis=0)).ravel()
    return np.log((1 + occurrences.shape[0]) / (1 + counts)) + 1


def _log_count_ratios(occurrences: sparse.csr_matrix, is_class: np.ndarray) -> np.ndarray:
    """Returns log(frequency in the class / frequency outside of it) of each n-gram, float [k]."""
    inside = np.asarray(occurrences[is_class].sum(axis=0)).ravel() + _SMOOTHING
    outside = np.asarray(occurrences[~is_class].sum(axis=0)).ravel() + _SMOOTHING
    return np.log(inside / inside.sum()) - np.log(outside / outside.sum())


def _fit_one_class(
    occurrences: sparse.csr_matrix,
    ratios: np.ndarray,
    is_class: np.ndarray,
    text_weight: np.ndarray | None,
    seed: int,
) -> tuple[np.ndarray, float, float]:
    """Fits one class against the others.

    Args:
        ratios: float [k].

    Returns:
        (the n-grams' weights [k], the bias, the norm below which texts get smaller logits).
    """
    from sklearn.linear_model import LogisticRegression

    norm = np.maximum(np.sqrt(occurrences @ np.square(ratios)), 1e-6)
    min_norm = np.percentile(norm, _SHORT_TEXTS)
    scale = np.minimum(1, np.square(norm / min_norm)) / norm
    scaled = occurrences.multiply(ratios[None].astype(np.float32)).multiply(scale[:, None]).tocsr()
    # The time of the dual solver grows with the number of texts, not of n-grams.
    solver = LogisticRegression(
        C=_INVERSE_REGULARIZATION, solver="liblinear", dual=True, tol=0.01, max_iter=1000, random_state=seed
    )
    if is_class.all():  # one of several labels, and every text has it: there is nothing to learn
        return np.zeros(len(ratios)), np.log(len(is_class) + 1.0), min_norm
    solver.fit(scaled, is_class, text_weight)
    return solver.coef_[0], solver.intercept_[0], min_norm
