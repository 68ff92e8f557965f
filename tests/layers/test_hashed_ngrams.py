import keras
import numpy as np
import pytest
from keras import ops

from layers import HashedNGrams


def reference(ids, n, num_buckets):
    """The docstring's equation with Python integers, which cannot overflow."""
    out = np.zeros_like(ids)
    for b, row in enumerate(ids.tolist()):
        for t in range(len(row) - n + 1):
            gram = row[t : t + n]
            if 0 not in gram:
                out[b, t] = sum(w * 1009 ** (n - 1 - i) for i, w in enumerate(gram)) % (num_buckets - 1) + 1
    return out


@pytest.mark.any_backend
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("num_buckets", [2, 3, 1000, 2**18, 2**21])
def test_equals_the_equation(n, num_buckets):
    ids = np.random.default_rng(n).integers(0, 2**20, size=(7, 30)).astype("int32")
    got = ops.convert_to_numpy(HashedNGrams(n, num_buckets)(ids))
    np.testing.assert_array_equal(got, reference(ids, n, num_buckets))


def test_the_largest_ids_do_not_overflow():
    ids = np.full((1, 4), 2**31 - 1, "int32")
    np.testing.assert_array_equal(ops.convert_to_numpy(HashedNGrams(3, 2**21)(ids)), reference(ids, 3, 2**21))


@pytest.mark.any_backend
def test_padding_adds_only_padding():
    ids = np.array([[5, 6, 7]], "int32")
    padded = np.array([[5, 6, 7, 0, 0]], "int32")
    layer = HashedNGrams(2, 100)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(layer(padded)), np.pad(ops.convert_to_numpy(layer(ids)), ((0, 0), (0, 2)))
    )


def test_a_text_shorter_than_n_has_no_ngram():
    assert not ops.convert_to_numpy(HashedNGrams(3, 100)(np.array([[4, 5]], "int32"))).any()


def test_a_model_with_hashed_ngrams_survives_saving(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], HashedNGrams(2, 50)(ids)), [np.arange(1, 13, dtype="int32").reshape(2, 6)])


@pytest.mark.parametrize(("n", "num_buckets"), [(1, 10), (2, 1), (2, 2**21 + 1)])
def test_invalid_sizes_are_refused(n, num_buckets):
    with pytest.raises(ValueError, match="n is 1|num_buckets is"):
        HashedNGrams(n, num_buckets)
