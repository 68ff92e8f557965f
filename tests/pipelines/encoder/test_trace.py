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


def test_the_trace_has_the_states_of_every_layer(encoder):
    values = encoder.signatures()["trace"](text=tf.constant(TEXTS))
    assert values["tokens"][1].numpy().tolist() == [b"<start>", b"a", b"dog", b"<end>", b"", b""]
    assert values["lengths"].numpy().tolist() == [6, 4, 2] and values["cut"].numpy().tolist() == [True, False, False]
    outputs = encoder.__call__(tf.constant(TEXTS), training=False)
    mask = tf.cast(outputs["mask"], tf.float32)[:, :, None]
    np.testing.assert_allclose(values["layer_1_hidden"], outputs["encoder_outputs"][0] * mask, atol=1e-6)
    assert values["layer_1_forget_gate"].shape == (3, 6, 8)
