import numpy as np
import pytest
import tensorflow as tf

from pipelines.encoder import networks
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.servable import TextEncoder
from pipelines.text.tokenizers import train_tokenizer

TEXTS = ["the cat sat on the mat", "a dog", ""]


@pytest.fixture(scope="module")
def encoder():
    config = EncoderConfig(hidden_size=8, embedding_size=4, vocabulary_size=60).resolve()
    tokenizer = train_tokenizer("word", TEXTS * 3, 60, 1000)
    model = networks.build(config, tokenizer.vocabulary_size)
    return TextEncoder(networks.encoder_network(*networks.reading_layers(config, model)), tokenizer, max_tokens=6)


def test_the_signature_returns_the_pooled_output(encoder):
    outputs = encoder.__call__(tf.constant(TEXTS), training=False)
    signature = encoder.signatures()["serving_default"](text=tf.constant(TEXTS))
    np.testing.assert_array_equal(signature["embedding"], outputs["pooled_output"])
    assert signature["embedding"].shape == (3, 24) and np.isfinite(signature["embedding"]).all()


def test_longer_texts_keep_their_first_and_last_half(encoder):
    long, same = encoder.__call__(tf.constant(["the cat dog dog dog a mat", "the cat a mat"]), training=False)[
        "pooled_output"
    ]
    np.testing.assert_allclose(long, same, atol=1e-6)


def test_the_interface_of_tf_hub(encoder):
    assert 0 < len(encoder.trainable_variables) < len(encoder.variables)  # the seed of dropout is not trained
    assert encoder.regularization_losses == []
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder.__call__(tf.constant(TEXTS), training=True)["pooled_output"] ** 2)
    assert all(gradient is not None for gradient in tape.gradient(loss, encoder.trainable_variables))
