"""The feed-forward and the averaging model against their equations in NumPy."""

import keras
import numpy as np
import pytest

from pipelines.language_model import networks
from pipelines.text.tokenizers import PAD
from tests.pipelines.language_model.models import make_config

IDS = np.array([[5, 9, 7, 8, 6, 4, 9]], "int32")


def make(model, **flags):
    flags = {"order": 4, "hidden_size": 6, "embedding_size": 3, "num_layers": 1} | flags
    keras.utils.set_random_seed(1)
    config = make_config(model, **flags)
    config.check()
    network = networks.build(config, 20)
    for i, weight in enumerate(network.weights):
        weight.assign(np.random.default_rng(i).normal(size=weight.shape))
    return network


def embedded_windows(network):
    """The embeddings of the last three tokens at each position, with those of PAD before the first: [7, 3, 3]."""
    padded = np.concatenate([[PAD, PAD], IDS[0]])
    table = network.get_layer("tokens").get_weights()[0]
    return np.stack([table[padded[t : t + 3]] for t in range(7)]), np.stack([padded[t : t + 3] for t in range(7)])


def logits(network, hidden):
    kernel, bias = network.get_layer("logits").get_weights()
    return hidden @ kernel + bias


def test_feedforward_is_a_hidden_layer_over_the_concatenated_embeddings():
    network = make("feedforward")
    vectors, _ = embedded_windows(network)
    kernel, bias = network.get_layer("hidden").get_weights()
    hidden = np.tanh(vectors.reshape(7, 9) @ kernel.reshape(9, 6) + bias)
    np.testing.assert_allclose(network(IDS)[0], logits(network, hidden), atol=1e-4)


def test_average_is_a_hidden_layer_over_the_mean_of_the_embeddings():
    network = make("average")
    vectors, ids = embedded_windows(network)
    valid = (ids != PAD)[..., None]
    kernel, bias = network.get_layer("hidden").get_weights()
    hidden = np.tanh((vectors * valid).sum(1) / valid.sum(1) @ kernel + bias)
    np.testing.assert_allclose(network(IDS)[0], logits(network, hidden), atol=1e-4)


@pytest.mark.parametrize(("model", "knows_order"), [("average", False), ("feedforward", True)])
def test_only_feedforward_tells_dog_bites_man_from_man_bites_dog(model, knows_order):
    network = make(model)
    one, other = network(np.array([[5, 9, 7]], "int32"))[0, -1], network(np.array([[7, 9, 5]], "int32"))[0, -1]
    assert (np.abs(one - other).max() > 1e-3) == knows_order


@pytest.mark.parametrize("model", ["feedforward", "average"])
def test_with_the_sampled_softmax_training_and_inference_have_the_same_weights(model):
    flags = {"order": 4, "tokenizer": "word", "tie_weights": True, "num_sampled": 5, "hidden_size": 6, "num_layers": 1}
    config = make_config(model, embedding_size=3, **flags)
    training, inference = networks.build(config, 20, streams=2), networks.build(config, 20)
    assert [w.shape for w in training.weights] == [w.shape for w in inference.weights]
    assert training(np.zeros((2, 5), "int32")).shape == (2, 5, 3) and inference(IDS).shape == (1, 7, 20)
