"""The networks of the translation pipeline: source and target ids -> logits of the target's next piece.

A network is a dict of layers and three functions over them: `encode` reads the source, `decode` reads the whole target at once
(teacher forcing), and translation_steps.py reads it piece by piece.
"""

import keras
from keras import layers, ops

from layers import (
    Attention, AttentionDecoder, AttentionDecoderCell, HoistedGRU, HoistedLSTM, ReverseTokens,
    SinusoidalPositionalEncoding, TransformerDecoderBlock, TransformerEncoderBlock,
)  # fmt: skip
from pipelines.configs.nmt import NmtConfig
from pipelines.text import PAD

_RECURRENT = {"gru": HoistedGRU, "lstm": HoistedLSTM}
_CELLS = {"gru": layers.GRUCell, "lstm": layers.LSTMCell}


def build(config: NmtConfig, source_size: int, target_size: int) -> keras.Model:
    """A model of {"source": int32 [batch, Ts], "target": int32 [batch, Tt]} -> logits float32 [batch, Tt, target_size].

    Place t of the logits is about the piece behind target[:, t].
    """
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    parts = _parts(config, source_size, target_size)
    logits = decode(config, parts, encode(config, parts, source), target)
    return keras.Model({"source": source, "target": target}, logits, name=f"translator_{config.model.replace('-', '_')}")


def parts_of(model: keras.Model) -> dict[str, layers.Layer]:
    """The layers of a model that `build` made."""
    parts = {layer.name: layer for layer in model.layers}
    parts.setdefault("source_tokens", parts["target_tokens"])
    return parts


