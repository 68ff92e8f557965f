import numpy as np
from scipy import sparse

from pipelines.classification import ngrams


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
    texts = [hashes[row.indices] for row in occurrences]
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
    texts = [np.array([2, 6], np.int32), np.array([], np.int32)]
    assert ngrams.columns_of(texts, np.array([2, 4], np.int32)).to_list() == [[1], []]
