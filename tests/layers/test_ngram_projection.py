import numpy as np
import pytest
from keras import ops

from layers import NGramLogits, NGramProjection


@pytest.fixture
def known():
    """A layer that knows some of the tokens 1 to 9 as n-grams, ids, and token -> (column, ratio)."""
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 10, size=(5, 7)).astype("int32")
    ids[1, 4:], ids[2, 1:] = 0, 0
    layer = NGramProjection(units=4, num_ngrams=8, max_n=1)
    layer.build(ids.shape)
    tokens = np.arange(1, 7)
    hashes = ops.convert_to_numpy(NGramLogits(1, 1, max_n=1).hash_ngrams(tokens[None]))[0]
    ratios = rng.uniform(1, 3, size=6).astype("float32")
    layer.set_ngrams(hashes, ratios)
    layer.bias.assign(rng.normal(size=4))
    order = np.argsort(hashes)
    return layer, ids, {int(token): (int(np.flatnonzero(order == i)[0]), ratios[i]) for i, token in enumerate(tokens)}


def reference(layer, row, meaning):
    """The docstring's equation in NumPy."""
    kernel, bias = ops.convert_to_numpy(layer.kernel), ops.convert_to_numpy(layer.bias)
    found = [meaning[token] for token in set(row.tolist()) if token in meaning]
    if not found:
        return bias
    norm = np.sqrt(sum(ratio**2 for _, ratio in found))
    return sum(ratio * kernel[column] for column, ratio in found) / norm + bias


@pytest.mark.any_backend
def test_equals_the_equation(known):
    layer, ids, meaning = known
    expected = [reference(layer, row, meaning) for row in ids]
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids)), expected, atol=1e-6)


@pytest.mark.any_backend
def test_columns_give_the_same_as_the_texts(known):
    layer, ids, meaning = known
    columns = np.zeros((5, 9), "int32")
    for row, text in zip(columns, ids):
        numbers = sorted({meaning[token][0] + 1 for token in text.tolist() if token in meaning})
        row[: len(numbers)] = numbers
    np.testing.assert_allclose(
        ops.convert_to_numpy(layer(ids, columns=columns)), ops.convert_to_numpy(layer(ids)), atol=1e-6
    )


@pytest.mark.any_backend
def test_padding_and_other_rows_change_nothing(known):
    layer, ids, _ = known
    alone = ops.convert_to_numpy(layer(ids[1:2, :4]))
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids))[1:2], alone, atol=1e-6)


def test_a_text_without_known_ngrams_gives_the_bias(known):
    layer, _, _ = known
    got = ops.convert_to_numpy(layer(np.array([[8, 9, 0], [0, 0, 0]])))
    np.testing.assert_allclose(got, np.tile(ops.convert_to_numpy(layer.bias), (2, 1)), atol=1e-6)


def test_sizes_that_make_no_layer():
    for arguments in ({"units": 0, "num_ngrams": 5}, {"units": 5, "num_ngrams": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            NGramProjection(**arguments)
    layer = NGramProjection(units=2, num_ngrams=2)
    layer.build((None, None))
    with pytest.raises(ValueError, match="3 n-grams were given"):
        layer.set_ngrams(np.arange(3), np.ones(3))
