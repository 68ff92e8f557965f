"""The encoders of the sentiment pipeline: ids int32 [batch, time] -> features float [batch, size].

Each takes the config, the number of tokens it may meet, and the ids, 0 for padding.
"""

from keras import layers, ops

from layers import (
    AttentionPooling, HashedNGrams, HoistedGRU, HoistedLSTM, MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling,
    PeepholeLSTMCell, SinusoidalPositionalEncoding, TransformerEncoderBlock,
)  # fmt: skip
from pipelines.configs.sentiment import SentimentConfig
from pipelines.text import PAD

POOLINGS = {"mean": MaskedMeanPooling, "max": MaskedMaxPooling, "attention": AttentionPooling, "last": MaskedLastPooling}
WORDS = "words"  # the name of the embedding that can start from co-occurrences
_CNN_WIDTHS = (2, 3, 4)  # tokens that a filter sees


def encode(config: SentimentConfig, vocabulary_size: int, ids):
    """The features of `config.model`."""
    return _ENCODERS[config.model](config, vocabulary_size, ids)


def _bag(config, vocabulary_size, ids):
    """The mean over the vectors of all tokens and of all pairs of neighbours (Joulin et al. 2017, fastText)."""
    words = layers.Embedding(vocabulary_size, config.embedding_size, name=WORDS)(ids)
    if not config.ngram_buckets:
        return MaskedMeanPooling(name="mean")(words, mask=ops.not_equal(ids, PAD))
    pair_ids = HashedNGrams(2, config.ngram_buckets, name="pair_ids")(ids)
    pairs = layers.Embedding(config.ngram_buckets, config.embedding_size, name="pairs")(pair_ids)
    vectors = ops.concatenate([words, pairs], axis=1)
    mask = ops.not_equal(ops.concatenate([ids, pair_ids], axis=1), PAD)
    return MaskedMeanPooling(name="mean")(vectors, mask=mask)


def _embedded(config, vocabulary_size, ids, name=WORDS):
    """Vectors of the tokens, some features of them dropped in the whole text."""
    vectors = layers.Embedding(vocabulary_size, config.embedding_size, name=name)(ids)
    return layers.SpatialDropout1D(config.embedding_dropout, name=f"{name}_dropout")(vectors)


def _cnn(config, vocabulary_size, ids, name=WORDS):
    """Filters over 2, 3 and 4 tokens; of each the largest value (Kim 2014)."""
    mask = ops.not_equal(ids, PAD)
    words = _embedded(config, vocabulary_size, ids, name) * ops.expand_dims(ops.cast(mask, "float32"), -1)
    found = []
    for width in _CNN_WIDTHS:
        values = layers.Conv1D(2 * config.hidden_size, width, padding="same", activation="relu", name=f"filters_{width}")(words)
        found.append(MaskedMaxPooling(name=f"max_{width}")(values, mask=mask))
    return ops.concatenate(found, axis=-1)


_RECURRENT = {
    "simple": layers.SimpleRNN,
    "gru": HoistedGRU,
    "lstm": HoistedLSTM,
    "peephole": lambda units, **kwargs: layers.RNN(PeepholeLSTMCell(units), **kwargs),
}


def _recurrent(config, vocabulary_size, ids, kind=None):
    """Recurrent layers over the tokens, from both ends, and one vector of their states by `config.pooling`."""
    mask = ops.not_equal(ids, PAD)
    states = _embedded(config, vocabulary_size, ids)
    for i in range(config.layers):
        # With "last", both directions give the state with which they end.
        all_states = config.pooling != "last" or i < config.layers - 1
        layer = _RECURRENT[kind or config.model](config.hidden_size, return_sequences=all_states)
        if config.bidirectional:
            layer = layers.Bidirectional(layer, name=f"both_directions_{i + 1}")
        states = layer(states, mask=mask)
    return states if config.pooling == "last" else POOLINGS[config.pooling](name=config.pooling)(states, mask=mask)


def _transformer(config, vocabulary_size, ids):
    """Transformer blocks, normalised before each part, and one vector of their outputs by `config.pooling`."""
    mask = ops.not_equal(ids, PAD)
    states = SinusoidalPositionalEncoding(name="positions")(_embedded(config, vocabulary_size, ids))
    for i in range(config.layers):
        block = TransformerEncoderBlock(
            config.heads, 2 * config.embedding_size, norm="pre", activation="gelu", dropout=config.dropout / 2, name=f"block_{i + 1}"
        )
        states = block(states, mask=mask)
    states = layers.LayerNormalization(name="last_norm")(states)
    return POOLINGS[config.pooling](name=config.pooling)(states, mask=mask)


def _best(config, vocabulary_size, ids):
    """What the words in their order say to a GRU, beside what short runs of them say to filters."""
    order = _recurrent(config, vocabulary_size, ids, kind="gru")
    runs = _cnn(config, vocabulary_size, ids, name="filter_words")
    return ops.concatenate([order, runs], axis=-1)


_ENCODERS = {
    "bag": _bag,
    "cnn": _cnn,
    **dict.fromkeys(_RECURRENT, _recurrent),
    "transformer": _transformer,
    "best": _best,
}
