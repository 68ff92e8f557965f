import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import kneser_ney, networks
from pipelines.language_model.context_steps import ContextSteps
from pipelines.language_model.ngram_layer import table_sizes
from pipelines.language_model.servable import Generator
from pipelines.text.tokenizers import train_tokenizer
from tests.pipelines.language_model.models import KINDS, TEXT, make, make_config


def make_ngram(order=4):
    config = make_config("ngram", order=order, num_layers=1, hidden_size=256, window=16, dropout=0.0, embedding_size=64)
    config.check()
    tokenizer = train_tokenizer(KINDS["character"], [TEXT] * 5, 60, 1000)
    ids = tokenizer.encode(tf.constant([TEXT]))[0, 1:-1].numpy()
    tables = kneser_ney.estimate(ids, order, tokenizer.vocabulary_size)
    network = networks.build(config, tokenizer.vocabulary_size, table_sizes=table_sizes(tables))
    network.get_layer("ngrams").assign(tables)
    return config, tokenizer, network, Generator(config, network, tokenizer)


@pytest.fixture(scope="module", params=["ngram", "feedforward", "average"])
def made(request):
    if request.param == "ngram":
        return make_ngram()
    return make(request.param, order=4, num_layers=1)


def test_prompts_single_tokens_and_whole_texts_give_the_same_logits(made):
    config, tokenizer, network, _ = made
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16], TEXT[20:31]]))[:, :-1].to_tensor()
    expected = network(ids).numpy()
    steps, lengths = ContextSteps(config, network), tf.constant([7, 4, 1])
    logits, state = steps.read(tf.where(tf.sequence_mask(lengths, 7), ids[:, :7], 0), lengths)
    for row, length in enumerate(lengths.numpy()):
        np.testing.assert_allclose(logits[row], expected[row, length - 1], atol=1e-4)
    for step in range(4):
        logits, state = steps.advance(tf.gather(ids, lengths + step, batch_dims=1)[:, None], state)
        for row in range(3):
            np.testing.assert_allclose(logits[row, 0], expected[row, lengths[row] + step], atol=1e-4)
    assert state["context"].shape == (3, 3), "batch first"


def test_the_losses_are_those_of_the_logits_whatever_the_chunks(made):
    config, tokenizer, network, generator = made
    ids = tokenizer.encode(tf.constant([TEXT[:30], TEXT[5:35]]))[:, :-1].to_tensor()
    inputs, targets = ids[:, :-1], ids[:, 1:]
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, network(inputs)).numpy()
    steps = ContextSteps(config, network)
    for size in (1, 4, 40):
        state, found = steps.start(2), []
        for first in range(0, 30, size):
            part = slice(first, first + size)
            losses, state = steps.losses(inputs[:, part], targets[:, part], state)
            found.append(losses)
        np.testing.assert_allclose(tf.concat(found, axis=1), expected, atol=1e-4)
    np.testing.assert_allclose(generator.token_losses(targets)["losses"], expected, atol=1e-4)


@pytest.mark.long
def test_the_ngram_model_writes_the_text_that_it_has_read():
    generator = make_ngram(6)[-1]
    outputs = generator.continue_text(tf.constant(["To be, or n"]))
    assert outputs["text"].numpy()[0].decode().startswith("ot to be")


@pytest.mark.long
def test_all_signatures_are_exported(made):
    signatures = made[-1].signatures()
    assert {"generate", "search", "score", "token_losses", "start", "step"} <= set(signatures)
    assert "generate_with_cache" not in signatures
