import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from layers import NGramLogits
from pipelines.classification import naive_bayes


def texts(classes, rows=300):
    """Texts in which one pair of neighbouring tokens tells the class. With two classes, the single tokens do not."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, rows)
    lengths = rng.integers(5, 30, rows)
    ids = []
    for label, length in zip(labels, lengths):
        row = rng.integers(4, 30, length)
        at = rng.integers(1, length - 1)
        pair = (30 + label, 30 + (label + 1) % classes)
        row[at : at + 2] = pair
        ids.append(row.tolist())
    return tf.ragged.constant(ids, dtype=tf.int32), labels


@pytest.mark.parametrize("classes", [2, 4])
def test_it_finds_the_pairs_that_tell_the_class(classes):
    ids, labels = texts(classes)
    layer = NGramLogits(classes, num_ngrams=5000, max_n=2)
    layer.build((None, None))
    naive_bayes.fit(layer, ids[:200], labels[:200], seed=1)
    answers = ops.convert_to_numpy(layer(ids[200:].to_tensor())).argmax(axis=1)
    assert (answers == labels[200:]).mean() > 0.95
    singles = NGramLogits(classes, num_ngrams=5000, max_n=1)
    singles.build((None, None))
    naive_bayes.fit(singles, ids[:200], labels[:200], seed=1)
    if classes == 2:  # both tokens of the pair are in every text
        assert (ops.convert_to_numpy(singles(ids[200:].to_tensor())).argmax(axis=1) == labels[200:]).mean() < 0.7


@pytest.mark.parametrize("full_norm", [0.0, 3.0])
def test_the_layer_computes_what_scikit_learn_fitted(full_norm):
    from sklearn.linear_model import LogisticRegression

    ids, labels = texts(2)
    layer = NGramLogits(2, num_ngrams=5000, max_n=1, full_norm=full_norm)
    layer.build((None, None))
    naive_bayes.fit(layer, ids, labels, seed=1)
    occurrences = np.zeros((300, 41))
    for row, text in zip(occurrences, ids.to_list()):
        row[text] = 1
    occurrences = occurrences[:, (occurrences.sum(axis=0) >= 5)]
    p, q = occurrences[labels == 1].sum(0) + 1, occurrences[labels == 0].sum(0) + 1
    scaled = occurrences * np.log((p / p.sum()) / (q / q.sum()))
    norm = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    scaled *= np.minimum(1 / norm, norm / full_norm**2) if full_norm else 1 / norm
    expected = LogisticRegression(C=30, tol=1e-8, max_iter=10_000).fit(scaled, labels).decision_function(scaled)
    logits = ops.convert_to_numpy(layer(ids.to_tensor()))
    np.testing.assert_allclose(logits[:, 0], -logits[:, 1], atol=1e-5)
    margin = logits[:, 1] - logits[:, 0]
    assert np.corrcoef(margin, expected)[0, 1] > 0.99  # liblinear also regularizes the bias, and stops earlier
    assert np.abs(margin - expected).mean() < 0.3


def test_only_the_most_frequent_ngrams_are_kept():
    ids, labels = texts(2)
    layer = NGramLogits(2, num_ngrams=8, max_n=2)
    layer.build((None, None))
    naive_bayes.fit(layer, ids, labels, seed=1)
    known = set(ops.convert_to_numpy(layer.hashes).tolist())
    hashes = ops.convert_to_numpy(layer.hash_ngrams(ids.to_tensor()))
    counts = {h: (hashes == h).any(axis=1).sum() for h in np.unique(hashes) if h >= 0}
    kept = [count for h, count in counts.items() if h in known]
    assert len(kept) == 8 and min(kept) >= sorted(counts.values())[-8]


def test_without_frequent_ngrams_all_texts_have_the_same_logits():
    layer = NGramLogits(2, num_ngrams=8)
    layer.build((None, None))
    naive_bayes.fit(layer, tf.ragged.constant([[4, 5], [6, 7], [8, 9]], dtype=tf.int32), np.array([0, 1, 1]), seed=1)
    logits = ops.convert_to_numpy(layer(np.array([[4, 5], [8, 9]])))
    assert np.isfinite(logits).all()
    np.testing.assert_array_equal(logits[0], logits[1])


def test_the_same_seed_gives_the_same_weights():
    ids, labels = texts(2)
    values = []
    for _ in range(2):
        layer = NGramLogits(2, num_ngrams=500)
        layer.build((None, None))
        naive_bayes.fit(layer, ids, labels, seed=1)
        values.append(layer.get_weights())
    keras.tree.map_structure(np.testing.assert_array_equal, *values)
