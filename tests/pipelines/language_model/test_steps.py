"""`start` and `advance` against the network that reads the whole text."""

import numpy as np
import tensorflow as tf

from pipelines.language_model.steps import make_steps
from tests.pipelines.language_model.models import TEXT, make


def test_any_number_of_tokens_at_a_time_gives_the_logits_of_the_whole_text(made):
    config, tokenizer, network, _ = made
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16], TEXT[20:31]]))[:, :-1].to_tensor()
    expected = network(ids).numpy()
    steps = make_steps(config, network)
    lengths = tf.constant([7, 4, 1])
    logits, state = steps.advance(ids[:, :7], steps.start(3), lengths)
    for row, length in enumerate(lengths.numpy()):
        np.testing.assert_allclose(logits[row, :length], expected[row, :length], atol=1e-5)
    for step in range(5):
        chosen = tf.gather(ids, lengths + step, batch_dims=1)[:, None]
        logits, state = steps.advance(chosen, state)
        for row in range(3):
            np.testing.assert_allclose(logits[row, 0], expected[row, lengths[row] + step], atol=1e-5)
    assert all(value.shape[0] == 3 for value in state.values()), "batch first on every leaf"


def test_a_transformer_continues_after_its_window_is_full():
    config, tokenizer, network, _ = make("transformer")
    steps = make_steps(config, network)
    ids = tokenizer.encode(tf.constant([TEXT[:40], TEXT[3:43]]))[:, :40].to_tensor()
    logits, state = steps.advance(ids[:, :5], steps.start(2), tf.constant([5, 2]))
    for t in range(5, 40):  # row 1 is three tokens shorter than row 0, and is full three steps later
        chosen = tf.stack([ids[0, t], ids[1, t - 3]])[:, None]
        logits, state = steps.advance(chosen, state)
    # When its 12 positions are full, the last 6 tokens become its past: windows start at tokens 6, 12, 18, 24, 30 ...
    for row, end in ((0, 40), (1, 37)):
        start = (end - 1 - 6) // 6 * 6
        np.testing.assert_allclose(logits[row, 0], network(ids[row : row + 1, start:end])[0, -1], atol=1e-5)
