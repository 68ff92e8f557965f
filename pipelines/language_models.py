"""The networks of the language model pipeline: ids int32 [batch, time] -> logits of the next token [batch, time, vocabulary].

For training, a recurrent network keeps its state from one window to the next inside of itself. For everything else state goes in
and comes out: `start` and `advance`.
"""

import keras
from keras import layers

from layers import (
    HoistedGRU, HoistedLSTM, LearnedPositionalEmbedding, PeepholeLSTMCell, SinusoidalPositionalEncoding, TransformerDecoderBlock,
)  # fmt: skip
from pipelines.configs.char_lm import CharLmConfig
from pipelines.sampled_softmax import SampledSoftmaxModel

_RECURRENT = {
    "simple": layers.SimpleRNN,
    "gru": HoistedGRU,
    "lstm": HoistedLSTM,
    "peephole": lambda units, **kwargs: layers.RNN(PeepholeLSTMCell(units), **kwargs),
}


def build(config: CharLmConfig, vocabulary_size: int, streams: int | None = None) -> keras.Model:
    """A model of ids int32 [batch, time] -> logits float32 [batch, time, vocabulary].

    Args:
        streams: the batch size of a model whose recurrent layers go on from the state of the last call; None for one that
            starts from zero in every call. With `config.samples` the model is to be trained, and gives features for logits.
    """
    ids = keras.Input((None,), batch_size=streams, dtype="int32", name="ids")
    embedding = _embedding(config, vocabulary_size)
    x = embedding(ids)
    if config.model == "transformer":
        x = _blocks(config, x)
    else:
        for i in range(config.layers):
            x = _dropout(config)(x)
            layer = _RECURRENT[config.model](
                config.hidden_size, return_sequences=True, return_state=True, stateful=streams is not None, name=f"recurrent_{i + 1}"
            )
            x = layer(x)[0]
        x = _dropout(config)(x)
    name = f"language_model_{config.model}"
    if streams is None or not config.samples:
        return keras.Model(ids, _logits(config, vocabulary_size, x, embedding), name=name)
    return SampledSoftmaxModel(ids, _projected(x, embedding), embedding, config.samples, config.seed, name=name)


def _embedding(config, vocabulary_size):
    size = config.hidden_size if config.model == "transformer" else config.embedding_size
    if config.tie_weights:
        return layers.ReversibleEmbedding(vocabulary_size, size, name="tokens")
    return layers.Embedding(vocabulary_size, size, name="tokens")


def _dropout(config):
    """Between layers, never from step to step (Zaremba, Sutskever and Vinyals 2014); one mask a window as Gal and Ghahramani 2016."""
    kind = layers.SpatialDropout1D if config.sequence_dropout else layers.Dropout
    return kind(config.dropout)


def _blocks(config, x):
    if config.positions == "sinusoidal":
        x = SinusoidalPositionalEncoding(name="positions")(x)
    if config.positions == "learned":
        x = LearnedPositionalEmbedding(config.window, name="positions")(x)
    x = layers.Dropout(config.dropout)(x)
    for i in range(config.layers):
        x = TransformerDecoderBlock(
            config.heads, 4 * config.hidden_size, norm="pre", activation="gelu", dropout=config.dropout,
            rotary=config.positions == "rotary", name=f"block_{i + 1}",
        )(x)  # fmt: skip
    return layers.LayerNormalization(name="last_norm")(x)


def _logits(config, vocabulary_size, x, embedding):
    if not config.tie_weights:
        return layers.Dense(vocabulary_size, dtype="float32", name="logits")(x)
    return embedding(_projected(x, embedding), reverse=True)


def _projected(x, embedding):
    """Features of the size of the vectors that score the tokens."""
    return x if x.shape[-1] == embedding.output_dim else layers.Dense(embedding.output_dim, name="projection")(x)
