import numpy as np
import pytest
from keras import ops
from scipy import sparse

from layers import NGramLogits, SparseNGramLogits

BIAS, PRIOR = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, -0.4, 0.0, 1.0])
REPEATS = 0.7


@pytest.fixture
def both():
    """An NGramLogits and a SparseNGramLogits with the same weights, most of them zero, and token ids [texts, time]."""
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 7, size=(6, 9)).astype("int32")
    ids[1, 4:], ids[2, 1:], ids[3] = 0, 0, 0
    dense = NGramLogits(num_classes=4, num_ngrams=70, max_n=2)
    layer = SparseNGramLogits(num_classes=4, num_ngrams=70, num_weights=90, max_n=2)
    for each in (dense, layer):
        each.build(ids.shape)
    hashes = np.unique(ops.convert_to_numpy(dense.hash_ngrams(ids)))[1:40:2].astype("int32")  # without -1
    ratios = rng.uniform(1, 3, len(hashes)).astype("float32")
    weights = (rng.normal(size=(len(hashes), 4)) * (rng.uniform(size=(len(hashes), 4)) < 0.4)).astype("float32")
    weights[3] = 0  # an n-gram without weights counts in the norm
    of_classes = np.repeat(ratios[:, None], 4, axis=1)
    dense.set_ngrams(hashes, of_classes, weights, BIAS, np.full(4, 2.5), PRIOR, REPEATS)
    layer.set_ngrams(hashes, ratios, sparse.csr_array(weights), BIAS, 2.5, PRIOR, REPEATS)
    return dense, layer, ids


@pytest.mark.any_backend
@pytest.mark.parametrize("fading", [4, 8])
def test_equals_the_dense_layer(both, fading):
    dense, layer, ids = both
    dense.fading = layer.fading = fading
    expected, got = (ops.convert_to_numpy(each(ids)) for each in (dense, layer))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    np.testing.assert_allclose(got[3], PRIOR, atol=1e-6)  # padding alone
    assert np.ptp(got, axis=0).min() > 0.1


@pytest.mark.any_backend
def test_a_batch_without_known_ngrams_has_the_logits_of_the_prior(both):
    _, layer, _ = both
    np.testing.assert_allclose(ops.convert_to_numpy(layer(np.array([[77, 78]]))), [PRIOR], atol=1e-6)


def test_more_weights_than_num_weights_are_refused(both):
    _, layer, _ = both
    hashes, ratios = np.arange(0, 60, 2, dtype="int32"), np.ones(30, "float32")
    with pytest.raises(ValueError, match="120 weights were given, but num_weights is 90"):
        layer.set_ngrams(hashes, ratios, sparse.csr_array(np.ones((30, 4))), BIAS, 0, PRIOR)


def test_passes_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        SparseNGramLogits,
        {"num_classes": 3, "num_ngrams": 10, "num_weights": 20},
        input_data=np.array([[1, 2, 0], [3, 4, 5]]),
        expected_output_shape=(2, 3),
        expected_num_trainable_weights=0,
        expected_num_non_trainable_weights=9,
        expected_num_losses=0,
        run_training_check=False,
    )


@pytest.mark.parametrize("arguments", [(0, 10, 9), (2, 0, 9), (2, 10, 0), (2, 10, 9, 0), (2, 10, 9, 3, 1)])
def test_invalid_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        SparseNGramLogits(*arguments)
