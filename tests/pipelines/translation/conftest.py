"""Small translators with random weights, which all test files of this folder share."""

import functools
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import sample_pairs
from pipelines.data.pairs import Pairs
from pipelines.translation import task
from pipelines.translation.config import TranslationConfig
from pipelines.translation.servable import Translator

SMALL = {"preset": "quick", "vocabulary_size": 150, "num_layers": 2, "hidden_size": 16, "dropout": 0.2}
KINDS = {
    "single-rnn": {"model": "single-rnn", "embedding_size": 8},
    "rnn": {"model": "rnn", "embedding_size": 8, "bidirectional": False, "reverse_source": True, "cell": "lstm"},
    "attention": {"model": "attention", "embedding_size": 8},
    "attention, luong": {
        "model": "attention",
        "embedding_size": 8,
        "attention_style": "luong",
        "input_feeding": True,
        "attention_score": "dot",
        "cell": "lstm",
        "bidirectional": False,
    },
    "transformer": {"model": "transformer", "num_heads": 2},
    "transformer, post": {"model": "transformer", "num_heads": 2, "norm": "post", "joint_vocabulary": False},
}


class Small(NamedTuple):
    """A translator and what it is made of."""

    config: TranslationConfig
    tokenizers: task.Tokenizers
    model: keras.Model
    translator: Translator


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return Pairs(*sample_pairs.generate(300))


# Module scope, because a training in another file sets the seeds, which destroys SentencePiece tokenizers.
@pytest.fixture(scope="module")
def make_small(pairs):
    """Returns the translator of a kind.

    The same kind gives the same object, because tracing a beam search takes seconds.
    """

    @functools.cache
    def make(kind: str) -> Small:
        config = TranslationConfig(**SMALL, **KINDS[kind]).resolve()
        config.check()
        splits = task.Splits(pairs, pairs, None, "en-es", {})
        tokenizers = task.make_tokenizer(config, splits)
        model = task.build(config, splits, tokenizers, None, training=False)
        # Larger weights than those of a new model, so that differences show.
        for i, weight in enumerate(model.trainable_variables):
            initial = weight if len(weight.shape) == 1 else 0.0
            weight.assign(initial + np.random.default_rng(i).normal(scale=0.35, size=weight.shape))
        return Small(config, tokenizers, model, task.make_servable(config, splits, tokenizers, model))

    return make


EXHAUSTIVE = ("attention, luong", "transformer, post")  # which `small_decoder` has as well


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=[pytest.mark.exhaustive] * (kind in EXHAUSTIVE)) for kind in KINDS]
)
def small(request, make_small) -> Small:
    """Each kind of model."""
    return make_small(request.param)


@pytest.fixture(scope="module", params=["attention, luong", "transformer, post"])
def small_decoder(request, make_small) -> Small:
    """One translator whose state is recurrent, and one with key/value caches."""
    return make_small(request.param)


@pytest.fixture(scope="session")
def encode():
    """Encodes the first pairs: returns the ids of the sources with END, and of the targets with START and END."""

    def encode(small: Small, pairs: Pairs, rows: int):
        source = small.tokenizers.source.encode(tf.constant(pairs.source[:rows].tolist()))[:, 1:].to_tensor()
        return source, small.tokenizers.target.encode(tf.constant(pairs.target[:rows].tolist())).to_tensor()

    return encode
