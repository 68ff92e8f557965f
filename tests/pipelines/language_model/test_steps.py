"""`read` and `advance` against the network that reads the whole text."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import steps as steps_module
from pipelines.language_model.steps import make_steps
from tests.pipelines.language_model.models import TEXT, make


def test_a_prompt_and_single_tokens_after_it_give_the_logits_of_the_whole_text(made):
    config, tokenizer, network, _ = made
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16], TEXT[20:31]]))[:, :-1].to_tensor()
    expected = network(ids).numpy()
    steps = make_steps(config, network)
    lengths = tf.constant([7, 4, 1])
    logits, state = steps.read(ids[:, :7], lengths)
    for row, length in enumerate(lengths.numpy()):
        np.testing.assert_allclose(logits[row], expected[row, length - 1], atol=1e-5)
    for step in range(5):
        chosen = tf.gather(ids, lengths + step, batch_dims=1)[:, None]
        logits, state = steps.advance(chosen, state)
        for row in range(3):
            np.testing.assert_allclose(logits[row, 0], expected[row, lengths[row] + step], atol=1e-5)
    assert all(value.shape[0] == 3 for value in state.values()), "batch first on every leaf"


VARIANTS = [
    {"model": "jordan"},
    {"model": "gru-reset-before", "activation": "relu"},
    {"model": "simple", "activation": "sigmoid", "residual": True},
    {"model": "transformer", "positions": "none"},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=[each["model"] for each in VARIANTS])
def test_single_tokens_give_the_logits_of_the_whole_text_in_every_variant(variant):
    config, tokenizer, network, _ = make(**variant)
    config.check()
    ids = tokenizer.encode(tf.constant([TEXT[:9], TEXT[5:14]]))[:, :-1].to_tensor()
    expected = network(ids).numpy()
    steps = make_steps(config, network)
    logits, state = steps.read(ids[:, :3], tf.constant([3, 3]))
    np.testing.assert_allclose(logits, expected[:, 2], atol=1e-4)
    for step in range(3, 9):
        logits, state = steps.advance(ids[:, step : step + 1], state)
        np.testing.assert_allclose(logits[:, 0], expected[:, step], atol=1e-4)


@pytest.mark.parametrize("max_tokens", [1, 6, 15, 10_000])
def test_a_prompt_can_be_read_in_chunks_of_any_size(lstm, monkeypatch, max_tokens):
    """With 3 rows, the chunks have 1, 2, 5 or 1024 tokens."""
    monkeypatch.setattr(steps_module, "_MAX_READ_TOKENS", max_tokens)
    config, tokenizer, network, _ = lstm
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16], TEXT[20:31]]))[:, :-1].to_tensor()
    steps = make_steps(config, network)
    lengths = tf.constant([12, 5, 1])
    logits, state = tf.function(steps.read)(ids, lengths)
    expected = network(ids).numpy()
    for row, length in enumerate(lengths.numpy()):
        np.testing.assert_allclose(logits[row], expected[row, length - 1], atol=1e-5)
        alone = steps.advance(ids[row : row + 1, :length], steps.start(1))[1]
        for name, value in state.items():
            np.testing.assert_allclose(value[row], alone[name][0], atol=1e-5, err_msg=name)


def test_a_recurrent_network_reads_any_number_of_tokens_after_a_prompt(lstm):
    config, tokenizer, network, _ = lstm
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16]]))[:, :-1].to_tensor()
    steps = make_steps(config, network)
    _, state = steps.read(ids[:, :4], tf.constant([4, 4]))
    logits, _ = steps.advance(ids[:, 4:], state)
    np.testing.assert_allclose(logits, network(ids)[:, 4:], atol=1e-5)


@pytest.mark.long
def test_a_transformer_continues_after_its_window_is_full():
    config, tokenizer, network, _ = make("transformer")
    steps = make_steps(config, network)
    ids = tokenizer.encode(tf.constant([TEXT[:40], TEXT[3:43]]))[:, :40].to_tensor()
    logits, state = steps.read(ids[:, :5], tf.constant([5, 2]))
    advance = tf.function(steps.advance)
    for t in range(5, 40):  # row 1 is three tokens shorter than row 0, and is full three steps later
        chosen = tf.stack([ids[0, t], ids[1, t - 3]])[:, None]
        logits, state = advance(chosen, state)
    # When its 12 positions are full, the last 6 tokens become its past: windows start at tokens 6, 12, 18, 24, 30 ...
    for row, end in ((0, 40), (1, 37)):
        start = (end - 1 - 6) // 6 * 6
        np.testing.assert_allclose(logits[row, 0], network(ids[row : row + 1, start:end])[0, -1], atol=1e-5)
