"""The network of the language models and the causal encoders: ids -> logits of the next token."""

import keras
from keras import layers

from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import RECURRENT_LAYERS
from pipelines.networks.transformer import stacked_transformer
from pipelines.settings.fields import Activation, Positions
from pipelines.training.sampled_softmax import SampledSoftmaxModel

_FIELDS = (
    "model",
    "num_layers",
    "hidden_size",
    "embedding_size",
    "num_heads",
    "positions",
    "scale_embeddings",
    "window",
    "dropout",
    "num_sampled",
    "seed",
)


def shared_arguments(config) -> dict:
    """Returns the arguments of `causal_network` that are fields of the same name in the configs of its tasks."""
    return {name: getattr(config, name) for name in _FIELDS}


def causal_network(
    *,
    model: str,
    vocabulary_size: int,
    num_layers: int,
    hidden_size: int,
    embedding_size: int,
    num_heads: int,
    positions: Positions,
    window: int,
    dropout: float,
    sequence_dropout: bool,
    tie_weights: bool,
    num_sampled: int,
    seed: int,
    activation: Activation = "tanh",
    residual: bool = False,
    scale_embeddings: bool = True,
    streams: int | None = None,
) -> keras.Model:
    """Returns a model of ids int32 [batch, time] -> logits float32 [batch, time, vocabulary] of the next token at each
    position.

    Its layers are called `tokens`, `recurrent_1` ... or `block_1` ..., `last_norm` (transformer), and `logits` or
    `projection`.

    Args:
        model: "transformer" (causal blocks), or the name of a recurrent layer.
        embedding_size: size of the token embeddings of recurrent networks; a transformer's are of `hidden_size`.
        num_heads, positions: attention heads and positional encoding of the transformer.
        window: number of positions that "learned" positions have.
        dropout: dropout rate between layers, not between time steps (Zaremba, Sutskever and Vinyals 2014, "Recurrent
            Neural Network Regularization").
        sequence_dropout: use the same dropout mask at all positions of a window (Gal and Ghahramani 2016, "A
            Theoretically Grounded Application of Dropout in Recurrent Neural Networks").
        tie_weights: score the next token with the token embeddings (Press and Wolf 2017, "Using the Output Embedding to
            Improve Language Models").
        num_sampled: tokens that the sampled softmax scores in training; 0 scores all.
        seed: of the sampled softmax.
        activation: of recurrent layers.
        residual: recurrent networks: from the second layer on, a layer's input is added to its output.
        scale_embeddings: as of `position_layer`.
        streams: batch size of a model for training, whose recurrent layers continue from the state of the previous
            call; with `num_sampled` it returns features instead of logits. None makes a model that starts from zeros in
            every call.
    """
    ids = keras.Input((None,), batch_size=streams, dtype="int32", name="ids")
    size = hidden_size if model == "transformer" else embedding_size
    embedding = (layers.ReversibleEmbedding if tie_weights else layers.Embedding)(vocabulary_size, size, name="tokens")
    x = embedding(ids)  # [batch, time, size]
    if model == "transformer":
        add_positions = position_layer(positions, window, scale_embeddings)
        x = add_positions(x) if add_positions else x
        x = stacked_transformer(
            layers.Dropout(dropout)(x),
            num_layers,
            num_heads,
            4 * hidden_size,
            causal=True,
            rotary=positions == "rotary",
            dropout=dropout,
        )
    else:
        stateful = streams is not None
        x = _recurrent(
            x,
            model,
            num_layers,
            hidden_size,
            layers.SpatialDropout1D if sequence_dropout else layers.Dropout,
            dropout,
            stateful,
            activation,
            residual,
        )
    return with_output(
        ids,
        x,
        embedding,
        vocabulary_size,
        tie_weights=tie_weights,
        num_sampled=num_sampled if streams is not None else 0,
        seed=seed,
        name=f"language_model_{model}",
    )


def with_output(
    ids,
    x,
    embedding: keras.layers.Layer,
    vocabulary_size: int,
    *,
    tie_weights: bool,
    num_sampled: int,
    seed: int,
    name: str,
) -> keras.Model:
    """Returns the model of ids that scores the next token from the features x, float [batch, time, units].

    Args:
        embedding: of the tokens, which scores them if `tie_weights`.
        num_sampled: above 0 the model is one for training with the sampled softmax, which returns features.
    """
    if num_sampled:
        return SampledSoftmaxModel(ids, _projection(x, embedding), embedding, num_sampled, seed, name=name)
    if tie_weights:
        logits = embedding(_projection(x, embedding), reverse=True)
    else:
        logits = layers.Dense(vocabulary_size, dtype="float32", name="logits")(x)
    return keras.Model(ids, logits, name=name)


def _recurrent(x, model, num_layers, hidden_size, dropout_layer, dropout, stateful, activation, residual):
    """Returns the outputs of the stacked recurrent layers, [batch, time, units]."""
    for i in range(num_layers):
        x = dropout_layer(dropout)(x)
        layer = RECURRENT_LAYERS[model](
            hidden_size,
            activation=activation,
            return_sequences=True,
            return_state=True,
            stateful=stateful,
            name=f"recurrent_{i + 1}",
        )
        y = layer(x)[0]
        x = x + y if residual and i > 0 else y
    return dropout_layer(dropout)(x)


def _projection(x, embedding):
    """Returns features of the size of the token embeddings, which score them."""
    return x if x.shape[-1] == embedding.output_dim else layers.Dense(embedding.output_dim, name="projection")(x)
