import numpy as np
import tensorflow as tf

from pipelines.tagging import hashed
from pipelines.tagging.features import normalized


def hashes(*tokens):
    tokens = tf.constant(tokens, tf.string)
    return hashed.hashes_of(tokens, normalized(tokens)).numpy()


def test_shapes():
    tokens = ["McDonald", "USA", "U.S.", "3,400", "iPhone12", "", "Stra\u00dfe", "\u5927\u962a", "e\u0301t\u00e9"]
    expected = ["XxXxx", "XX", "X.X.", "0,00", "xXxx00", "", "Xxx", "xx", "xx"]
    assert [shape.decode() for shape in hashed.shapes_of(tf.constant(tokens)).numpy()] == expected


def test_equal_words_affixes_and_shapes_have_equal_hashes():
    runs, ran, capital = hashes("runs", "rund", "RUNS")
    assert (runs > 0).sum() == 2 + 6  # word, shape, and prefixes and suffixes of one to three characters
    same = runs == ran
    assert same.tolist() == [False, True, *[True, False] * 3, True, True]  # shape, prefixes; none has affixes of four
    assert (runs == capital).tolist() == [True, False, *[True] * 8]


def test_no_hash_of_what_a_word_has_is_zero():
    found = hashes("", "a", "\U0001f600", "word")
    assert (found[:, :2] > 0).all() and found.dtype == np.int32 and found.shape == (4, hashed.NUM_HASHES)
    assert (found[:3, 2:] == 0).all()  # too short for affixes
    assert len(np.unique(found[3])) == 1 + 2 + 6
