"""Small taggers with random weights, which all test files of this folder share."""

import functools
from typing import NamedTuple

import keras
import numpy as np
import pytest

from pipelines.tagging import features, networks
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.features import TokenFeatures
from pipelines.tagging.servable import Tagger
from tests.pipelines.tagging.small import KINDS, SENTENCES, SMALL, SPAN_TAGS, WORD_TAGS


class Small(NamedTuple):
    """A tagger and what it is made of."""

    config: TaggingConfig
    features: TokenFeatures
    model: keras.Model
    tagger: Tagger


@pytest.fixture(scope="session")
def make_small():
    """Returns the tagger of a kind. The same kind gives the same object."""

    @functools.cache
    def make(kind: str, spans: bool = False) -> Small:
        config = TaggingConfig(**SMALL, **KINDS[kind]).resolve()
        tags = SPAN_TAGS if spans else WORD_TAGS
        max_characters = 0 if config.characters == "none" else config.max_characters
        tokenizer = features.train("english", SENTENCES, 100, max_characters, config.max_bytes)
        keras.utils.set_random_seed(1)
        model = networks.build(config, tokenizer, tags, spans)
        rng = np.random.default_rng(2)
        for weight in model.trainable_weights:
            weight.assign(weight + rng.normal(size=weight.shape))
        return Small(config, tokenizer, model, Tagger(model, model.get_layer("crf"), tokenizer, tags, 5))

    return make