def encode(config: NmtConfig, parts: dict, source) -> dict:
    """What the decoder is given of source ids int32 [batch, Ts].

    Returns:
        single-rnn: "states" of each layer behind the source. The others: "mask", bool [batch, Ts], and "memory", the states of the
        encoder, float [batch, Ts, hidden_size]; rnn and attention also "last", the one behind the whole source, float [batch, hidden_size].
    """
    if config.reverse_source:
        source = parts["reversed"](source)
    mask = ops.not_equal(source, PAD)
    x = parts["source_tokens"](source)
    if config.model == "single-rnn":
        x, states = read_on(config, parts, x, mask=mask)
        return {"states": states}
    if config.model == "transformer":
        x = placed(config, parts, x)
        for i in range(config.layers):
            x = parts[f"encoder_{i + 1}"](x, mask=mask)
        return {"memory": last_norm(config, parts, "encoder_norm", x), "mask": mask}
    for i in range(config.layers):
        x, *states = parts[f"encoder_{i + 1}"](parts["dropout"](x), mask=mask)
    last = states[0] if config.one_way else ops.concatenate([states[0], states[len(states) // 2]], axis=-1)
    return {"memory": x, "mask": mask, "last": last}


def decode(config: NmtConfig, parts: dict, encoded: dict, target, return_weights: bool = False):
    """Logits float32 [batch, Tt, target_size] of the whole target at once.

    With return_weights also where each place looked: float [batch, heads, Tt, Ts], the transformer's in its last block; None for a
    model that has no attention.
    """
    weights = None
    embedded = parts["target_tokens"](target)
    if config.model == "single-rnn":
        x, _ = read_on(config, parts, embedded, states=encoded["states"])
    elif config.model == "rnn":
        # Not a sum with zeros: Keras's `add` takes [1, n, 1] for a bias of size n where the other is [1, 1, n] (since keras#20386).
        context = ops.expand_dims(encoded["last"], 1) * ops.ones_like(embedded[:, :, :1])
        states = first_states(config, parts, encoded["last"])
        x = ops.concatenate([parts["dropout"](embedded), context], axis=-1)
        x = ops.concatenate([parts["decoder"](x, initial_state=states)[0], context], axis=-1)
    elif config.model == "attention":
        states = first_states(config, parts, encoded["last"])
        x, weights = parts["decoder"](parts["dropout"](embedded), encoded["memory"], mask=encoded["mask"], initial_state=states)
        x = with_context(config, x, weights, encoded["memory"])
        weights = ops.expand_dims(weights, 1)
    else:
        x = placed(config, parts, embedded)
        for i in range(config.layers):
            x = parts[f"decoder_{i + 1}"](x, encoded["memory"], encoder_mask=encoded["mask"], return_weights=return_weights)
            if return_weights:
                x, weights = x[0], x[1]["cross"]
        x = last_norm(config, parts, "decoder_norm", x)
    logits = read_out(config, parts, x, embedded)
    return (logits, weights) if return_weights else logits


def read_on(config: NmtConfig, parts: dict, x, mask=None, states=None):
    """The single network from the states it is in: vectors [batch, time, size] -> (outputs, the states of each layer behind them).

    Read one behind the other, source and target are the one sequence that it knows.
    """
    after = []
    for i in range(config.layers):
        x, *last = parts[f"decoder_{i + 1}"](parts["dropout"](x), mask=mask, initial_state=states[i] if states else None)
        after.append(last)
    return x, after


def first_states(config: NmtConfig, parts: dict, last) -> list:
    """The decoder's states before its first step, from what the encoder read last (Bahdanau et al. 2015, appendix A.2.2)."""
    return [parts[f"first_{i + 1}"](last) for i in range(2 if config.cell == "lstm" else 1)]


def with_context(config: NmtConfig, x, weights, memory):
    """A decoder's outputs [batch, Tq, units] with what each of them saw: in Bahdanau's style the read-out is shown it as well (et al. 2015,
    appendix A.2.2); in Luong's it is part of the output already."""
    return x if config.style == "luong" else ops.concatenate([x, ops.matmul(weights, memory)], axis=-1)


def read_out(config: NmtConfig, parts: dict, x, embedded):
    """Logits from the decoder's outputs x; a recurrent one also shows the piece that it has just read."""
    if config.model != "transformer":
        x = parts["read_out"](ops.concatenate([x, embedded], axis=-1))
    return parts["target_tokens"](parts["dropout"](x), reverse=True)


def _parts(config, source_size, target_size):
    width = config.hidden_size if config.model == "transformer" else config.embedding_size
    target_tokens = layers.ReversibleEmbedding(target_size, width, name="target_tokens")
    parts = {
        "target_tokens": target_tokens,
        "source_tokens": target_tokens if config.joint_vocabulary else layers.Embedding(source_size, width, name="source_tokens"),
        "dropout": layers.Dropout(config.dropout, name="dropout"),
    }
    make = _transformer_parts if config.model == "transformer" else _recurrent_parts
    return parts | {part.name: part for part in make(config)}


def _transformer_parts(config):
    yield SinusoidalPositionalEncoding(name="positions")
    options = dict(norm=config.norm, dropout=config.dropout)
    for i in range(config.layers):
        yield TransformerEncoderBlock(config.heads, config.feed_forward * config.hidden_size, name=f"encoder_{i + 1}", **options)
        yield TransformerDecoderBlock(config.heads, config.feed_forward * config.hidden_size, name=f"decoder_{i + 1}", **options)
    if config.norm == "pre":
        yield layers.LayerNormalization(epsilon=1e-5, name="encoder_norm")
        yield layers.LayerNormalization(epsilon=1e-5, name="decoder_norm")


def _recurrent_parts(config):
    yield layers.Dense(config.embedding_size, activation="tanh", name="read_out")
    if config.reverse_source:
        yield ReverseTokens(name="reversed")

    def recurrent(size, **options):
        return _RECURRENT[config.cell](size, return_sequences=True, return_state=True, **options)

    if config.model == "single-rnn":
        for i in range(config.layers):
            yield recurrent(config.hidden_size, name=f"decoder_{i + 1}")
        return
    for i in range(config.layers):
        name = f"encoder_{i + 1}"
        if config.one_way:
            yield recurrent(config.hidden_size, name=name)
        else:
            yield layers.Bidirectional(recurrent(config.hidden_size // 2), name=name)
    for i in range(2 if config.cell == "lstm" else 1):
        yield layers.Dense(config.hidden_size, activation="tanh", name=f"first_{i + 1}")
    if config.model == "rnn":
        yield recurrent(config.hidden_size, name="decoder")
        return
    yield AttentionDecoder(
        AttentionDecoderCell(
            _CELLS[config.cell](config.hidden_size), Attention(config.score), memory_size=config.hidden_size,
            style=config.style, input_feeding=config.input_feeding,
        ),
        return_weights=True, name="decoder",
    )  # fmt: skip


def placed(config, parts, x, start=0):
    """Vectors of pieces, scaled (Vaswani et al. 2017, section 3.4), with their positions."""
    return parts["dropout"](parts["positions"](x * config.hidden_size**0.5, start=start))


def last_norm(config, parts, name, x):
    return parts[name](x) if config.norm == "pre" else x
