"""The networks of translators: source ids and target ids -> logits of the next target token.

A network is a dict of layers and functions that use them: `encode` reads the source, `decode` reads the whole target at
once (teacher forcing), and steps.py reads the target token by token. Training and decoding use the same layers.
"""

import keras
from keras import layers, ops

from layers import (
    Attention,
    AttentionDecoder,
    AttentionDecoderCell,
    ReverseTokens,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from pipelines.decoding.options import MAX_TRANSLATION_LENGTH
from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import RECURRENT_LAYERS, num_states
from pipelines.text.tokenizers import PAD
from pipelines.translation.config import TranslationConfig


def build(config: TranslationConfig, source_size: int, target_size: int) -> keras.Model:
    """Returns a model of source ids and target ids -> logits of the next target token.

    Its inputs are {"source": int32 [batch, Ts], "target": int32 [batch, Tt]}, its output is float32 [batch, Tt,
    target_size]. The logits at position t score the token that follows target[:, t].

    Args:
        source_size, target_size: sizes of the two vocabularies.
    """
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    parts = _create_layers(config, source_size, target_size)
    logits = decode(config, parts, encode(config, parts, source), target)
    return keras.Model(
        {"source": source, "target": target}, logits, name=f"translator_{config.model.replace('-', '_')}"
    )


def layers_by_name(model: keras.Model) -> dict[str, layers.Layer]:
    """Returns the layers of a model that `build` made: the `parts` of the other functions."""
    parts = {layer.name: layer for layer in model.layers}
    parts.setdefault("source_tokens", parts["target_tokens"])  # a joint vocabulary has one embedding
    return parts


def encode(config: TranslationConfig, parts: dict, source) -> dict:
    """Reads the source ids, int32 [batch, Ts].

    Returns:
        What the decoder needs. single-rnn: "states", the states of each layer after the source. The other models:
        "mask", bool [batch, Ts], and "memory", the encoder's outputs, float [batch, Ts, hidden_size]; rnn and attention
        also "last", the encoder's last state, float [batch, hidden_size].
    """
    if config.reverse_source:
        source = parts["reversed"](source)
    mask = ops.not_equal(source, PAD)  # [batch, Ts]
    x = parts["source_tokens"](source)  # [batch, Ts, embedding_size]
    if config.model == "single-rnn":
        _, states = run_single_rnn(config, parts, x, mask=mask)
        return {"states": states}
    if config.model == "transformer":
        x = add_positions(config, parts, x)  # [batch, Ts, hidden_size]
        for i in range(config.num_layers):
            x = parts[f"encoder_{i + 1}"](x, mask=mask)
        return {"memory": final_norm(config, parts, "encoder_norm", x), "mask": mask}
    for i in range(config.num_layers):
        x, *states = parts[f"encoder_{i + 1}"](parts["dropout"](x), mask=mask)  # [batch, Ts, hidden_size]
    # The first state of a layer is its output. A bidirectional layer has the states of the forward layer, then those of
    # the backward one.
    last = ops.concatenate([states[0], states[len(states) // 2]], axis=-1) if config.bidirectional else states[0]
    return {"memory": x, "mask": mask, "last": last}


def decode(config: TranslationConfig, parts: dict, encoded: dict, target, return_weights: bool = False):
    """Reads the target ids, int32 [batch, Tt], all at once.

    Args:
        encoded: from `encode`.
        return_weights: whether to return the attention weights, too.

    Returns:
        Logits float32 [batch, Tt, target_size]; with `return_weights` (logits, weights float [batch, heads, Tt, Ts]). A
        transformer's weights are those of its last block; a model without attention has None.
    """
    weights = None
    embedded = parts["target_tokens"](target)  # [batch, Tt, embedding_size]
    if config.model == "single-rnn":
        x, _ = run_single_rnn(config, parts, embedded, states=encoded["states"])
    elif config.model == "rnn":
        x = _decode_rnn(config, parts, encoded, embedded)
    elif config.model == "attention":
        states = initial_states(config, parts, encoded["last"])
        x, weights = parts["decoder"](
            parts["dropout"](embedded), encoded["memory"], mask=encoded["mask"], initial_state=states
        )  # [batch, Tt, hidden_size], [batch, Tt, Ts]
        x = _decode_upper(config, parts, encoded, x)  # [batch, Tt, hidden_size]
        x = append_context(config, x, weights, encoded["memory"])
        weights = ops.expand_dims(weights, 1)  # [batch, 1, Tt, Ts]
    else:
        x = add_positions(config, parts, embedded)  # [batch, Tt, hidden_size]
        for i in range(config.num_layers):
            x = parts[f"decoder_{i + 1}"](
                x, encoded["memory"], encoder_mask=encoded["mask"], return_weights=return_weights
            )
            if return_weights:
                x, weights = x[0], x[1]["cross"]  # weights [batch, heads, Tt, Ts]
        x = final_norm(config, parts, "decoder_norm", x)
    logits = output_logits(config, parts, x, embedded)  # [batch, Tt, target_size]
    return (logits, weights) if return_weights else logits


def _decode_rnn(config, parts, encoded, embedded):
    """The outputs of the decoder of rnn, float [batch, Tt, size]; see `append_encoded`."""
    # Not a sum with zeros: Keras's `add` takes [1, n, 1] for a bias of size n where the other is [1, 1, n] (since
    # keras#20386).
    context = ops.expand_dims(encoded["last"], 1) * ops.ones_like(embedded[:, :, :1])  # [batch, Tt, hidden_size]
    states = initial_states(config, parts, encoded["last"])
    x = append_encoded(config, parts["dropout"](embedded), context)
    x = _decode_upper(config, parts, encoded, parts["decoder"](x, initial_state=states)[0])
    return append_encoded(config, x, context)


def append_encoded(config: TranslationConfig, x, last):
    """Appends the encoder's last state to what a step of the decoder of rnn reads, and to its output.

    With `context` "first-step" the step gets it through the initial state of the decoder alone.

    Args:
        x: float [..., size].
        last: float [..., hidden_size].

    Returns:
        Float [..., size + hidden_size], or x.
    """
    return ops.concatenate([x, last], axis=-1) if config.context == "every-step" else x


def _decode_upper(config, parts, encoded, x):
    """The outputs of the decoder's layers above the lowest one, float [batch, Tt, hidden_size], from its outputs x."""
    for i, states in enumerate(upper_initial_states(config, parts, encoded["last"])):
        x = parts[f"decoder_{i + 2}"](parts["dropout"](x), initial_state=states)[0]
    return x


def run_single_rnn(config: TranslationConfig, parts: dict, x, mask=None, states=None):
    """Runs the layers of single-rnn over x, float [batch, time, embedding_size].

    The network reads source and target one after the other, as one sequence.

    Args:
        mask: bool [batch, time]; all positions are valid if not given.
        states: the states of each layer before x; zeros if not given.

    Returns:
        (outputs float [batch, time, hidden_size], the states of each layer after x).
    """
    last_states = []
    for i in range(config.num_layers):
        initial_state = states[i] if states else None
        x, *last = parts[f"decoder_{i + 1}"](parts["dropout"](x), mask=mask, initial_state=initial_state)
        last_states.append(last)
    return x, last_states


def initial_states(config: TranslationConfig, parts: dict, last) -> list:
    """Computes the decoder's first states, each [batch, hidden_size], from the encoder's last one, [batch,
    hidden_size].

    Source: Bahdanau et al. 2015, appendix A.2.2.
    """
    return [parts[f"first_{i + 1}"](last) for i in range(num_states(config.cell))]


def upper_initial_states(config: TranslationConfig, parts: dict, last) -> list[list]:
    """As `initial_states`, for each layer of the decoder above the lowest one."""
    upper = range(2, config.decoder_layers + 1)
    return [[parts[f"first_{i + 1}_of_{layer}"](last) for i in range(num_states(config.cell))] for layer in upper]


def append_context(config: TranslationConfig, x, weights, memory):
    """Appends the context vectors to the decoder's outputs x, float [batch, Tq, hidden_size], in Bahdanau's style.

    There the output layer sees the context (Bahdanau et al. 2015, appendix A.2.2). In Luong's style it is a part of x
    already.

    Args:
        weights: attention weights, float [batch, Tq, Ts].
        memory: the encoder's outputs, float [batch, Ts, hidden_size].
    """
    return x if config.attention_style == "luong" else ops.concatenate([x, ops.matmul(weights, memory)], axis=-1)


def output_kernel(parts: dict):
    """Returns the matrix of the output layer, float [size, target_size], for a loop of many steps."""
    tokens = parts["target_tokens"]
    return ops.cast(ops.transpose(tokens.embeddings), tokens.reverse_dtype or tokens.compute_dtype)


def output_logits(config: TranslationConfig, parts: dict, x, embedded, kernel=None):
    """Computes logits float32 [..., target_size] from the decoder's outputs x, float [..., size].

    Args:
        kernel: from `output_kernel`: the embeddings are not transposed again.
        embedded: embeddings of the tokens that the decoder has just read, float [..., embedding_size]; recurrent models
            use them, too.
    """
    if config.model != "transformer":
        x = parts["read_out"](ops.concatenate([x, embedded], axis=-1))  # [..., embedding_size]
    if kernel is not None:
        return ops.matmul(ops.cast(x, kernel.dtype), kernel)
    return parts["target_tokens"](parts["dropout"](x), reverse=True)


def add_positions(config: TranslationConfig, parts: dict, x, start=0):
    """Scales token embeddings x, float [batch, time, hidden_size], and adds the positions from `start` on.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.
    """
    x = x * config.hidden_size**0.5
    return parts["dropout"](parts["positions"](x, start=start) if "positions" in parts else x)


def final_norm(config: TranslationConfig, parts: dict, name: str, x):
    """Normalizes the output of the last block; with --norm post the block has done so."""
    return parts[name](x) if config.norm == "pre" else x


def _create_layers(config: TranslationConfig, source_size: int, target_size: int) -> dict[str, layers.Layer]:
    size = config.hidden_size if config.model == "transformer" else config.embedding_size
    target_tokens = layers.ReversibleEmbedding(target_size, size, name="target_tokens")
    source_tokens = (
        target_tokens if config.joint_vocabulary else layers.Embedding(source_size, size, name="source_tokens")
    )
    parts = {
        "target_tokens": target_tokens,
        "source_tokens": source_tokens,
        "dropout": layers.Dropout(config.dropout, name="dropout"),
    }
    create = _create_transformer_layers if config.model == "transformer" else _create_recurrent_layers
    return parts | {layer.name: layer for layer in create(config)}


def _create_transformer_layers(config: TranslationConfig):
    # With START and END; `add_positions` scales the embeddings, whatever the positions are.
    positions = position_layer(config.positions, MAX_TRANSLATION_LENGTH + 2, scale_embeddings=False)
    if positions:
        yield positions
    options = {"norm": config.norm, "dropout": config.dropout, "rotary": config.positions == "rotary"}
    for i in range(config.num_layers):
        yield TransformerEncoderBlock(config.num_heads, config.feedforward_size, name=f"encoder_{i + 1}", **options)
        yield TransformerDecoderBlock(config.num_heads, config.feedforward_size, name=f"decoder_{i + 1}", **options)
    if config.norm == "pre":
        yield layers.LayerNormalization(epsilon=1e-5, name="encoder_norm")
        yield layers.LayerNormalization(epsilon=1e-5, name="decoder_norm")


def _create_recurrent_layers(config: TranslationConfig):
    yield layers.Dense(config.embedding_size, activation="tanh", name="read_out")
    if config.reverse_source:
        yield ReverseTokens(name="reversed")
    if config.model == "single-rnn":
        for i in range(config.num_layers):
            yield _create_recurrent(config, config.hidden_size, name=f"decoder_{i + 1}")
        return
    for i in range(config.num_layers):
        name = f"encoder_{i + 1}"
        if config.bidirectional:
            yield layers.Bidirectional(_create_recurrent(config, config.hidden_size // 2), name=name)
        else:
            yield _create_recurrent(config, config.hidden_size, name=name)
    for i in range(num_states(config.cell)):
        yield layers.Dense(config.hidden_size, activation="tanh", name=f"first_{i + 1}")
    if config.model == "rnn":
        yield _create_recurrent(config, config.hidden_size, name="decoder")
    else:
        yield _create_attention_decoder(config)
    for layer in range(2, config.decoder_layers + 1):
        yield _create_recurrent(config, config.hidden_size, name=f"decoder_{layer}")
        for i in range(num_states(config.cell)):
            yield layers.Dense(config.hidden_size, activation="tanh", name=f"first_{i + 1}_of_{layer}")


def _create_recurrent(config: TranslationConfig, size: int, **options):
    options |= {"activation": config.activation, "return_sequences": True, "return_state": True}
    return RECURRENT_LAYERS[config.cell](size, **options)


def _create_attention_decoder(config: TranslationConfig) -> AttentionDecoder:
    # TensorFlow orders the operations of a graph by name: another name would change the last bits of a training.
    name = "bahdanau_attention" if config.attention_score == "additive" else "luong_attention"
    cell = AttentionDecoderCell(
        RECURRENT_LAYERS[config.cell](config.hidden_size, activation=config.activation).cell,
        Attention(config.attention_score, name=name),
        memory_size=config.hidden_size,
        style=config.attention_style,
        input_feeding=config.input_feeding,
    )
    return AttentionDecoder(cell, return_weights=True, name="decoder")
