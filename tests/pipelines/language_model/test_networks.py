import numpy as np
import tensorflow as tf

from pipelines.language_model import networks, task
from pipelines.training.checkpoints import Position
from pipelines.training.fit import copy_weights
from tests.pipelines.language_model.models import TEXT, make_config


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
