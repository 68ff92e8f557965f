import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import networks, task
from pipelines.language_model.config import WITH_ORDER
from pipelines.runs import continuing
from pipelines.settings.fields import RECURRENT
from pipelines.training import checkpoints
from pipelines.training.checkpoints import Position
from pipelines.training.fit import copy_weights
from tests.pipelines.language_model.models import TEXT, make_config
from tests.pipelines.small_runs import write_run


def test_training_carries_the_state_from_window_to_window(made):
    config, tokenizer, network, _ = made
    trained = networks.build(config, tokenizer.vocabulary_size, streams=2)
    copy_weights(network, trained)
    ids = tokenizer.encode(tf.constant([TEXT[:24], TEXT[30:54]]))[:, :24].to_tensor()
    windows = [trained(ids[:, i : i + 12]).numpy() for i in (0, 12)]
    if config.model == "transformer":
        np.testing.assert_allclose(windows[1], network(ids[:, 12:]).numpy(), atol=1e-5)
        return
    np.testing.assert_allclose(np.concatenate(windows, axis=1), network(ids).numpy(), atol=1e-5)
    on_epoch_begin = task.fit_options(config, None, trained).on_epoch_begin
    on_epoch_begin(Position(step=3))  # the rest of an interrupted epoch: the states of the checkpoint are kept
    assert any(np.any(layer.states[0]) for layer in trained.layers if getattr(layer, "stateful", False))
    on_epoch_begin(Position())
    np.testing.assert_allclose(trained(ids[:, :12]).numpy(), windows[0], atol=1e-6)


def test_the_settings_reach_the_network():
    config = make_config("transformer", positions="learned", num_layers=1, hidden_size=12, window=7, tie_weights=True)
    model = networks.build(config, 30)
    assert model.get_layer("positions").weights[0].shape == (7, 12)
    assert {"block_1", "last_norm"} <= {layer.name for layer in model.layers}
    assert "logits" not in {layer.name for layer in model.layers}  # the token embeddings score the tokens


def grown_pair(config, folder):
    """A network with 20 tokens, and one with 23 that has taken over its weights."""
    small, large = networks.build(config, 20), networks.build(config, 23)
    for i, weight in enumerate(small.trainable_variables):
        weight.assign(weight + np.random.default_rng(i).normal(scale=0.3, size=weight.shape))
    run = write_run(folder, "first", task="char-lm", config={})
    (run / "checkpoints").mkdir()
    checkpoints.save(run / "checkpoints" / "best.npz", small.weights, Position())
    continuing.restore(dataclasses.replace(config, start_weights=str(run / "checkpoints" / "best.npz")), large)
    return small, large


@pytest.mark.parametrize("model", [*RECURRENT, "transformer", "feedforward", "average"])
def test_a_network_whose_vocabulary_grew_gives_known_tokens_the_same_probabilities(model, tmp_path):
    small, large = grown_pair(make_config(model, **({"order": 3} if model in WITH_ORDER else {})), tmp_path)
    ids = np.random.default_rng(1).integers(2, 20, (2, 12))
    before, after = (tf.nn.softmax(network(ids)).numpy() for network in (small, large))
    known = [0, *range(2, 20)]
    np.testing.assert_allclose(after[..., known], before[..., known], atol=1e-5)
    np.testing.assert_allclose(after[..., [1, 20, 21, 22]].sum(axis=-1), before[..., 1], atol=1e-5)
    new = np.where(ids < 5, 21, ids)  # new tokens are read as the unknown one
    np.testing.assert_allclose(large(new), large(np.where(ids < 5, 1, ids)), atol=1e-5)


@pytest.mark.parametrize("model", ["lstm", "transformer", "average"])
def test_new_tokens_of_tied_embeddings_are_as_improbable_as_the_rarest_known_ones(model, tmp_path):
    order = {"order": 3} if model in WITH_ORDER else {}
    small, large = grown_pair(make_config(model, tie_weights=True, **order), tmp_path)
    ids = np.random.default_rng(1).integers(2, 20, (2, 12))
    np.testing.assert_allclose(large(ids)[..., :20], small(ids), atol=1e-5)
    probabilities = tf.nn.softmax(large(ids)).numpy()
    assert np.all(probabilities[..., 20:] <= probabilities[..., [18, 19]].mean(axis=-1, keepdims=True) + 1e-6)
