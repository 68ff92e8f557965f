import keras
import numpy as np
import pytest
from keras import ops
from scipy import sparse

from layers import TokenFeatureLogits

TEMPLATES = (((0, 0),), ((0, 1),), ((-1, 0),), ((2, 1),), ((-1, 0), (0, 0)), ((0, 1), (1, 0)))
BIAS = np.array([0.1, 0.2, 0.3], "float32")


def features(row):
    """The features of each token of a row of hashes [time, values]: sets of (template, values)."""
    values = dict(enumerate(row.tolist()))
    found = []
    for t in range(len(row)):
        joined = {k: tuple(values.get(t + at, (0, 0))[v] for at, v in parts) for k, parts in enumerate(TEMPLATES)}
        own = {k: [values[t][v] for at, v in parts if at == 0] for k, parts in enumerate(TEMPLATES)}
        found.append({(k, joined[k]) for k in joined if all(own[k])})
    return found


@pytest.fixture
def known():
    """A layer that knows some features of a batch of hashes, the batch, and a dict feature -> weights."""
    rng = np.random.default_rng(0)
    hashes = rng.choice([0, 3, 2**30, 2**31 - 1], size=(4, 6, 2), p=[0.1, 0.3, 0.3, 0.3]).astype("int32")
    hashes[:, 0] = np.maximum(hashes[:, 0], 3)
    hashes[1, 4:], hashes[2, 1:] = 0, 0
    layer = TokenFeatureLogits(num_tags=3, num_features=90, num_weights=300, templates=TEMPLATES)
    layer.build(hashes.shape)
    of_features = {}
    hashed = ops.convert_to_numpy(layer.hash_features(hashes))
    for row, of_row in zip(hashes[:3], hashed[:3], strict=True):
        for found, of_token in zip(features(row), of_row, strict=True):
            of_features |= {feature: int(of_token[feature[0]]) for feature in found}
    assert len(set(of_features.values())) == len(of_features) < 90 and min(of_features.values()) >= 0
    weights = rng.normal(size=(len(of_features), 3)) * (rng.random((len(of_features), 3)) < 0.5)
    meaning = dict(zip(of_features, weights, strict=True))
    order = np.argsort(list(of_features.values()))
    layer.set_features(
        np.array(list(of_features.values()), "int32")[order], sparse.csr_matrix(weights[order].astype("float32")), BIAS
    )
    return layer, hashes, meaning


@pytest.mark.any_backend
def test_equals_the_equation(known):
    layer, hashes, meaning = known
    expected = [
        [sum((meaning[each] for each in found if each in meaning), start=BIAS) for found in features(row)]
        for row in hashes
    ]
    np.testing.assert_allclose(ops.convert_to_numpy(layer(hashes)), expected, atol=1e-5)


@pytest.mark.any_backend
def test_padding_and_other_rows_change_no_result(known):
    layer, hashes, _ = known
    alone = ops.convert_to_numpy(layer(hashes[1:2, :4]))
    np.testing.assert_allclose(ops.convert_to_numpy(layer(hashes))[1:2, :4], alone, atol=1e-6)


def test_the_place_and_the_template_make_another_feature():
    layer = TokenFeatureLogits(1, 1, 1, [[(0, 0)], [(0, 1)], [(-1, 0)], [(1, 0)]])
    hashed = ops.convert_to_numpy(layer.hash_features(np.array([[[7, 7], [7, 7]]], "int32")))
    assert len(np.unique(hashed[0, 1])) == 4 and (hashed >= 0).all()
    assert (hashed[0, 0, :2] == hashed[0, 1, :2]).all()  # of the token itself, which are equal
    assert hashed[0, 0, 2] != hashed[0, 1, 2]  # the first token has none before it


def test_a_new_layer_gives_zeros():
    layer = TokenFeatureLogits(2, 10, 10, [[(0, 0)]])
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(np.array([[[5], [0]]]))), np.zeros((1, 2, 2)))


def test_a_model_survives_saving(known, survives_saving):
    layer, hashes, _ = known
    inputs = keras.Input((None, 2), dtype="int32")
    survives_saving(keras.Model([inputs], layer(inputs)), [hashes])


def test_no_weight_is_trainable(known):
    layer, _, _ = known
    assert not layer.trainable_variables
    assert layer.count_params() == 2 * 90 + 2 * 300 + 3 + 1


def test_too_many_features_and_weights_are_refused():
    layer = TokenFeatureLogits(2, 3, 4, [[(0, 0)]])
    layer.build((None, None, 1))
    hashes = np.arange(4, dtype="int32")
    with pytest.raises(ValueError, match="4 features were given, but num_features is 3"):
        layer.set_features(hashes, sparse.csr_matrix((4, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="6 weights were given, but num_weights is 4"):
        layer.set_features(hashes[:3], sparse.csr_matrix(np.ones((3, 2))), np.zeros(2))


def test_passes_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        TokenFeatureLogits,
        {"num_tags": 3, "num_features": 10, "num_weights": 20, "templates": TEMPLATES},
        input_data=np.array([[[1, 2], [3, 4]], [[5, 6], [0, 0]]], "int32"),
        expected_output_shape=(2, 2, 3),
        expected_num_trainable_weights=0,
        expected_num_non_trainable_weights=5,
        expected_num_losses=0,
        run_training_check=False,
    )


@pytest.mark.parametrize(
    "arguments", [(0, 1, 1, [[(0, 0)]]), (1, 0, 1, [[(0, 0)]]), (1, 1, 0, [[(0, 0)]]), (1, 1, 1, []), (1, 1, 1, [[]])]
)
def test_invalid_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="it must"):
        TokenFeatureLogits(*arguments)
