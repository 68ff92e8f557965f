import numpy as np
import pytest
import tensorflow as tf

from pipelines.encoder import networks, servable
from pipelines.encoder.config import EncoderConfig
from pipelines.text.tokenizers import train_tokenizer

TEXTS = ["the cat sat on the mat", "a dog sat", "the dog and the cat"]


@pytest.mark.long
@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_the_servable_gives_vectors_and_fills_blanks(direction):
    config = EncoderConfig(direction=direction, hidden_size=8, embedding_size=4, vocabulary_size=40).resolve()
    tokenizer = train_tokenizer("subword", TEXTS * 5, 40, 1000)
    made = servable.make_servable(config, None, tokenizer, networks.build(config, tokenizer.vocabulary_size))
    assert (
        set(made.signatures()) == {"serving_default", "words", "fill", "trace"} == set(servable.example_requests(made))
    )
    answer = made.signatures()["fill"](text=tf.constant(["the [MASK] sat"]))
    np.testing.assert_allclose(answer["probabilities"].numpy().sum(), 1, atol=1e-5)
