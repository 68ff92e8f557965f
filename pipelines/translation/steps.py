"""A translator as two functions, `start` and `step`, for the loops in pipelines/decoding.

The state is a dict of tensors, batch first on every leaf.

The entry "memory" depends on the source alone: no step changes it.
"""

import tensorflow as tf
from keras import ops

from pipelines.translation import networks
from pipelines.translation.config import TranslationConfig

# A key/value cache grows by this number of tokens. Beam search copies the cache at every step, and most translations
# are much shorter than the maximum, so a cache of the maximum length would be slow.
_CACHE_GROWTH = 16


def start(config: TranslationConfig, parts: dict, encoded: dict) -> dict:
    """Returns the state before the first token of the translation.

    Args:
        parts: from `networks.layers_by_name`.
        encoded: the source, from `networks.encode`.
    """
    if config.model == "transformer":
        rows = tf.shape(encoded["memory"])[0]
        blocks = [parts[f"decoder_{i + 1}"] for i in range(config.num_layers)]
        caches = [block.initial_cache(rows, _CACHE_GROWTH, encoded["memory"], encoded["mask"]) for block in blocks]
        return {
            "position": tf.zeros([rows], tf.int32),
            "caches": [cache["self"] for cache in caches],  # key and value [batch, heads, slots, size]
            "memory": [cache["cross"] for cache in caches],
        }
    if config.model == "single-rnn":
        return {"states": encoded["states"]}
    states = networks.initial_states(config, parts, encoded["last"])
    upper = networks.upper_initial_states(config, parts, encoded["last"])
    if config.model == "rnn":
        return {"states": states, "upper": upper, "memory": encoded["last"]}
    *states, value, keys, mask = parts["decoder"].cell.start(encoded["memory"], encoded["mask"], states)
    return {"states": states, "upper": upper, "memory": [value, keys, mask]}


def step(config: TranslationConfig, parts: dict, ids, state: dict):
    """Reads one token per row.

    Args:
        ids: int32 [rows].
        state: from `start` or the previous step.

    Returns:
        (logits float32 [rows, vocabulary] of the next token, the state after this one).
    """
    embedded = parts["target_tokens"](ids[:, None])  # [rows, 1, embedding_size]
    if config.model == "transformer":
        x, state = _step_transformer(config, parts, embedded, state)  # [rows, 1, hidden_size]
        return networks.output_logits(config, parts, x, embedded)[:, 0], state
    embedded = embedded[:, 0]  # [rows, embedding_size]
    if config.model == "single-rnn":
        x, states = _step_layers(parts, embedded, state["states"])
        state = state | {"states": states}
    elif config.model == "rnn":
        memory = state["memory"]  # [rows, hidden_size]
        x, states = parts["decoder"].cell(ops.concatenate([embedded, memory], axis=-1), state["states"])
        x, upper = _step_layers(parts, x, state["upper"], first=2)
        x, state = ops.concatenate([x, memory], axis=-1), state | {"states": list(states), "upper": upper}
    else:
        memory = state["memory"]
        x, states, weights = parts["decoder"].cell(embedded, [*state["states"], *memory], return_weights=True)
        x, upper = _step_layers(parts, x, state["upper"], first=2)
        x = networks.append_context(config, x[:, None], weights[:, None], memory[0])[:, 0]
        state = state | {"states": states[: -len(memory)], "upper": upper}
    return networks.output_logits(config, parts, x, embedded), state


def _step_transformer(config, parts, embedded, state):
    # All rows are at the same position. As a scalar it lets the blocks write into their caches without a copy.
    position = tf.reduce_max(tf.concat([state["position"], [0]], axis=0))
    x = networks.add_positions(config, parts, embedded, start=position)
    caches = []
    for i, (cache, memory) in enumerate(zip(_with_free_slot(state["caches"], position), state["memory"], strict=True)):
        x, updated = parts[f"decoder_{i + 1}"](x, cache={"self": cache, "cross": memory}, position=position)
        caches.append(updated["self"])
    x = networks.final_norm(config, parts, "decoder_norm", x)
    return x, state | {"position": state["position"] + 1, "caches": caches}


def _step_layers(parts, x, layer_states, first=1):
    """Runs one step of the layers decoder_<first> ...: returns the output of the highest one, and all their states."""
    new_states = []
    for i, states in enumerate(layer_states, start=first):
        x, states = parts[f"decoder_{i}"].cell(x, states)
        new_states.append(list(states))
    return x, new_states


def _with_free_slot(caches: list[dict], position) -> list[dict]:
    """The caches, made longer if they have no slot for the token at `position`."""

    def grown():
        padding = [[0, 0], [0, 0], [0, _CACHE_GROWTH], [0, 0]]
        return tf.nest.map_structure(lambda x: tf.pad(x, padding), caches)

    grown = tf.cond(position < tf.shape(caches[0]["key"])[2], lambda: caches, grown)
    return tf.nest.map_structure(
        lambda x, like: tf.ensure_shape(x, [None, like.shape[1], None, like.shape[3]]), grown, caches
    )
