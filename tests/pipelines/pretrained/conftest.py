"""A small encoder with random weights, for the tests of its export."""

import pytest

from pipelines.encoder import networks
from pipelines.encoder.config import EncoderConfig
from pipelines.pretrained.text_encoder import TextEncoder
from pipelines.text.tokenizers import train_tokenizer

TEXTS = ["the cat sat on the mat", "a dog", ""]


@pytest.fixture(scope="module")
def encoder():
    config = EncoderConfig(hidden_size=8, embedding_size=4, vocabulary_size=60).resolve()
    tokenizer = train_tokenizer("word", TEXTS * 3, 60, 1000)
    model = networks.build(config, tokenizer.vocabulary_size)
    return TextEncoder(networks.encoder_network(*networks.reading_layers(config, model)), tokenizer, max_tokens=6)
