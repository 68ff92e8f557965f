"""Word vectors from the training texts themselves, as a start for an encoder's embedding.

Words that stand beside the same words get vectors that are alike, so that what is learned of one holds for the other. The vectors
factor the positive pointwise mutual information of words and their neighbours (Levy and Goldberg 2014, "Neural Word Embedding as
Implicit Matrix Factorization"; the smoothed contexts of Levy, Goldberg and Dagan 2015):

    M_wc = max(0, log(#(w, c) #(*, *) / (#(w) #(c)^0.75)))  ~  U S V^T,    vectors = U S^(1/2)
"""

import numpy as np
import tensorflow as tf
from scipy import sparse

_WINDOW = 5  # neighbours on either side; one at distance d counts 1/d
_CONTEXT_POWER = 0.75
_SCALE = 0.3  # standard deviation of the vectors' entries


def cooccurrence(ids: tf.RaggedTensor, vocabulary_size: int, size: int, seed: int) -> np.ndarray:
    """Vectors for all tokens of a vocabulary: float32 [vocabulary_size, size]; zeros for a token without neighbours.

    Args:
        ids: int32 [n, (tokens)].
        size: of a vector. A vocabulary smaller than that gives vectors that end in zeros.
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
    of_word = np.asarray(counts.sum(axis=1)).ravel()
    of_context = of_word**_CONTEXT_POWER
    information = np.log(counts.data * of_context.sum() / (of_word[counts.row] * of_context[counts.col]))
    kept = information > 0
    matrix = sparse.csr_matrix((information[kept], (counts.row[kept], counts.col[kept])), shape=counts.shape)
    components = min(size, vocabulary_size - 1)
    u, s, _ = randomized_svd(matrix, components, n_iter=4, random_state=seed)
    vectors = u * np.sqrt(s)
    deviation = vectors.std()
    vectors = vectors * (_SCALE / deviation) if deviation > 0 else vectors
    return np.pad(vectors, ((0, 0), (0, size - components))).astype(np.float32)
