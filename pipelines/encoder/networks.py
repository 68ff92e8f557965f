"""The networks of the encoders: those that are pretrained, and the part of them that is exported."""

import keras
from keras import layers, ops

from layers import HoistedLSTM, MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling
from pipelines.encoder.config import EncoderConfig
from pipelines.networks.causal import causal_network, shared_arguments
from pipelines.networks.positions import position_layer
from pipelines.networks.transformer import stacked_transformer
from pipelines.text.tokenizers import PAD

_POOLINGS = ((MaskedLastPooling, "last"), (MaskedMeanPooling, "mean"), (MaskedMaxPooling, "maximum"))


def build(config: EncoderConfig, vocabulary_size: int, streams: int | None = None) -> keras.Model:
    """Returns the network to pretrain: a causal language model, or one that predicts masked tokens.

    Args:
        streams: batch size of a causal model for training, which carries its states.
    """
    if config.direction == "bidirectional":
        return _masked_network(config, vocabulary_size)
    return causal_network(
        **shared_arguments(config),
        vocabulary_size=vocabulary_size,
        sequence_dropout=False,
        tie_weights=True,
        streams=streams,
    )


def _masked_network(config: EncoderConfig, vocabulary_size: int) -> keras.Model:
    """Returns a model that predicts the tokens at masked positions.

    {"ids": int32 [batch, time], "positions": int32 [batch, n]} -> logits float32 [batch, n, vocabulary].

    Source: Devlin et al. 2019, "BERT", section 3.1, task 1.
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    positions = keras.Input((None,), dtype="int32", name="positions")
    size = config.hidden_size if config.model == "transformer" else config.embedding_size
    embedding = layers.ReversibleEmbedding(vocabulary_size, size, name="tokens")
    x = embedding(ids)  # [batch, time, size]
    if config.model == "transformer":
        add_positions = position_layer(
            config.positions, config.window, config.scale_embeddings, name="position_encoding"
        )
        x = add_positions(x) if add_positions else x
    x = layers.Dropout(config.dropout)(x)
    mask = ops.not_equal(ids, PAD)  # [batch, time]
    if config.model == "transformer":
        x = stacked_transformer(
            x,
            config.num_layers,
            config.num_heads,
            4 * config.hidden_size,
            mask=mask,
            rotary=config.positions == "rotary",
            dropout=config.dropout,
        )
    else:
        for i in range(config.num_layers):
            lstm = HoistedLSTM(config.hidden_size // 2, return_sequences=True)
            x = layers.Bidirectional(lstm, name=f"recurrent_{i + 1}")(x, mask=mask)
            x = layers.Dropout(config.dropout)(x)
    x = ops.take_along_axis(x, ops.expand_dims(positions, -1), axis=1)  # [batch, n, units]
    if x.shape[-1] != embedding.output_dim:
        x = layers.Dense(embedding.output_dim, name="projection")(x)
    return keras.Model({"ids": ids, "positions": positions}, embedding(x, reverse=True), name=f"masked_{config.model}")


def reading_layers(config: EncoderConfig, model: keras.Model) -> tuple[keras.Model, keras.layers.Layer | None]:
    """Returns the arguments of `encoder_network` from a pretrained model."""
    kind = "block" if config.model == "transformer" else "recurrent"
    outputs = [model.get_layer(f"{kind}_{i + 1}").output for i in range(config.num_layers)]
    outputs = [output[0] if isinstance(output, list | tuple) else output for output in outputs]
    last_norm = model.get_layer("last_norm") if config.model == "transformer" else None
    return keras.Model(model.get_layer("ids").output, outputs, name="layers"), last_norm


def encoder_network(reading: keras.Model, last_norm: keras.layers.Layer | None = None, pad: int = PAD) -> keras.Model:
    """Returns the network of the export: ids int32 [batch, time] -> the outputs of an encoder.

    Args:
        reading: ids -> the outputs of all layers, a list of float [batch, time, units], the lowest layer first.
        last_norm: layer after the highest layer.
        pad: the id of the padding.

    Returns:
        A model with the outputs "encoder_outputs" (that list), "sequence_output" (of the highest layer, float [batch,
        time, units]), "mask" (bool [batch, time]) and "pooled_output": the concatenated last state, mean and maximum,
        float [batch, 3 units] (Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.3).
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    outputs = reading(ids)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    sequence = last_norm(outputs[-1]) if last_norm else outputs[-1]
    mask = ops.not_equal(ids, pad)
    pooled = [pooling(name=name)(sequence, mask=mask) for pooling, name in _POOLINGS]
    return keras.Model(
        ids,
        {
            "encoder_outputs": outputs,
            "sequence_output": sequence,
            "mask": mask,
            "pooled_output": ops.concatenate(pooled, axis=-1),
        },
        name="encoder",
    )
