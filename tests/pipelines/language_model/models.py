"""Small language models that are not trained, for the tests of this folder."""

import keras
import numpy as np
import tensorflow as tf

from pipelines.language_model import networks
from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.servable import GENERATION_DEFAULTS, Generator
from pipelines.text.tokenizers import train_tokenizer

TEXT = "To be, or not to be: that is the question.\nWhether 'tis nobler in the mind to suffer.\n" * 3
KINDS = {"character": "character", "word": "spaced", "subword": "pieces"}


def make_config(model="lstm", tokenizer="character", **flags):
    """A resolved config of a small network."""
    sizes = {"num_layers": 2, "hidden_size": 16, "window": 12, "dropout": 0.2}
    sizes |= {"num_heads": 2} if model == "transformer" else {"embedding_size": 8}
    return LanguageModelConfig(model=model, tokenizer=tokenizer, **(sizes | flags)).resolve()


def make(model="lstm", tokenizer="character", **flags):
    """(config, tokenizer, network, generator) with random weights."""
    config = make_config(model, tokenizer, **flags)
    keras.utils.set_random_seed(0)
    trained = train_tokenizer(KINDS[tokenizer], [TEXT] * 5, 60, 1000)
    network = networks.build(config, trained.vocabulary_size)
    for i, weight in enumerate(network.trainable_variables):  # larger than initial weights, so that differences show
        weight.assign(weight + np.random.default_rng(i).normal(scale=0.3, size=weight.shape))
    return config, trained, network, Generator(config, network, trained)


class FakeServer:
    """What the commands need of `ServedModelFlags`: a generator that answers as a server does."""

    def __init__(self, generator: Generator):
        self._signatures = generator.signatures()

    def ask(self, model: str, inputs: dict, signature: str = "serving_default") -> dict:
        dtypes = {"text": tf.string, "ids": tf.int32}
        tensors = {name: tf.constant(values, dtypes[name]) for name, values in inputs.items()}
        outputs = {name: value.numpy() for name, value in self._signatures[signature](**tensors).items()}
        return {name: [t.decode() for t in v] if name == "text" else v.tolist() for name, v in outputs.items()}


class FakeExport:
    """What `evaluate` and `predict` need of an export: a generator that is not saved."""

    title = "char-lm/1"

    def __init__(self, generator: Generator, sample: bool = True, config: dict | None = None):
        self.signatures = generator.signatures()
        self._card = {"sample": sample, "generation_defaults": GENERATION_DEFAULTS, "config": config or {}}

    def card(self):
        return self._card

    def load(self):
        return self
