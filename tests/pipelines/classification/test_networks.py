import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification import task
from pipelines.classification.servable import network_inputs
from pipelines.labelled.labelled_splits import Labelled
from pipelines.text.tokenizers import keep_ends
from tests.pipelines.classification.conftest import TEXTS, make

MODELS = {
    "bag": {"model": "bag", "ngram_buckets": 500},
    "bag without pairs, subwords": {"model": "bag", "tokenizer": "subword", "vocabulary_size": 150, "ngram_buckets": 0},
    "cnn": {"model": "cnn"},
    "simple": {"model": "simple", "pooling": "mean"},
    "gru, two layers": {"model": "gru", "pooling": "last", "num_layers": 2, "word_vectors": "cooccurrence"},
    "lstm, forwards": {"model": "lstm", "bidirectional": False, "pooling": "last"},
    "peephole": {"model": "peephole", "pooling": "attention"},
    "jordan, sum of both directions": {"model": "jordan", "merge": "sum", "learned_state": True, "pooling": "last"},
    "gru-reset-before": {
        "model": "gru-reset-before",
        "num_layers": 2,
        "residual": True,
        "activation": "relu",
    },
    "transformer": {"model": "transformer", "num_layers": 2},
    "transformer, rotary positions": {"model": "transformer", "positions": "rotary"},
    "transformer, learned positions": {
        "model": "transformer",
        "positions": "learned",
        "max_tokens": 200,
        "max_encoder_tokens": 200,
    },
    "lstm with n-grams": {"model": "lstm", "max_ngrams": 100},
    "best": {"model": "best", "preset": "full", "max_ngrams": 100, "max_encoder_tokens": 20},
    "linear": {"model": "linear", "max_characters": 60},
    "linear, subwords": {"model": "linear", "tokenizer": "subword", "vocabulary_size": 150, "num_classes": 3},
    "linear, without characters": {"model": "linear", "max_characters": 0},
}


# Each differs in one thing from a model that `make test` tests.
EXHAUSTIVE = (
    "bag without pairs, subwords",
    "simple",
    "lstm, forwards",
    "gru-reset-before",
    "transformer, rotary positions",
    "transformer, learned positions",
    "lstm with n-grams",
    "linear, without characters",
)


@pytest.fixture(
    scope="module",
    params=[pytest.param(MODELS[name], marks=[pytest.mark.exhaustive] * (name in EXHAUSTIVE)) for name in MODELS],
    ids=MODELS,
)
def small(request):
    return make(**request.param)


@pytest.fixture(scope="module")
def inputs(small):
    """The ids and characters of the first six texts, ragged: they are encoded once, which takes longer than a call."""
    data = Labelled(np.array(TEXTS[:6], dtype=object), np.zeros(6, np.int32))
    return task.inputs_of(small.config, small.tokenizer, data)[0]


def padded(inputs, rows, length=None):
    """The inputs of the network for some rows, padded to at least `length` ids and characters."""
    return tf.nest.map_structure(lambda ragged: ragged[rows].to_tensor(shape=[None, length]), network_inputs(inputs))


@pytest.mark.long
def test_padding_and_other_rows_of_the_batch_change_nothing(small, inputs):
    batch = small.model(padded(inputs, slice(0, 6), length=155)).numpy()
    for i in range(6):
        alone = small.model(padded(inputs, slice(i, i + 1))).numpy()[0]
        np.testing.assert_allclose(alone, batch[i], rtol=0, atol=1e-5)


@pytest.mark.long
def test_the_servable_returns_the_calibrated_probabilities_of_the_model(small, inputs):
    outputs = small.servable.classify(tf.constant(TEXTS[:3]))
    names = [name for name in ("logits", "mean_weighting") if name in [layer.name for layer in small.model.layers]]
    logits = 0.0
    for name, factor in zip(names, small.servable.calibration.factors, strict=True):
        member = keras.Model(small.model.input, small.model.get_layer(name).output)
        logits = logits + factor * member(padded(inputs, slice(0, 3))).numpy()
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs["probabilities"].numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(outputs["score"].numpy(), expected.max(axis=1), atol=1e-5)
    labels = [value.decode() for value in outputs["label"].numpy()]
    assert labels == [small.splits.classes[i] for i in expected.argmax(axis=1)]


@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["", " ", "\U0001f600\U0001f600", "word " * 2_000_000, "\x00", "<br />", "a" * 100_000]
)
def test_every_text_has_probabilities(small, text):
    probabilities = small.servable.classify(tf.constant([text, TEXTS[0]]))["probabilities"].numpy()
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


def test_the_linear_model_counts_only_after_training():
    small = make(model="cnn", max_ngrams=100)
    ids = keep_ends(small.tokenizer.encode(tf.constant(TEXTS[:4])), 30).to_tensor()
    layer = small.model.get_layer("ngram_logits")
    answers = {training: small.model(ids, training=training).numpy() for training in (False, True)}
    layer.set_weights([np.zeros_like(weight) if weight.dtype.kind == "f" else weight for weight in layer.get_weights()])
    small.model.get_layer("words_dropout").rate = small.model.get_layer("dropout").rate = 0.0
    assert not np.allclose(small.model(ids, training=False), answers[False])
    share = 1 - small.model.get_layer("mean_logits").weight
    expected = share * small.model(ids, training=True).numpy()
    np.testing.assert_allclose(small.model(ids, training=False), expected, atol=1e-5)
