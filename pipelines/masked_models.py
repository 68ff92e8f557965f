"""Networks that tell hidden tokens from those around them, on both sides: Devlin et al. 2019, "BERT", section 3.1, task 1."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from layers import HoistedLSTM, TransformerEncoderBlock
from pipelines import batching, streams
from pipelines.configs.encoder import EncoderConfig
from pipelines.text import PAD, SPECIAL_TOKENS, UNKNOWN

HIDDEN = UNKNOWN  # what stands for a hidden token: pieces leave no other use for it


def build(config: EncoderConfig, vocabulary_size: int) -> keras.Model:
    """A model of {"ids": int32 [batch, time], "places": int32 [batch, n]} -> logits float32 [batch, n, vocabulary] of these places."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    places = keras.Input((None,), dtype="int32", name="places")
    embedding = layers.ReversibleEmbedding(vocabulary_size, width_of_tokens(config), name="tokens")
    x = layers.Dropout(config.dropout)(embedding(ids))
    mask = ops.not_equal(ids, PAD)
    for i in range(config.layers):
        if config.model == "transformer":
            x = TransformerEncoderBlock(
                config.heads, 4 * config.hidden_size, norm="pre", activation="gelu", dropout=config.dropout, rotary=True, name=f"block_{i + 1}"
            )(x, mask=mask)
        else:
            lstm = HoistedLSTM(config.hidden_size // 2, return_sequences=True)
            x = layers.Bidirectional(lstm, name=f"recurrent_{i + 1}")(x, mask=mask)
            x = layers.Dropout(config.dropout)(x)
    if config.model == "transformer":
        x = layers.LayerNormalization(name="last_norm")(x)
    x = ops.take_along_axis(x, ops.expand_dims(places, -1), axis=1)
    if x.shape[-1] != embedding.output_dim:
        x = layers.Dense(embedding.output_dim, name="projection")(x)
    return keras.Model({"ids": ids, "places": places}, embedding(x, reverse=True), name=f"masked_{config.model}")


def width_of_tokens(config: EncoderConfig) -> int:
    return config.hidden_size if config.model == "transformer" else config.embedding_size


def batches(config: EncoderConfig, vocabulary_size: int, ids: np.ndarray, epoch: int, skip: int) -> tf.data.Dataset:
    """Windows of one epoch with some tokens hidden, from step `skip` on: a pure function of (config.seed, epoch, skip).

    Of the tokens that are to be told, eight in ten are hidden, one is another token, and one stays.

    Returns:
        batches of ({"ids": int32 [batch, window], "places": int32 [batch, n]}, int32 [batch, n], the tokens that stood there).
    """
    n = max(1, round(config.hidden_rate * config.window))
    steps = streams.steps_per_epoch(len(ids), config.batch_size, config.window)
    windows = streams.batches(ids, config.batch_size, config.window, config.seed, epoch, skip)

    def hide(step, window):
        rng = np.random.default_rng([config.seed, epoch, int(step)])
        hidden = window.numpy()
        places = np.argsort(rng.random(hidden.shape), axis=1)[:, :n].astype(np.int32)
        truth = np.take_along_axis(hidden, places, axis=1)
        chance = rng.random(places.shape)
        others = rng.integers(len(SPECIAL_TOKENS), vocabulary_size, places.shape)
        np.put_along_axis(hidden, places, np.where(chance < 0.8, HIDDEN, np.where(chance < 0.9, others, truth)).astype(np.int32), axis=1)
        return hidden, places, truth

    def hidden(step, pair):
        window, places, truth = tf.py_function(hide, [step, pair[1]], [tf.int32] * 3)
        window.set_shape([config.batch_size, config.window])
        places.set_shape([config.batch_size, n])
        truth.set_shape([config.batch_size, n])
        return {"ids": window, "places": places}, truth

    found = windows.enumerate(skip).map(lambda step, pair: hidden(step, pair))
    return batching.prefetched(found.apply(tf.data.experimental.assert_cardinality(max(0, steps - skip))))
