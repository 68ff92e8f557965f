import numpy as np
import pytest
import tensorflow as tf

from pipelines.encoder import networks
from pipelines.encoder.config import EncoderConfig
from pipelines.pretrained.text_encoder import TextEncoder
from pipelines.text.wordpiece import WordPieceTokenizer
from tests.pipelines.pretrained.conftest import TEXTS


@pytest.mark.long
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


def test_words_have_the_mean_of_the_vectors_of_their_pieces(encoder):
    words = encoder.signatures()["words"]
    tokens = [["the", "cat's", "mat"], ["dog", "", ""], ["", "", ""], ["\x01", "a", ""]]
    vectors = words(tokens=tf.constant(tokens))["vectors"].numpy()
    assert vectors.shape == (4, 3, 8)
    ids = encoder.tokenizer.encode(tf.constant(["the cat's mat"]))
    # START, the, cat's (one word of this tokenizer), mat, END
    sequence = encoder.__call__(tf.constant(["the cat's mat"]), training=False)["sequence_output"].numpy()[0]
    assert ids.shape[0] == 1 and len(sequence) == 5
    np.testing.assert_allclose(vectors[0], sequence[1:4], atol=1e-6)
    assert not vectors[1, 1:].any() and not vectors[2].any() and not vectors[3, 2].any()
    assert vectors[3, 0].any()  # a control character is an unknown token


def test_a_word_of_several_tokens_has_their_mean(encoder):
    (vectors,) = encoder.signatures()["words"](tokens=tf.constant([["cat,dog", "mat"]]))["vectors"].numpy()
    text = encoder.__call__(tf.constant(["cat , dog mat"]), training=False)["sequence_output"].numpy()[0]
    np.testing.assert_allclose(vectors[0], text[1:4].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(vectors[1], text[4], atol=1e-6)


def test_other_rows_and_padding_change_no_vector(encoder):
    words = encoder.signatures()["words"]
    (alone,) = words(tokens=tf.constant([["the", "cat"]]))["vectors"].numpy()
    together = words(tokens=tf.constant([["a", "dog", "on", "the"], ["the", "cat", "", ""]]))["vectors"].numpy()
    np.testing.assert_allclose(together[1, :2], alone, atol=1e-6)


@pytest.mark.long
def test_the_special_ids_are_those_of_the_tokenizer():
    vocabulary = ["the", "cat", "##s", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "mat"]
    tokenizer = WordPieceTokenizer(vocabulary, 100)
    config = EncoderConfig(hidden_size=8, embedding_size=4, direction="bidirectional", vocabulary_size=60).resolve()
    reading = networks.reading_layers(config, networks.build(config, tokenizer.vocabulary_size))
    encoder = TextEncoder(networks.encoder_network(*reading, pad=6), tokenizer, max_tokens=8)
    outputs = encoder.__call__(tf.constant(["the cats", ""]), training=False)
    assert outputs["mask"].numpy().tolist() == [[True] * 5, [True, True, False, False, False]]
    sequence = outputs["sequence_output"].numpy()
    (vectors,) = encoder.signatures()["words"](tokens=tf.constant([["the", "cats"]]))["vectors"].numpy()
    np.testing.assert_allclose(vectors, [sequence[0, 1], sequence[0, 2:4].mean(axis=0)], atol=1e-6)
    trace = encoder.trace(text=tf.constant(["the cats", ""]))
    assert trace["tokens"].numpy().tolist()[1][:2] == [b"[CLS]", b"[SEP]"]
