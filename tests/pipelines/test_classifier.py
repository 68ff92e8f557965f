"""What an export says of a text and why, checked from outside: by deleting words."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines import sentiment
from pipelines.classifier import MOST_PIECES
from pipelines.configs.base import resolved
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.data import sample_reviews
from pipelines.data.splits import Labelled, Splits

TEXTS = sample_reviews.generate(60)[0]
CLASSES = {2: ("negative", "positive"), 3: ("bad", "fair", "good")}


def make(classes=2, **flags):
    config = resolved(
        SentimentConfig(**{"preset": "quick", "hidden_size": 8, "max_tokens": 1000} | flags), PRESETS, DEFAULT_MODELS
    )
    labelled = Labelled(TEXTS, np.arange(60) % classes)
    splits = Splits(labelled, labelled, None, CLASSES[classes], {})
    tokenizer = sentiment.tokenizer(config, splits)
    model = sentiment.build(config, tokenizer, splits, training=True)
    sentiment.prepare(config, model, sentiment.ids_of(config, tokenizer, labelled)[0], labelled)
    for i, weight in enumerate(model.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=0.5, size=weight.shape))
    return sentiment.servable(model, tokenizer, config, splits)


def log_odds(servable, texts, label):
    probabilities = servable.classify(tf.constant(texts))["probabilities"].numpy().astype(np.float64)[:, label]
    return np.log(probabilities) - np.log1p(-probabilities)


@pytest.mark.parametrize(
    "flags",
    [{"model": "best", "ngrams": 50}, {"model": "bag", "ngram_buckets": 100}, {"model": "lstm", "classes": 3}],
    ids=lambda flags: flags["model"],
)
def test_a_weight_is_what_deleting_the_word_costs(flags):
    servable = make(**flags)
    texts = ["the plot was not at all dull", "charming", "it was a brilliant film and the unheard-of cast was good"]
    outputs = {name: value.numpy() for name, value in servable.explain(tf.constant(texts)).items()}
    plain = servable.classify(tf.constant(texts))
    np.testing.assert_allclose(outputs["probabilities"], plain["probabilities"], atol=1e-5)
    np.testing.assert_array_equal(outputs["label"], plain["label"])
    checked = 0
    for row, text in enumerate(texts):
        pieces = [piece.decode() for piece in outputs["pieces"][row] if piece]
        assert " ".join(pieces) == text.replace("-", " - ")
        label = int(outputs["probabilities"][row].argmax())
        whole = log_odds(servable, [text], label)[0]
        for i in range(len(pieces)):
            without = log_odds(servable, [" ".join(pieces[:i] + pieces[i + 1 :])], label)[0]
            if max(abs(whole), abs(without)) < 8:  # beyond, a float32 probability is too near to 1
                assert outputs["weights"][row, i] == pytest.approx(whole - without, abs=2e-2)
                checked += 1
        assert not outputs["weights"][row, len(pieces) :].any()
    assert checked > 5


def test_a_long_text_is_explained_in_spans():
    servable = make(model="bag", ngram_buckets=0)
    words = ["dull", "charming", "plot", "the", "was"] * 90
    outputs = servable.explain(tf.constant([" ".join(words)]))
    pieces = [piece.decode() for piece in outputs["pieces"].numpy()[0]]
    assert len(pieces) <= MOST_PIECES and " ".join(pieces).split() == words
    label = int(outputs["probabilities"].numpy()[0].argmax())
    for i in (0, 7, len(pieces) - 1):
        without = log_odds(servable, [" ".join(pieces[:i] + pieces[i + 1 :])], label)[0]
        expected = log_odds(servable, [" ".join(words)], label)[0] - without
        assert outputs["weights"].numpy()[0, i] == pytest.approx(expected, abs=1e-2)


@pytest.fixture(scope="module", params=["word", "subword", "character"])
def of_tokens(request):
    return make(model="bag", tokens=request.param, vocabulary_size=120, ngram_buckets=0)


@pytest.mark.parametrize("odd", ["", " ", "\U0001f600", "a" * 50_000, "\x00", "<br />"])
def test_odd_texts_are_explained(of_tokens, odd):
    outputs = of_tokens.explain(tf.constant([odd, TEXTS[0]]))
    assert np.isfinite(outputs["weights"].numpy()).all()
    assert outputs["pieces"].shape == outputs["weights"].shape
    for piece in outputs["pieces"].numpy().ravel():
        piece.decode()


def test_all_texts_empty():
    servable = make(model="bag", ngram_buckets=0)
    outputs = servable.explain(tf.constant(["", ""]))
    assert outputs["pieces"].shape == (2, 0)
