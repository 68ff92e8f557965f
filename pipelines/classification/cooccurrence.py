"""Word vectors computed from the training texts, as the initial values of an encoder's embedding.

Words with the same neighbours get similar vectors, so that what training learns about one word also holds for the
other. The vectors factor the positive pointwise mutual information of words and their neighbours (Levy and Goldberg
2014, "Neural Word Embedding as Implicit Matrix Factorization"; smoothed context counts as in Levy, Goldberg and Dagan
2015):

    M_wc = max(0, log(#(w, c) #(*, *) / (#(w) #(c)^0.75)))  ~  U S V^T,    vectors = U S^(1/2)
"""

import numpy as np
import tensorflow as tf
from scipy import sparse

_WINDOW = 5  # neighbours on each side; a neighbour at distance d counts 1/d
_CONTEXT_POWER = 0.75
_SCALE = 0.3  # standard deviation of the vectors' entries


def word_vectors(ids: tf.RaggedTensor, vocabulary_size: int, size: int, seed: int) -> np.ndarray:
    """Computes vectors for all tokens of a vocabulary.

    Args:
        ids: of the texts, int32 [n, (tokens)].
        vocabulary_size: number of tokens.
        size: of a vector. With a vocabulary smaller than `size`, the vectors end in zeros.
        seed: of the randomized factorization.

    Returns:
        float32 [vocabulary_size, size]; zeros for a token without neighbours.
    """
    from sklearn.utils.extmath import randomized_svd

    token, text = ids.flat_values.numpy(), ids.value_rowids().numpy()
    counts = sparse.csr_matrix((vocabulary_size, vocabulary_size), dtype=np.float32)
    for distance in range(1, _WINDOW + 1):
        same_text = text[:-distance] == text[distance:]
        pairs = (token[:-distance][same_text], token[distance:][same_text])
        weight = np.full(len(pairs[0]), 1 / distance, np.float32)
        counts += sparse.csr_matrix((weight, pairs), shape=counts.shape)
    counts = (counts + counts.T).tocoo()
    word_counts = np.asarray(counts.sum(axis=1)).ravel()
    context_counts = word_counts**_CONTEXT_POWER
    information = np.log(counts.data * context_counts.sum() / (word_counts[counts.row] * context_counts[counts.col]))
    positive = information > 0
    matrix = sparse.csr_matrix(
        (information[positive], (counts.row[positive], counts.col[positive])), shape=counts.shape
    )
    components = min(size, vocabulary_size - 1)
    u, s, _ = randomized_svd(matrix, components, n_iter=4, random_state=seed)
    vectors = u * np.sqrt(s)
    deviation = vectors.std()
    vectors = vectors * (_SCALE / deviation) if deviation > 0 else vectors
    return np.pad(vectors, ((0, 0), (0, size - components))).astype(np.float32)
