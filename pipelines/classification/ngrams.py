"""Chooses the n-grams that a classifier knows, and finds them in the training texts."""

import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits

_TEXTS_PER_COUNT = 5000  # for each 5,000 training texts, an n-gram must occur in one more text,
_MAX_MIN_COUNT = 5  # up to this number: n-grams that are rare among many texts would be learned by heart
_LEAST_COUNT = 3  # in `most_telling`: texts with an n-gram, if there are such n-grams
_TOKEN_WEIGHT = 2.0  # in `most_telling`: of n-grams of tokens, because a text has fewer of them than of characters


@dataclasses.dataclass(frozen=True)
class Counted:
    """The n-grams of the training texts.

    Attributes:
        hashes: int32 [k], ascending, those of `NGramLogits.hash_ngrams`.
        occurrences: float32 [n, k], 1 where the text has the n-gram.
        is_token: bool [k], which n-grams are those of tokens; the others are those of characters.
    """

    hashes: np.ndarray
    occurrences: sparse.csr_matrix
    is_token: np.ndarray


def hash_texts(inputs: dict[str, tf.RaggedTensor], max_n: int, max_characters: int) -> list[np.ndarray]:
    """Returns the hashes of each text's n-grams, ascending, each once.

    Args:
        inputs: of the texts: "ids", ragged int32 [n, (tokens)], and with `max_characters` "characters", ragged int32
            [n, (length)].
        max_n, max_characters: see `NGramLogits`.
    """
    layer = NGramLogits(1, 1, max_n, max_characters)
    ids = list(inputs.values())  # of words and, if they are read, of characters; each ragged [n, tokens]
    signature = [tf.TensorSpec([None, None], tf.int32)] * len(ids)
    hash_batch = tf.function(layer.hash_ngrams, input_signature=signature, autograph=False)
    texts = []
    for start in range(0, ids[0].shape[0], 100):
        hashes = hash_batch(*(each[start : start + 100].to_tensor() for each in ids)).numpy()
        for row in hashes:
            found = np.unique(row)
            texts.append(found[found >= 0])  # a negative hash stands for no n-gram
    return texts


def count(texts: list[np.ndarray], num_ngrams: int) -> Counted:
    """Finds the n-grams that occur in the most texts.

    Args:
        texts: of `hash_texts`.
        num_ngrams: the maximum number of them.
    """
    all_hashes = np.concatenate(texts)
    hashes, counts = np.unique(all_hashes, return_counts=True)
    min_count = min(max(1, len(texts) // _TEXTS_PER_COUNT), _MAX_MIN_COUNT)
    frequent = counts >= min_count
    hashes, counts = hashes[frequent], counts[frequent]
    hashes = np.sort(hashes[np.argsort(-counts, kind="stable")[:num_ngrams]])
    column = np.searchsorted(hashes, all_hashes).astype(np.int32)
    known = column < len(hashes)
    known[known] = hashes[column[known]] == all_hashes[known]
    ends = np.cumsum([len(text) for text in texts])
    per_text = [np.count_nonzero(each) for each in np.split(known, ends[:-1])]
    # The n-grams of a text ascend, so these are compressed rows already: there is no copy to sort, which may be large.
    indptr = np.concatenate([[0], np.cumsum(per_text)])
    shape = (len(texts), len(hashes))
    occurrences = sparse.csr_matrix((np.ones(indptr[-1], np.float32), column[known], indptr), shape)
    return Counted(hashes, occurrences, hashes % 2 == 0)


def inverse_frequencies(occurrences: sparse.csr_matrix, is_class: np.ndarray | None = None) -> np.ndarray:
    """Returns log((1 + n) / (1 + texts with the n-gram)) + 1 of each n-gram, float [k], as in scikit-learn."""
    counts = np.asarray(occurrences.sum(axis=0)).ravel()
    return np.log((1 + occurrences.shape[0]) / (1 + counts)) + 1


class Telling(NamedTuple):
    """The n-grams of an `NGramProjection`.

    Attributes:
        hashes: int32 [k], ascending.
        ratios: float [k], their inverse document frequencies.
        columns: of each text, ragged int32 [n, (known)]: the numbers of its n-grams in `hashes`, from 1.
    """

    hashes: np.ndarray
    ratios: np.ndarray
    columns: tf.RaggedTensor


def most_telling(counted: Counted, labels: np.ndarray, num_ngrams: int, texts: list[np.ndarray]) -> Telling:
    """Chooses the n-grams that tell most about the class: those with the highest chi-square statistic

        sum_c (n_fc - e_fc)^2 / e_fc

    where n_fc is the number of texts of class c with n-gram f, and e_fc what it would be if f occurred in all classes
    alike. N-grams of fewer than three texts are left out.

    Args:
        labels: of the counted texts: int [n], class ids; of several labels per text, int [n, classes] of 0 and 1.
        num_ngrams: the maximum number of n-grams.
        texts: of `hash_texts`, whose columns are found.
    """
    occurrences = counted.occurrences
    total = np.asarray(occurrences.sum(axis=0), np.float64).ravel()  # [k]
    statistic = np.zeros(len(total))
    is_class = labels.T == 1 if labels.ndim == 2 else labels == np.unique(labels)[:, None]  # [classes, n]
    for of_class in is_class:
        expected = total * of_class.mean()
        observed = np.asarray(occurrences[of_class].sum(axis=0)).ravel()
        statistic += np.square(observed - expected) / np.maximum(expected, 1e-9)
    # Among many rare n-grams, some have one class alone by chance.
    is_rare = total < _LEAST_COUNT
    statistic[is_rare] = -1
    num_ngrams = min(num_ngrams, (~is_rare).sum() or len(total))
    kept = np.sort(np.argsort(-statistic, kind="stable")[:num_ngrams])
    ratios = np.where(counted.is_token, _TOKEN_WEIGHT, 1.0) * inverse_frequencies(occurrences)
    return Telling(counted.hashes[kept], ratios[kept], columns_of(texts, counted.hashes[kept]))


def columns_of(texts: list[np.ndarray], hashes: np.ndarray) -> tf.RaggedTensor:
    """Returns the numbers of each text's n-grams in `hashes` (ascending), from 1: ragged int32 [n, (known)]."""
    found = []
    for text in texts:
        position = np.searchsorted(hashes, text)
        is_known = position < len(hashes)
        is_known[is_known] = hashes[position[is_known]] == text[is_known]
        found.append(position[is_known] + 1)
    return tf.RaggedTensor.from_row_lengths(
        np.concatenate(found).astype(np.int32), np.array([len(each) for each in found], np.int64)
    )
