import collections

import keras
import numpy as np
import pytest
from keras import ops

from layers import NGramLogits
from tests.layers.test_known_ngrams import code_points

PRIOR = np.array([0.5, -0.4, 0.0])


def ngrams(row, max_n):
    """The n-grams of a row, as tuples, without padding, and how often it has them."""
    row = [int(token) for token in row if token]
    return collections.Counter(tuple(row[i : i + n]) for n in range(1, max_n + 1) for i in range(len(row) - n + 1))


@pytest.fixture
def known():
    """A layer of 3 classes that knows some n-grams of a batch, the batch, and a dict n-gram -> (ratios, weights)."""
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 6, size=(6, 9)).astype("int32")
    ids[1, 4:], ids[2, 1:] = 0, 0
    layer = NGramLogits(num_classes=3, num_ngrams=70, max_n=2)
    layer.build(ids.shape)
    grams = sorted(set().union(*(ngrams(row, 2) for row in ids[:4])))
    meaning = {gram: rng.normal(size=(2, 3)).astype("float32") for gram in grams}
    # The hash of an n-gram is that of the text that consists of this n-gram only, at n = its length and position 0.
    hashes = []
    for gram in grams:
        row = ops.convert_to_numpy(layer.hash_ngrams(np.array([gram])))[0]
        hashes.append(row[(len(gram) - 1) * len(gram)])
    assert len(set(hashes)) == len(grams) < 70
    values = np.stack(list(meaning.values()))
    layer.set_ngrams(np.array(hashes), values[:, 0], values[:, 1], np.array([0.1, 0.2, 0.3]), np.zeros(3), PRIOR)
    return layer, ids, meaning


def reference(row, meaning, min_norm, fading, repeats=0.0):
    """The docstring's equation in NumPy."""
    known = [(1 + repeats * np.log(count), *meaning[gram]) for gram, count in ngrams(row, 2).items() if gram in meaning]
    ratios, weights = np.array([value * r for value, r, _ in known]), np.array([w for _, _, w in known])
    norm = np.sqrt((ratios**2).sum(0))
    trust = np.minimum(1, norm / min_norm) ** fading if min_norm else 1
    return trust * ((ratios * weights).sum(0) / norm + [0.1, 0.2, 0.3]) + (1 - trust) * PRIOR


@pytest.mark.any_backend
@pytest.mark.parametrize("repeats", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("min_norm", "fading"), [(0.0, 4), (2.5, 4), (2.5, 8)])
def test_equals_the_equation(known, min_norm, fading, repeats):
    layer, ids, meaning = known
    layer.min_norm.assign([min_norm] * 3)
    layer.repeats.assign([repeats])
    layer.fading = fading
    assert max(ngrams(ids[0], 2).values()) > 1
    expected = [reference(row, meaning, min_norm, fading, repeats) for row in ids]
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids)), expected, atol=1e-5)


@pytest.mark.any_backend
def test_padding_and_other_rows_change_no_result(known):
    layer, ids, _ = known
    alone = ops.convert_to_numpy(layer(ids[1:2, :4]))
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids))[1:2], alone, atol=1e-6)


def test_a_text_without_known_ngrams_gives_the_prior(known):
    layer, _, _ = known
    layer.min_norm.assign([1.0] * 3)
    got = ops.convert_to_numpy(layer(np.array([[77, 78, 79], [0, 0, 0]])))
    np.testing.assert_allclose(got, [PRIOR] * 2, atol=1e-6)


def test_a_layer_without_known_ngrams_gives_zero_logits():
    np.testing.assert_array_equal(ops.convert_to_numpy(NGramLogits(2, 10)(np.array([[1, 2, 3]]))), [[0, 0]])


@pytest.mark.any_backend
def test_ngrams_of_characters_count_beside_those_of_tokens():
    layer = NGramLogits(2, 10, max_n=1, max_characters=3)
    ids, characters = np.array([[7, 0]]), np.concatenate([code_points(" ab "), [[0]]], axis=1)
    layer.build(ids.shape, characters.shape)
    hashes = ops.convert_to_numpy(layer.hash_ngrams(ids, characters))[0]
    hashes = hashes[hashes >= 0]
    assert (hashes % 2).tolist() == [0, 1, 1, 1, 1, 1]  # 7; " a", "ab", "b ", " ab", "ab "
    layer.set_ngrams(hashes[:2], np.ones((2, 2)), np.array([[1, 2], [3, 5]]), np.zeros(2), np.zeros(2), np.zeros(2))
    got = ops.convert_to_numpy(layer(ids, characters))
    np.testing.assert_allclose(got, [[4 / 2**0.5, 7 / 2**0.5]], atol=1e-6)


def test_a_model_with_known_ngrams_survives_saving(known, survives_saving):
    layer, ids, _ = known
    inputs = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([inputs], layer(inputs)), [ids])


def test_no_weight_is_trainable():
    layer = NGramLogits(2, 10)
    layer.build((None, None))
    assert not layer.trainable_variables
    assert layer.count_params() == 10 * (1 + 2 * 2) + 3 * 2 + 1


def test_more_ngrams_than_num_ngrams_are_refused():
    layer = NGramLogits(2, 3)
    layer.build((None, None))
    with pytest.raises(ValueError, match="4 n-grams were given, but num_ngrams is 3"):
        layer.set_ngrams(
            np.arange(4, dtype="int32"), np.ones((4, 2)), np.ones((4, 2)), np.zeros(2), np.zeros(2), np.zeros(2)
        )


def test_passes_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        NGramLogits,
        {"num_classes": 2, "num_ngrams": 10},
        input_data=np.array([[1, 2, 0], [3, 4, 5]]),
        expected_output_shape=(2, 2),
        expected_num_trainable_weights=0,
        expected_num_non_trainable_weights=7,
        expected_num_losses=0,
        run_training_check=False,
    )


@pytest.mark.parametrize("arguments", [(0, 10), (2, 0), (2, 10, 0), (2, 10, 3, -1), (2, 10, 3, 1)])
def test_invalid_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        NGramLogits(*arguments)
