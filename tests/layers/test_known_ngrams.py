import numpy as np
import pytest
from keras import ops

from layers import NGramLogits
from layers.known_ngrams import KnownNGrams


@pytest.mark.any_backend
def test_finds_the_known_ngrams_of_each_text_and_how_often_it_has_them():
    layer = KnownNGrams(10, max_n=1, max_characters=0, sizes={})
    ids = np.array([[3, 5, 3, 7, 3], [7, 4, 7, 0, 0], [0, 0, 0, 0, 0], [9, 9, 9, 9, 9]])
    layer.build(ids.shape)
    known = np.sort(ops.convert_to_numpy(layer.hash_ngrams(np.array([[3, 7, 9]])))[0])
    layer.hashes.assign(np.append(known, np.full(7, 2**31 - 1)))
    of_token = {token: int(np.searchsorted(known, layer.hash_ngrams(np.array([[token]]))[0, 0])) for token in (3, 7, 9)}
    row, index, count = (ops.convert_to_numpy(each).tolist() for each in layer.find(ids, None))
    expected = [(0, of_token[3], 3), (0, of_token[7], 1), (1, of_token[7], 2), (3, of_token[9], 5)]
    assert sorted(zip(row, index, count, strict=True)) == sorted(expected)


def test_different_ngrams_have_different_hashes():
    layer = NGramLogits(2, 10, max_n=3)
    ids = np.random.default_rng(0).integers(1, 30_000, size=(50, 400))
    hashes = ops.convert_to_numpy(layer.hash_ngrams(ids)).reshape(50, 3, 400)
    assert (hashes[:, 0] >= 0).all() and (hashes[:, 1, -1] == -1).all() and (hashes[:, 2, -2:] == -1).all()
    distinct = len(np.unique(hashes[hashes >= 0]))
    expected = len(np.unique(ids)) + sum(
        len(np.unique(np.lib.stride_tricks.sliding_window_view(ids, n, axis=1).reshape(-1, n), axis=0)) for n in (2, 3)
    )
    # Among 50,000 random numbers below 2**30, one or two pairs are equal.
    assert expected - 10 <= distinct <= expected


def code_points(text):
    return np.array([[ord(character) for character in text]], "int32")


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "text", ["the thin thing", "a", "\u6211\u7231\u4f60, \u4e0d\u662f\u5417", "l'\u00e9t\u00e9 \U0001f600"]
)
def test_the_ngrams_of_characters_are_those_of_scikit_learn(text):
    from sklearn.feature_extraction.text import CountVectorizer

    layer = NGramLogits(2, 10, max_n=1, max_characters=4)

    def hashes(text):
        found = ops.convert_to_numpy(layer.hash_ngrams(np.array([[0]]), code_points(text)))[0]
        return set(found[found >= 0].tolist())

    expected = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False).fit([text]).vocabulary_
    # scikit-learn counts a short word, with its spaces, once as an n-gram of any length.
    expected = {ngram for ngram in expected if 2 <= len(ngram) <= 4}
    assert hashes(f" {text} ") == set().union(*(hashes_of_ngram(layer, ngram) for ngram in expected))


def hashes_of_ngram(layer, ngram):
    """The hash of a whole n-gram: the one that starts at its first character and is as long as it."""
    found = ops.convert_to_numpy(layer.hash_ngrams(np.array([[0]]), code_points(ngram)))[0, 1:]
    return {int(found[(len(ngram) - 2) * len(ngram)])}


@pytest.mark.any_backend
def test_the_same_ngram_in_two_fields_is_two_ngrams():
    """Each field has the n-grams of one that stands alone; padding and the mark change nothing."""
    layer = KnownNGrams(10, max_n=2, max_characters=3, sizes={}, marks=(9, ord("|")))

    def hashes(ids, text):
        found = ops.convert_to_numpy(layer.hash_ngrams(np.array([ids]), code_points(text)))[0]
        return set(found[found >= 0].tolist())

    first, second = hashes([3, 4, 0], " ab "), hashes([9, 3, 4], "| ab ") - hashes([9], "|")
    assert not first & second and len(first) == len(second - hashes([9, 3], "|")) == 3 + 5
    both = hashes([3, 4, 9, 3, 4], " ab | ab ")
    assert first <= both and hashes([9, 3, 4], "| ab ") <= both
    plain = KnownNGrams(10, max_n=2, max_characters=3, sizes={})
    found = ops.convert_to_numpy(plain.hash_ngrams(np.array([[3, 4, 0]]), code_points(" ab ")))[0]
    assert set(found[found >= 0].tolist()) == first  # the first field has the n-grams of a text of one field
