"""Small classifiers with random weights, which the tests of this folder share."""

import functools
from typing import NamedTuple

import keras
import numpy as np

from pipelines.classification import task
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.servable import Classifier
from pipelines.data import sample_reviews
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

TEXTS = sample_reviews.generate(60)[0]
CLASSES = {2: ("negative", "positive"), 3: ("bad", "fair", "good")}


class Small(NamedTuple):
    config: ClassificationConfig
    splits: LabelledSplits
    tokenizer: object
    model: keras.Model
    servable: Classifier


def make(num_classes=2, scale=0.1, **values) -> Small:
    """A classifier with random weights; `scale`, their standard deviation, is large, so that differences show.

    With a `labels_separator`, a text has the labels whose number divides that of the text.
    """
    config = ClassificationConfig(**{"preset": "quick", "max_tokens": 30, "hidden_size": 8} | values).resolve()
    config = config.complete(1000)  # `least_texts` of "best"
    numbers = np.arange(len(TEXTS))
    several = np.stack([numbers % (i + 2) == 0 for i in range(num_classes)], axis=1).astype(np.int32)
    labelled = Labelled(TEXTS, several if config.multi_label else numbers % num_classes)
    splits = LabelledSplits(labelled, labelled, None, CLASSES[num_classes], {})
    keras.utils.set_random_seed(0)
    tokenizer, inputs = _encoded(config.tokenizer, config.vocabulary_size, config.max_tokens, config.max_characters)
    model = task.build(config, splits, tokenizer, None, training=False)
    task.initialize(config, model, task.with_ngrams(config, task.Encoded(splits, inputs, inputs, {}), len(TEXTS)))
    for i, weight in enumerate(model.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=scale, size=weight.shape))
    return Small(config, splits, tokenizer, model, task.make_servable(config, splits, tokenizer, model))


@functools.cache
def _encoded(tokenizer: str, vocabulary_size: int, max_tokens: int, max_characters: int):
    """The tokenizer of these settings and the inputs that it makes of the texts, which models can share."""
    config = ClassificationConfig(
        preset="quick",
        model="linear",
        tokenizer=tokenizer,
        vocabulary_size=vocabulary_size,
        max_tokens=max_tokens,
        max_characters=max_characters,
    ).resolve()
    labelled = Labelled(TEXTS, np.zeros(len(TEXTS), np.int32))
    made = task.make_tokenizer(config, LabelledSplits(labelled, labelled, None, CLASSES[2], {}))
    return made, task.inputs_of(config, made, labelled)[0]
