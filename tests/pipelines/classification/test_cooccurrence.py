import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification import cooccurrence


def cosine(vectors, a, b):
    return vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])


@pytest.fixture
def ids():
    """Texts `a x b`, where the tokens 4 and 5 have other neighbours than 6 and 7."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(400):
        kind = rng.integers(0, 2)
        rows.append(
            [10 + 5 * kind + rng.integers(0, 5), 4 + 2 * kind + rng.integers(0, 2), 10 + 5 * kind + rng.integers(0, 5)]
        )
    return tf.ragged.constant(rows, dtype=tf.int32)


def test_words_with_the_same_neighbours_have_similar_vectors(ids):
    vectors = cooccurrence.word_vectors(ids, 30, 6, seed=1)
    assert vectors.shape == (30, 6) and vectors.dtype == np.float32
    assert cosine(vectors, 4, 5) > 0.8 > 0.3 > cosine(vectors, 4, 6)
    np.testing.assert_allclose(vectors[[0, 20, 29]], 0, atol=1e-5)  # never seen
    np.testing.assert_array_equal(vectors, cooccurrence.word_vectors(ids, 30, 6, seed=1))


def test_the_vectors_factor_the_mutual_information():
    """With all components, V V^T = U S U^T, which is the square root of M M^T, up to the scale."""
    rows = np.random.default_rng(1).integers(4, 10, size=(30, 8))
    counts = np.zeros((10, 10))
    for row in rows:
        for i in range(8):
            for j in range(max(0, i - 5), min(8, i + 6)):
                if i != j:
                    counts[row[i], row[j]] += 1 / abs(i - j)
    word_counts = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(counts * (word_counts**0.75).sum() / np.outer(word_counts, word_counts**0.75))
    information = np.nan_to_num(np.maximum(information, 0), posinf=0)
    values, axes = np.linalg.eigh(information @ information.T)
    expected = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    vectors = cooccurrence.word_vectors(tf.RaggedTensor.from_tensor(rows.astype(np.int32)), 11, 10, seed=0)[:10]
    products = vectors @ vectors.T
    scale = products.trace() / expected.trace()
    np.testing.assert_allclose(products, expected * scale, atol=1e-3 * scale)


def test_texts_without_neighbours_give_zeros():
    vectors = cooccurrence.word_vectors(tf.ragged.constant([[4], [5]], dtype=tf.int32), 8, 4, seed=0)
    np.testing.assert_array_equal(vectors, np.zeros((8, 4)))


def test_vectors_longer_than_the_vocabulary_end_in_zeros(ids):
    vectors = cooccurrence.word_vectors(ids, 30, 40, seed=1)
    assert vectors.shape == (30, 40) and vectors[:, 5].any() and not vectors[:, 29:].any()
