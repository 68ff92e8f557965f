import keras
import numpy as np
import pytest
from keras import ops

from pipelines.training import sampled_softmax
from pipelines.training.sampled_softmax import SampledSoftmaxModel

RNG = np.random.default_rng(0)
N, SIZE, V = 6, 4, 30
FEATURES, EMBEDDINGS = RNG.normal(size=(N, SIZE)).astype("float32"), RNG.normal(size=(V, SIZE)).astype("float32")
TARGETS = np.array([0, 1, 5, 29, 7, 7], "int32")
P = np.log((np.arange(V) + 2) / (np.arange(V) + 1)) / np.log(V + 1)


def test_ids_are_sampled_with_the_documented_probabilities():
    sampled = ops.convert_to_numpy(sampled_softmax.sample_ids(40_000, V, keras.random.SeedGenerator(1)))
    assert abs(P.sum() - 1) < 1e-9
    np.testing.assert_allclose(np.bincount(sampled, minlength=V) / 40_000, P, atol=4 * (0.25 / 40_000) ** 0.5)


def test_the_loss_equals_the_equation():
    sampled = np.array([3, 5, 5, 0, 12], "int32")
    z = FEATURES @ EMBEDDINGS.T
    expected = []
    for row, y in enumerate(TARGETS):
        others = [np.exp(z[row, s]) / (len(sampled) * P[s]) for s in sampled if s != y]
        expected.append(np.log(np.exp(z[row, y]) + sum(others)) - z[row, y])
    got = sampled_softmax.sampled_softmax_loss(
        FEATURES, ops.convert_to_tensor(TARGETS), ops.convert_to_tensor(EMBEDDINGS), ops.convert_to_tensor(sampled)
    )
    np.testing.assert_allclose(ops.convert_to_numpy(got), expected, rtol=1e-4)


def test_with_many_samples_the_loss_is_the_cross_entropy_over_all_tokens():
    z = FEATURES @ EMBEDDINGS.T
    expected = np.log(np.exp(z).sum(axis=1)) - z[np.arange(N), TARGETS]
    sampled = sampled_softmax.sample_ids(100_000, V, keras.random.SeedGenerator(2))
    got = ops.convert_to_numpy(
        sampled_softmax.sampled_softmax_loss(
            FEATURES, ops.convert_to_tensor(TARGETS), ops.convert_to_tensor(EMBEDDINGS), sampled
        )
    )
    np.testing.assert_allclose(got, expected, atol=0.03)


@pytest.mark.long
def test_a_model_learns_and_is_evaluated_over_all_tokens():
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    embedding = keras.layers.ReversibleEmbedding(V, 16)
    features = keras.layers.Dense(16, activation="tanh")(embedding(ids))
    model = SampledSoftmaxModel(ids, features, embedding, num_sampled=8, seed=3)
    model.compile(keras.optimizers.Adam(0.02), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = RNG.integers(0, V, (200, 5)).astype("int32")
    y = (x * 7 + 1) % V
    loss = model.evaluate(x, y, verbose=0)
    assert abs(loss - np.log(V)) < 0.2
    model.fit(x, y, epochs=20, verbose=0)
    assert model.evaluate(x, y, verbose=0) < 0.5
    assert any("seed" in variable.path for variable in model.variables), (
        "the state of the sampling is saved with a checkpoint"
    )
