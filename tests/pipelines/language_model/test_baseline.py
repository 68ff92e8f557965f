import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model import baseline, kneser_ney, networks
from pipelines.language_model.ngram_layer import table_sizes
from pipelines.language_model.servable import Generator
from pipelines.text.tokenizers import START, train_tokenizer
from tests.pipelines.language_model.models import TEXT, make_config

RNG = np.random.default_rng(0)
TRAIN, VALID = (RNG.integers(4, 9, size).astype(np.int32) for size in (3000, 7000))


def test_the_losses_are_those_of_the_model_ngram():
    tokenizer = train_tokenizer("character", [TEXT] * 5, 60, 1000)
    config = make_config("ngram", order=3)
    tables = kneser_ney.estimate(TRAIN, 3, tokenizer.vocabulary_size)
    model = networks.build(config, tokenizer.vocabulary_size, None, table_sizes(tables))
    model.get_layer("ngrams").assign(tables)
    generator = Generator(config, model, tokenizer)  # kept: its tf.functions refer to it only weakly
    expected = generator.token_losses(tf.constant(VALID[None]))["losses"].numpy()[0]
    found = baseline.ngram_losses(TRAIN, VALID, 3, tokenizer.vocabulary_size)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_tokens_at_once_change_nothing(monkeypatch):
    whole = baseline.ngram_losses(TRAIN, VALID[:500], 4, 9)
    monkeypatch.setattr(baseline, "_TOKENS_AT_ONCE", 7)
    np.testing.assert_allclose(baseline.ngram_losses(TRAIN, VALID[:500], 4, 9), whole, rtol=1e-5)


def test_the_interval_is_above_zero_where_the_model_is_better():
    config = make_config()
    valid = np.concatenate([[START], VALID]).astype(np.int32)
    found = baseline.compare(config, TRAIN, valid, 9, np.full(len(VALID), 0.5, np.float32), len(VALID))
    low, high = found["difference_interval"]
    assert 0 < low < found["loss"] - 0.5 < high < 2
    assert found["perplexity"] == pytest.approx(np.exp(found["loss"]))
    worse = baseline.compare(config, TRAIN, VALID, 9, np.full(len(VALID), 9.0), len(VALID))
    assert worse["difference_interval"][1] < 0


def test_what_cannot_be_counted_is_left_out(monkeypatch):
    config, losses = make_config(), np.zeros(len(VALID))
    assert "prepared data" in baseline.compare(config, object(), VALID, 9, losses, 9)["left_out"]
    assert "fewer than" in baseline.compare(config, TRAIN[:3], VALID, 9, losses, 9)["left_out"]
    monkeypatch.setattr(baseline, "MAX_TRAINING_TOKENS", 2000)
    assert "more than 0.002 million" in baseline.compare(config, TRAIN, VALID, 9, losses, 9)["left_out"]


def test_a_short_text_has_no_interval():
    assert baseline.compare(make_config(), TRAIN, VALID[:100], 9, np.zeros(100), 100)["difference_interval"] is None
