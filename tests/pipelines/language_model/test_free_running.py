import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import networks
from pipelines.language_model.free_running import FreeRunningModel
from pipelines.language_model.task import compile_model
from tests.pipelines.language_model.models import make_config

IDS = np.random.default_rng(0).integers(4, 30, (3, 6)).astype(np.int32)


def build(teacher_forcing, model="lstm", **values):
    config = make_config(model, teacher_forcing=teacher_forcing, **values)
    trained = networks.build(config, 30, streams=3)
    for i, weight in enumerate(trained.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=0.5, size=weight.shape))
    return config, trained


@pytest.mark.parametrize("model", ["simple", "jordan", "gru", "lstm", "peephole"])
def test_free_running_reads_the_predictions_of_the_network(model):
    config, trained = build(0.0, model)
    trained(IDS[:, ::-1])  # so that the carried states are not zeros
    states = [[np.array(state) for state in layer.states] for layer in trained.layers if hasattr(layer, "states")]
    inputs = trained.own_inputs(tf.constant(IDS)).numpy()
    for layer, before in zip([layer for layer in trained.layers if hasattr(layer, "states")], states, strict=True):
        np.testing.assert_array_equal(np.array(layer.states), before)  # no state has changed
    predictions = trained(inputs).numpy().argmax(axis=-1)
    np.testing.assert_array_equal(inputs[:, 0], IDS[:, 0])
    np.testing.assert_array_equal(inputs[:, 1:], predictions[:, :-1])
    assert (inputs != IDS).any()


def test_some_inputs_are_true():
    _, trained = build(0.5)
    inputs = np.stack([trained.own_inputs(tf.constant(IDS)).numpy() for _ in range(20)])
    assert 0.2 < (inputs[:, :, 1:] == IDS[:, 1:]).mean() < 0.8
    assert (inputs[0] != inputs[1]).any()


def test_with_teacher_forcing_the_model_is_an_ordinary_one():
    assert not isinstance(build(1.0)[1], FreeRunningModel)
    assert not isinstance(networks.build(make_config("lstm", teacher_forcing=0.0), 30), FreeRunningModel)


@pytest.mark.long
def test_a_step_trains_on_the_own_inputs():
    config, trained = build(0.0, dropout=0.0, schedule="constant")
    compile_model(config, trained, 10)
    targets = (IDS + 1) % 30
    logits = trained(trained.own_inputs(tf.constant(IDS))).numpy()
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits).numpy().mean()
    for layer in trained.layers:
        if hasattr(layer, "reset_state"):
            layer.reset_state()
    before = [weight.numpy() for weight in trained.trainable_variables]
    history = trained.fit(IDS, targets, batch_size=3, verbose=0).history
    np.testing.assert_allclose(history["loss"][0], expected, rtol=1e-4)
    changed = [(old != new.numpy()).any() for old, new in zip(before, trained.trainable_variables, strict=True)]
    assert all(changed)
