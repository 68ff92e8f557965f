"""Chooses the n-grams that a classifier knows, and finds them in the training texts."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits

_TEXTS_PER_COUNT = 5000  # for each 5,000 training texts, an n-gram must occur in one more text,
_MAX_MIN_COUNT = 5  # up to this number: n-grams that are rare among many texts would be learned by heart
_LEAST_COUNT = 3  # in `most_telling`: texts with an n-gram, if there are such n-grams
NGRAM = np.dtype([("hash", np.int32), ("count", np.uint16)])  # of a text: how often it has the n-gram
_MAX_COUNT = 2**16 - 1
_TOKEN_WEIGHT = 2.0  # in `most_telling`: of n-grams of tokens, because a text has fewer of them than of characters


@dataclasses.dataclass(frozen=True)
class Counted:
    """The n-grams of the training texts.

    Attributes:
        hashes: int32 [k], ascending, those of `NGramLogits.hash_ngrams`.
        occurrences: float32 [n, k], how often the text has the n-gram.
        is_token: bool [k], which n-grams are those of tokens; the others are those of characters.
    """

    hashes: np.ndarray
    occurrences: sparse.csr_matrix
    is_token: np.ndarray


@functools.lru_cache(maxsize=8)  # tracing takes longer than hashing a thousand texts
def _hasher(max_n: int, max_characters: int, marks: tuple[int, int] | None) -> Callable:
    layer = NGramLogits(1, 1, max_n, max_characters, marks=marks)
    signature = [tf.TensorSpec([None, None], tf.int32)] * (2 if max_characters else 1)
    return tf.function(layer.hash_ngrams, input_signature=signature, autograph=False)


def hash_texts(
    inputs: dict[str, tf.RaggedTensor], max_n: int, max_characters: int, marks: tuple[int, int] | None = None
) -> list[np.ndarray]:
    """Returns the n-grams of each text, arrays of NGRAM: hashes, ascending, each once, and how often the text has them.

    Args:
        inputs: of the texts: "ids", ragged int32 [n, (tokens)], and with `max_characters` "characters", ragged int32
            [n, (length)].
        max_n, max_characters, marks: see `NGramLogits`.
    """
    # Of words and, if they are read, of characters; each ragged [n, tokens].
    ids = [inputs[name] for name in ("ids", "characters") if name in inputs]
    hash_batch = _hasher(max_n, max_characters, marks)
    texts = []
    for start in range(0, ids[0].shape[0], 100):
        hashes = hash_batch(*(each[start : start + 100].to_tensor() for each in ids)).numpy()
        for row in hashes:
            found, counts = np.unique(row[row >= 0], return_counts=True)  # a negative hash stands for no n-gram
            text = np.empty(len(found), NGRAM)
            text["hash"], text["count"] = found, np.minimum(counts, _MAX_COUNT)
            texts.append(text)
    return texts


def count(texts: list[np.ndarray], num_ngrams: int, known: np.ndarray | None = None) -> Counted:
    """Finds the n-grams that occur in the most texts.

    Args:
        texts: of `hash_texts`.
        num_ngrams: the maximum number of them.
        known: hashes of n-grams that are kept beside them, int32 [k], ascending.
    """
    hashes, counts = np.unique(np.concatenate([text["hash"] for text in texts]), return_counts=True)
    if known is None:
        return find(texts, most_frequent(hashes, counts, len(texts), num_ngrams))
    is_new = ~np.isin(hashes, known)
    added = most_frequent(hashes[is_new], counts[is_new], len(texts), num_ngrams)
    return find(texts, np.sort(np.concatenate([known, added])))


def most_frequent(hashes: np.ndarray, counts: np.ndarray, num_texts: int, num_ngrams: int) -> np.ndarray:
    """Returns the hashes, ascending, that the most texts have.

    Args:
        hashes, counts: of all n-grams, [n].
        num_texts: among which they were counted.
        num_ngrams: the maximum number of hashes.
    """
    min_count = min(max(1, num_texts // _TEXTS_PER_COUNT), _MAX_MIN_COUNT)
    frequent = counts >= min_count
    hashes, counts = hashes[frequent], counts[frequent]
    return np.sort(hashes[np.argsort(-counts, kind="stable")[:num_ngrams]])


def find(texts: list[np.ndarray], hashes: np.ndarray) -> Counted:
    """Finds the n-grams with these hashes (int32 [k], ascending) in the texts, see `hash_texts`."""
    all_hashes = np.concatenate([text["hash"] for text in texts])
    column = np.searchsorted(hashes, all_hashes).astype(np.int32)
    known = column < len(hashes)
    known[known] = hashes[column[known]] == all_hashes[known]
    ends = np.cumsum([len(text) for text in texts])
    per_text = [np.count_nonzero(each) for each in np.split(known, ends[:-1])]
    # The n-grams of a text ascend, so these are compressed rows already: there is no copy to sort, which may be large.
    indptr = np.concatenate([[0], np.cumsum(per_text)])
    counts = np.concatenate([text["count"] for text in texts])[known].astype(np.float32)
    occurrences = sparse.csr_matrix((counts, column[known], indptr), (len(texts), len(hashes)))
    return Counted(hashes, occurrences, is_token(hashes))


def with_repeats(occurrences: sparse.csr_matrix, repeats: float) -> sparse.csr_matrix:
    """Returns 1 + repeats log(count) in place of the counts; 1 for repeats = 0. See `NGramLogits`."""
    values = np.float32(1) + np.float32(repeats) * np.log(occurrences.data)
    return sparse.csr_matrix((values, occurrences.indices, occurrences.indptr), occurrences.shape)


def inverse_frequencies(counts: np.ndarray, num_texts: int) -> np.ndarray:
    """Returns log((1 + num_texts) / (1 + counts)) + 1 of each n-gram, float [k], as in scikit-learn."""
    return np.log((1 + num_texts) / (1 + counts)) + 1


class Telling(NamedTuple):
    """The n-grams of an `NGramProjection`.

    Attributes:
        hashes: int32 [k], ascending.
        ratios: float [k], their inverse document frequencies.
    """

    hashes: np.ndarray
    ratios: np.ndarray


def most_telling(
    hashes: np.ndarray, counts: np.ndarray, num_texts: int, classes: Iterable[tuple[float, np.ndarray]], num_ngrams: int
) -> Telling:
    """Chooses the n-grams that tell most about the class: those with the highest chi-square statistic

        sum_c (n_fc - e_fc)^2 / e_fc

    where n_fc is the number of texts of class c with n-gram f, and e_fc what it would be if f occurred in all classes
    alike. N-grams of fewer than three texts are left out.

    Args:
        hashes: of n-grams, int32 [k], ascending.
        counts: texts with each of them, float [k].
        num_texts: number of all texts.
        classes: of each class, the fraction of the texts that have it, and its texts with each n-gram, float [k].
        num_ngrams: the maximum number of n-grams.
    """
    total = counts.astype(np.float64)
    statistic = np.zeros(len(total))
    for fraction, observed in classes:
        expected = total * fraction
        statistic += np.square(observed - expected) / np.maximum(expected, 1e-9)
    # Among many rare n-grams, some have one class alone by chance.
    is_rare = total < _LEAST_COUNT
    statistic[is_rare] = -1
    num_ngrams = min(num_ngrams, (~is_rare).sum() or len(total))
    kept = np.sort(np.argsort(-statistic, kind="stable")[:num_ngrams])
    ratios = np.where(is_token(hashes), _TOKEN_WEIGHT, 1.0) * inverse_frequencies(counts, num_texts)
    return Telling(hashes[kept], ratios[kept])


def by_class(occurrences: sparse.csr_matrix, labels: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yields what `most_telling` takes of each class.

    Args:
        labels: int [n], class ids; of several labels per text, int [n, classes] of 0 and 1.
    """
    for of_class in labels.T == 1 if labels.ndim == 2 else labels == np.unique(labels)[:, None]:
        yield of_class.mean(), num_texts_with(occurrences[of_class])


def num_texts_with(occurrences: sparse.csr_matrix) -> np.ndarray:
    """Returns the number of texts with each n-gram, float32 [k]."""
    return np.bincount(occurrences.indices, minlength=occurrences.shape[1]).astype(np.float32)


def is_token(hashes: np.ndarray) -> np.ndarray:
    """Returns which hashes are those of n-grams of tokens; the others are those of characters."""
    return hashes % 2 == 0


def columns_of(texts: list[np.ndarray], hashes: np.ndarray) -> tf.RaggedTensor:
    """Returns the numbers of each text's n-grams in `hashes` (ascending), from 1: ragged int32 [n, (known)]."""
    found = []
    for text in texts:
        position = np.searchsorted(hashes, text["hash"])
        is_known = position < len(hashes)
        is_known[is_known] = hashes[position[is_known]] == text["hash"][is_known]
        found.append(position[is_known] + 1)
    return tf.RaggedTensor.from_row_lengths(
        np.concatenate(found).astype(np.int32), np.array([len(each) for each in found], np.int64)
    )
