"""The networks that read the last order - 1 tokens: the n-gram model, Bengio's window, and a bag of tokens.

ids int32 [batch, time] -> logits float32 [batch, time, vocabulary] of the next token; before the first one is PAD.
"""

import keras
from keras import layers, ops

from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.ngram_layer import BackoffNGrams
from pipelines.networks.causal import with_output
from pipelines.text.tokenizers import PAD


def ngram_network(config: LanguageModelConfig, vocabulary_size: int, sizes: list[tuple[int, int]]) -> keras.Model:
    """Returns the n-gram model, whose tables are assigned later.

    Args:
        sizes: of the tables; see `BackoffNGrams`.
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    return keras.Model(ids, BackoffNGrams(config.order, vocabulary_size, sizes, name="ngrams")(ids), name="ngram")


def window_network(config: LanguageModelConfig, vocabulary_size: int, streams: int | None = None) -> keras.Model:
    """Returns the model "feedforward" or "average".

    feedforward: h = tanh(W [e_(t-n+2); ...; e_t] + b), from the embeddings of the last order - 1 tokens side by side
    (Bengio et al. 2003, "A Neural Probabilistic Language Model"). average: h = tanh(W mean(e) + b), which does not know
    the order of the tokens.

    In training, the first positions of a window see fewer tokens: what stood before the window is not read.

    Args:
        streams: batch size of the model for training; None makes the inference model.
    """
    ids = keras.Input((None,), batch_size=streams, dtype="int32", name="ids")
    length = config.order - 1
    padded = ops.pad(ids, [[0, 0], [length - 1, 0]], constant_values=PAD)
    embedding_class = layers.ReversibleEmbedding if config.tie_weights else layers.Embedding
    embedding = embedding_class(vocabulary_size, config.embedding_size, name="tokens")
    x = layers.Dropout(config.dropout)(embedding(padded))  # [batch, length - 1 + time, embedding_size]
    if config.model == "average":
        valid = ops.cast(ops.not_equal(padded, PAD), "float32")[..., None]
        pool = layers.AveragePooling1D(length, strides=1, padding="valid")
        x = pool(x * valid) / ops.maximum(pool(valid), 0.5 / length)  # a context of PAD alone has the mean 0
        x = layers.Dense(config.hidden_size, activation=config.activation, name="hidden")(x)
    else:
        hidden = layers.Conv1D(config.hidden_size, length, padding="valid", activation=config.activation, name="hidden")
        x = hidden(x)  # [batch, time, hidden_size]
    x = layers.Dropout(config.dropout)(x)
    return with_output(
        ids,
        x,
        embedding,
        vocabulary_size,
        tie_weights=config.tie_weights,
        num_sampled=config.num_sampled if streams is not None else 0,
        seed=config.seed,
        name=f"language_model_{config.model}",
    )
