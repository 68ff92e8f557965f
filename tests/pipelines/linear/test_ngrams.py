import numpy as np
import tensorflow as tf
from scipy import sparse

from pipelines.linear import ngrams


def text_of(*hashes, count=1):
    text = np.empty(len(hashes), ngrams.NGRAM)
    text["hash"], text["count"] = hashes, count
    return text


def most_telling(hashes, occurrences, labels, number):
    counts, classes = ngrams.num_texts_with(occurrences), ngrams.by_class(occurrences, labels)
    return ngrams.most_telling(hashes, counts, occurrences.shape[0], classes, number)


def test_the_most_telling_ngrams_are_those_of_scikit_learn():
    from sklearn.feature_selection import chi2

    rng = np.random.default_rng(0)
    dense = (rng.random((60, 40)) < 0.3).astype(np.float32)
    dense[:, 3] = 0
    occurrences = sparse.csr_matrix(dense)
    labels = rng.integers(0, 3, 60)
    hashes = np.sort(rng.choice(1000, 40, replace=False)).astype(np.int32)
    texts = [text_of(*hashes[row.indices]) for row in occurrences]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nan_to_num(chi2(occurrences, labels)[0])
    found = most_telling(hashes, occurrences, labels, 10)
    assert set(found.hashes.tolist()) == set(hashes[np.argsort(-expected)[:10]].tolist())
    assert (np.diff(found.hashes) > 0).all() and len(found.ratios) == 10
    for row, columns in zip(occurrences.toarray(), ngrams.columns_of(texts, found.hashes).to_list()):
        assert [found.hashes[i - 1] for i in columns] == [h for h in hashes[row > 0] if h in found.hashes]


def test_several_labels_add_their_statistics():
    occurrences = sparse.csr_matrix(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], np.float32))
    labels = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    found = most_telling(np.array([2, 4, 6], np.int32), occurrences, labels, 2)
    assert found.hashes.tolist() == [2, 4]  # the third is in a text of each class


def test_ngrams_of_fewer_than_three_texts_are_left_out_if_there_are_others():
    occurrences = sparse.csr_matrix(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32))
    found = most_telling(np.array([2, 4, 6], np.int32), occurrences, np.array([0, 0, 1, 1]), 3)
    assert found.hashes.tolist() == [2]


def test_a_text_without_known_ngrams_has_no_columns():
    texts = [text_of(2, 6), text_of()]
    assert ngrams.columns_of(texts, np.array([2, 4], np.int32)).to_list() == [[1], []]


def test_each_ngram_of_a_text_has_its_number():
    inputs = {"ids": tf.ragged.constant([[5, 6, 5, 6, 5], [7], [9] * 300, [4] * 70_000], dtype=tf.int32)}
    first, second, third, fourth = ngrams.hash_texts(inputs, max_n=2, max_characters=0)
    assert sorted(first["count"].tolist()) == [2, 2, 2, 3]  # 6; 5 6; 6 5; 5
    assert second["count"].tolist() == [1] and sorted(third["count"].tolist()) == [299, 300]  # 9 9; 9
    assert sorted(fourth["count"].tolist()) == [2**16 - 1] * 2
    assert (np.diff(first["hash"]) > 0).all()


def test_counts_become_what_an_ngram_weighs():
    texts = [text_of(2, 4, count=3), text_of(4, 8)]
    found = ngrams.count(texts, 10)
    assert found.hashes.tolist() == [2, 4, 8]
    np.testing.assert_array_equal(found.occurrences.toarray(), [[3, 3, 0], [0, 1, 1]])
    assert ngrams.num_texts_with(found.occurrences).tolist() == [1, 2, 1]
    once, logarithm = (ngrams.with_repeats(found.occurrences, repeats).toarray() for repeats in (0, 1))
    np.testing.assert_array_equal(once, [[1, 1, 0], [0, 1, 1]])
    value = 1 + np.log(3)
    np.testing.assert_allclose(logarithm, [[value, value, 0], [0, 1, 1]], rtol=1e-6)
