import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from layers import NGramLogits, SparseNGramLogits
from pipelines.classification import many_classes
from pipelines.classification.linear_start import SparseStart, Start
from pipelines.linear import linear_model, ngrams
from tests.pipelines.classification.test_linear_start import SPARSE_NAMES, start_of

CLASSES = 12


def texts(rows=600):
    """Texts of random tokens; two of them, which occur together in the texts of one class alone, tell the class."""
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % CLASSES
    ids = rng.integers(50, 250, (rows, 8))
    ids[:, 2], ids[:, 5] = 10 + labels % 4, 20 + labels // 4
    return tf.RaggedTensor.from_tensor(ids.astype(np.int32)), labels


def fitted(ids, labels, num_weights=10**6, text_weight=None, start=None):
    layer = SparseNGramLogits(CLASSES, num_ngrams=20_000, num_weights=num_weights, max_n=2)
    layer.build((None, None))
    counted = ngrams.count(ngrams.hash_texts({"ids": ids}, 2, 0), 20_000, start and start.hashes)
    assert many_classes.fit(layer, counted, labels, text_weight, seed=1, start=start)
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


def of_first_half(tmp_path):
    """Returns the sparse and the dense model of the first texts as those to continue from, and where these end."""
    ids, labels = texts()
    half = 60
    layer, counted = fitted(ids[:half], labels[:half])
    dense = NGramLogits(CLASSES, num_ngrams=20_000, max_n=2)
    dense.build((None, None))
    linear_model.fit(dense, counted, labels[:half], None, 1, many_classes._CHOICE)
    config = start_of(tmp_path / "sparse", layer, CLASSES, labels[:half], SPARSE_NAMES)
    of_dense = start_of(tmp_path / "dense", dense, CLASSES, labels[:half])
    return SparseStart.of_run(config, CLASSES), Start.of_run(of_dense, CLASSES), half


def test_a_fit_that_continues_is_that_of_the_linear_model(tmp_path):
    ids, labels = texts()
    start, of_dense, half = of_first_half(tmp_path)
    seen = np.flatnonzero(labels[half:400] != 3) + half  # the new texts lack a class
    layer, counted = fitted(tf.gather(ids, seen), labels[seen], start=start)
    dense = NGramLogits(CLASSES, num_ngrams=len(counted.hashes), max_n=2)
    dense.build((None, None))
    linear_model.fit(dense, counted, labels[seen], None, 1, many_classes._CHOICE, of_dense)
    test, expected = ids[400:], labels[400:]
    np.testing.assert_allclose(logits_of(layer, test), logits_of(dense, test), atol=0.05)
    before, _ = fitted(ids[:half], labels[:half])
    after, before = ((logits_of(each, test).argmax(axis=1) == expected).mean() for each in (layer, before))
    assert after > before + 0.1


def test_a_fit_that_continues_learns_from_similar_texts_and_keeps_what_is_known(tmp_path, monkeypatch):
    ids, labels = texts()
    start, _, half = of_first_half(tmp_path)
    monkeypatch.setattr(many_classes, "_MAX_READ", 0)
    monkeypatch.setattr(many_classes, "_LEAST_SIMILAR", 60)
    layer, _ = fitted(ids[half:400], labels[half:400], num_weights=3000, start=start)
    assert (logits_of(layer, ids[400:]).argmax(axis=1) == labels[400:]).mean() > 0.9


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
