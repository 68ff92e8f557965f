import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.translation import networks, steps
from pipelines.translation.config import TranslationConfig

RECURRENT = {"hidden_size": 8, "embedding_size": 6}
VARIANTS = {
    "single-rnn of Elman cells": {"model": "single-rnn", "cell": "simple", "activation": "relu"},
    "stacked decoder of peephole cells": {"model": "rnn", "cell": "peephole", "decoder_layers": 3},
    "decoder with the context at the first step": {"model": "rnn", "context": "first-step", "decoder_layers": 2},
    "stacked decoder with attention": {"model": "attention", "decoder_layers": 2, "cell": "gru-reset-before"},
    "stacked decoder in Luong's style": {
        "model": "attention",
        "decoder_layers": 2,
        "cell": "jordan",
        "attention_style": "luong",
    },
    "transformer without positions": {"model": "transformer", "positions": "none"},
    "transformer with learned positions": {"model": "transformer", "positions": "learned"},
    "transformer with rotary positions": {"model": "transformer", "positions": "rotary"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_steps_of_every_variant_give_the_logits_of_the_whole_target(name):
    variant = VARIANTS[name]
    sizes = {"hidden_size": 8, "num_heads": 2} if variant["model"] == "transformer" else RECURRENT
    config = TranslationConfig(preset="quick", num_layers=2, vocabulary_size=40, **sizes, **variant).resolve()
    config.check()
    keras.utils.set_random_seed(1)
    model = networks.build(config, 40, 40)
    for i, weight in enumerate(model.trainable_variables):
        weight.assign(weight + np.random.default_rng(i).normal(scale=0.3, size=weight.shape))
    rng = np.random.default_rng(0)
    source, target = (tf.constant(rng.integers(4, 40, (3, time)), tf.int32) for time in (5, 6))
    source = tf.where(tf.sequence_mask([5, 3, 4], 5), source, 0)
    expected = model({"source": source, "target": target}).numpy()
    parts = networks.layers_by_name(model)
    state = steps.start(config, parts, networks.encode(config, parts, source))
    state = steps.make_room(state)
    for time in range(6):
        logits, state = steps.step(config, parts, target[:, time], state)
        np.testing.assert_allclose(logits, expected[:, time], atol=1e-4)
    assert all(leaf.shape[0] == 3 for leaf in tf.nest.flatten(state)), "batch first on every leaf"


def test_steps_give_the_logits_of_the_whole_target(small, pairs, encode, monkeypatch):
    monkeypatch.setattr(steps, "STAGE_STEPS", 3)
    source, target = encode(small, pairs, 3)
    logits_of_whole_target = small.model({"source": source, "target": target}).numpy()
    parts = networks.layers_by_name(small.model)
    state = steps.start(small.config, parts, networks.encode(small.config, parts, source))
    for time in range(8):
        if time % 3 == 1:  # the state has room for the first token
            state = steps.make_room(state)
        logits, state = steps.step(small.config, parts, target[:, time], state)
        np.testing.assert_allclose(logits, logits_of_whole_target[:, time], atol=1e-4)
    assert all(leaf.shape[0] == 3 for leaf in tf.nest.flatten(state)), "batch first on every leaf"


def test_a_step_does_not_change_the_memory(small, pairs, encode):
    source, target = encode(small, pairs, 2)
    parts = networks.layers_by_name(small.model)
    state = steps.start(small.config, parts, networks.encode(small.config, parts, source))
    _, after = steps.step(small.config, parts, target[:, 0], state)
    assert sorted(after) == sorted(state)
    assert ("memory" in state) == (small.config.model != "single-rnn")
    tf.nest.map_structure(np.testing.assert_array_equal, after.get("memory"), state.get("memory"))


def test_a_state_without_room_gives_no_result(make_small, pairs, encode):
    small = make_small("transformer")
    source, target = encode(small, pairs, 2)
    parts = networks.layers_by_name(small.model)
    state = steps.start(small.config, parts, networks.encode(small.config, parts, source))
    logits, state = steps.step(small.config, parts, target[:, 0], state)
    assert np.isfinite(logits).all()
    logits, _ = steps.step(small.config, parts, target[:, 1], state)
    assert np.isnan(logits).all()
