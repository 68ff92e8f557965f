import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from layers import NGramLogits, SparseNGramLogits
from pipelines.classification import many_classes
from pipelines.linear import linear_model, ngrams

CLASSES = 12


def texts(rows=600):
    """Texts of random tokens; two of them, which occur together in the texts of one class alone, tell the class."""
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % CLASSES
    ids = rng.integers(50, 250, (rows, 8))
    ids[:, 2], ids[:, 5] = 10 + labels % 4, 20 + labels // 4
    return tf.RaggedTensor.from_tensor(ids.astype(np.int32)), labels


def fitted(ids, labels, num_weights=10**6, text_weight=None):
    layer = SparseNGramLogits(CLASSES, num_ngrams=20_000, num_weights=num_weights, max_n=2)
    layer.build((None, None))
    counted = ngrams.count(ngrams.hash_texts({"ids": ids}, 2, 0), 20_000)
    assert many_classes.fit(layer, counted, labels, text_weight, seed=1)
    return layer, counted


def logits_of(layer, ids):
    return ops.convert_to_numpy(layer(ids.to_tensor()))


@pytest.mark.parametrize("weighted", [False, True])
def test_with_all_weights_and_texts_it_is_the_linear_model(weighted):
    ids, labels = texts()
    text_weight = 1.0 + labels if weighted else None
    layer, counted = fitted(ids, labels, text_weight=text_weight)
    dense = NGramLogits(CLASSES, num_ngrams=20_000, max_n=2)
    dense.build((None, None))
    linear_model.fit(dense, counted, labels, text_weight, 1, many_classes._CHOICE)
    expected = logits_of(dense, ids)
    np.testing.assert_allclose(logits_of(layer, ids), expected, atol=1e-3)
    assert (expected.argmax(axis=1) == labels).mean() > 0.99


def test_several_labels_have_a_decision_each():
    ids, labels = texts()
    several = (labels[:, None] % 4 == np.arange(CLASSES)) | (4 + labels[:, None] // 4 == np.arange(CLASSES))
    layer, _ = fitted(ids[:400], several[:400].astype(int))
    assert ((logits_of(layer, ids[400:]) > 0) == several[400:]).mean() > 0.95  # always none: 0.83


def test_few_weights_and_similar_texts_are_enough(monkeypatch):
    ids, labels = texts()
    monkeypatch.setattr(many_classes, "_MAX_READ", 0)
    monkeypatch.setattr(many_classes, "_LEAST_SIMILAR", 60)
    monkeypatch.setattr(many_classes, "_SIMILAR_PER_TEXT", 1)
    monkeypatch.setattr(many_classes, "_RANDOM", 40)
    layer, counted = fitted(ids[:400], labels[:400], num_weights=3000)
    weights = ops.convert_to_numpy(layer.weighted)
    assert np.count_nonzero(weights) == 3000 < len(counted.hashes) * CLASSES / 5
    right = logits_of(layer, ids[400:]).argmax(axis=1) == labels[400:]
    assert right.mean() > 0.9


def test_the_largest_weights_of_all_classes_are_kept():
    rng = np.random.default_rng(0)
    ratios, weights = rng.random(50), rng.normal(size=(50, 20))
    weights[rng.random((50, 20)) < 0.3] = 0
    largest = many_classes._Largest(ratios, 60)
    for i in range(20):
        largest.add(i, weights[:, i], 50)
    size = np.abs(weights * ratios[:, None])
    expected = np.where(size >= np.sort(size, axis=None)[-60], weights, 0)
    np.testing.assert_array_equal(largest.matrix(20).toarray(), expected.astype(np.float32))


def test_without_ngrams_there_is_nothing_to_fit():
    layer = SparseNGramLogits(2, num_ngrams=10, num_weights=10)
    layer.build((None, None))
    counted = ngrams.count([np.zeros(0, ngrams.NGRAM)] * 2, 10)
    assert many_classes.fit(layer, counted, np.array([0, 1]), None, seed=1) is None
