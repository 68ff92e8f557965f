import keras
import numpy as np
import pytest

from pipelines.networks.causal import causal_network
from pipelines.training.sampled_softmax import SampledSoftmaxModel

SETTINGS = {
    "vocabulary_size": 20,
    "num_layers": 2,
    "hidden_size": 8,
    "embedding_size": 6,
    "num_heads": 2,
    "positions": "rotary",
    "window": 10,
    "dropout": 0.0,
    "sequence_dropout": False,
    "tie_weights": False,
    "num_sampled": 0,
    "seed": 1,
}
IDS = np.random.default_rng(0).integers(4, 20, (2, 9)).astype("int32")


def build(**settings):
    return causal_network(**(SETTINGS | settings))


@pytest.mark.parametrize("tie_weights", [False, True])
@pytest.mark.parametrize("model", ["simple", "gru", "lstm", "peephole", "transformer"])
def test_logits_depend_on_the_previous_tokens_alone(model, tie_weights):
    network = build(model=model, tie_weights=tie_weights)
    logits = network(IDS).numpy()
    assert logits.shape == (2, 9, 20) and logits.dtype == np.float32
    changed = IDS.copy()
    changed[:, 5] = (changed[:, 5] + 1) % 16 + 4
    other = network(changed).numpy()
    np.testing.assert_allclose(other[:, :5], logits[:, :5], atol=1e-6)
    assert (np.abs(other[:, 5:] - logits[:, 5:]).max(axis=-1) > 0).all()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_a_transformer_knows_the_order_of_the_tokens(positions):
    network = build(model="transformer", positions=positions, num_layers=1)
    swapped = IDS.copy()
    swapped[:, [0, 1]] = IDS[:, [1, 0]]
    assert np.abs(network(swapped).numpy()[:, -1] - network(IDS).numpy()[:, -1]).max() > 1e-6


@pytest.mark.parametrize(("scale_embeddings", "factor"), [(True, 4.0), (False, 1.0)])
def test_sines_are_added_to_scaled_embeddings(scale_embeddings, factor):
    settings = {"positions": "sinusoidal", "hidden_size": 16, "num_heads": 2, "scale_embeddings": scale_embeddings}
    network = build(model="transformer", **settings)
    vectors = network.get_layer("tokens")(IDS).numpy()  # [2, 9, 16]
    angles = np.arange(9)[:, None] / 10000 ** (np.arange(0, 16, 2) / 16)
    sines = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(9, 16)
    with_positions = keras.Model(network.inputs[0], network.get_layer("positions").output)(IDS).numpy()
    np.testing.assert_allclose(with_positions, factor * vectors + sines, atol=1e-5)


def test_the_sampled_softmax_is_for_training_alone():
    sizes = {"model": "lstm", "tie_weights": True, "num_sampled": 5}
    assert isinstance(build(**sizes, streams=2), SampledSoftmaxModel)
    assert build(**sizes, streams=2)(IDS).shape == (2, 9, 6)  # features
    assert build(**sizes)(IDS).shape == (2, 9, 20)  # logits


def test_the_weights_of_training_and_inference_models_have_the_same_order():
    for model in ("gru", "transformer"):
        shapes = [
            [w.shape for w in build(model=model, tie_weights=True, streams=s).trainable_weights] for s in (None, 2)
        ]
        assert shapes[0] == shapes[1]


def test_sequence_dropout_uses_one_mask_for_all_tokens():
    for sequence_dropout in (False, True):
        network = build(model="simple", num_layers=1, dropout=0.5, sequence_dropout=sequence_dropout)
        dropout = next(layer for layer in network.layers if "dropout" in layer.name)
        kept = dropout(np.ones((1, 50, 6), "float32"), training=True).numpy()[0] > 0
        assert (kept == kept[0]).all() == sequence_dropout
