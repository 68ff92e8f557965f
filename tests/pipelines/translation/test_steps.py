import numpy as np
import tensorflow as tf

from pipelines.translation import networks, steps


def test_steps_give_the_logits_of_the_whole_target(small, pairs, encode, monkeypatch):
    monkeypatch.setattr(steps, "_CACHE_GROWTH", 3)  # so that the caches grow
    source, target = encode(small, pairs, 3)
    logits_of_whole_target = small.model({"source": source, "target": target}).numpy()
    parts = networks.layers_by_name(small.model)
    state = steps.start(small.config, parts, source)
    for time in range(8):
        logits, state = steps.step(small.config, parts, target[:, time], state)
        np.testing.assert_allclose(logits, logits_of_whole_target[:, time], atol=1e-4)
    assert all(leaf.shape[0] == 3 for leaf in tf.nest.flatten(state)), "batch first on every leaf"


def test_a_step_does_not_change_the_memory(small, pairs, encode):
    source, target = encode(small, pairs, 2)
    parts = networks.layers_by_name(small.model)
    state = steps.start(small.config, parts, source)
    _, after = steps.step(small.config, parts, target[:, 0], state)
    assert sorted(after) == sorted(state)
    assert ("memory" in state) == (small.config.model != "single-rnn")
    tf.nest.map_structure(np.testing.assert_array_equal, after.get("memory"), state.get("memory"))
