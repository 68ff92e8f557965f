"""A translator as two functions, `start` and `step`, for the loops in pipelines/decoding.

The state is a dict of tensors, batch first on every leaf.

The entry "memory" depends on the source alone: no step changes it.

The hypotheses of a beam search share the cache of a transformer: each has a bool for each slot, whether its token
belongs to the past of the hypothesis. A search that continues with other hypotheses moves these, and no keys and
values.
"""

import tensorflow as tf

from pipelines.decoding.loop import STAGE_STEPS
from pipelines.translation import networks
from pipelines.translation.config import TranslationConfig


def sharing(config: TranslationConfig) -> dict[str, tuple[str, ...]]:
    """Returns the arguments of `beam_search` that say which entries of the state depend on the row alone."""
    if config.model == "transformer":
        return {"shared": ("slot", "caches", "memory", "in_source")}
    return {"fixed": ("memory",)}


def start(config: TranslationConfig, parts: dict, encoded: dict) -> dict:
    """Returns the state before the first token of the translation, with room for it.

    Args:
        parts: from `networks.layers_by_name`.
        encoded: the source, from `networks.encode`.
    """
    if config.model == "transformer":
        rows = tf.shape(encoded["memory"])[0]
        blocks = [parts[f"decoder_{i + 1}"] for i in range(config.num_layers)]
        caches = [block.initial_cache(rows, 1, encoded["memory"], encoded["mask"]) for block in blocks]
        return {
            "position": tf.zeros([rows], tf.int32),  # the number of tokens
            "past": tf.zeros([rows, 1], tf.bool),  # [rows, slots], the slots of the row's tokens
            "slot": tf.zeros([rows], tf.int32),  # the next slot, equal in all rows
            "caches": [cache["self"] for cache in caches],  # key and value [batch, heads, slots, size]
            "memory": [{name: cache["cross"][name] for name in ("key", "value")} for cache in caches],
            "in_source": encoded["mask"],  # [batch, source_time]
        }
    if config.model == "single-rnn":
        return {"states": encoded["states"]}
    states = networks.initial_states(config, parts, encoded["last"])
    upper = networks.upper_initial_states(config, parts, encoded["last"])
    if config.model == "rnn":
        return {"states": states, "upper": upper, "memory": encoded["last"]}
    *states, value, keys, mask = parts["decoder"].cell.start(encoded["memory"], encoded["mask"], states)
    return {"states": states, "upper": upper, "memory": [value, keys, mask]}


def make_room(state: dict) -> dict:
    """Gives the caches of a transformer room for STAGE_STEPS more tokens; other models need none.

    Attention reads the whole cache at every step, and most translations are much shorter than the maximum: a cache of
    the maximum length would be slow.
    """
    if "caches" not in state:
        return state
    growth = STAGE_STEPS * _num_hypotheses(state)

    def longer(x, axis=2):
        padding = [[0, growth if i == axis else 0] for i in range(len(x.shape))]
        # In a loop, the number of slots has to be unknown, even where TensorFlow could infer it.
        shape = [None if i == axis else size for i, size in enumerate(x.shape)]
        return tf.compat.v1.placeholder_with_default(tf.pad(x, padding), shape)

    return state | {
        "past": longer(state["past"], axis=1),
        "caches": tf.nest.map_structure(longer, state["caches"]),
    }


def align(state: dict) -> dict:
    """Makes a state of rows that were started separately one that `step` accepts, with `at_once` False.

    A transformer's caches get room for STAGE_STEPS more tokens, all rows the same next slot, and the first slots, which
    no row uses any more, are removed: what is left of rows that have gone.
    """
    if "caches" not in state:
        return state
    slot = _max_or_zero(state["slot"])
    is_used = tf.concat([tf.reduce_any(state["past"], axis=0), [True]], axis=0)
    first = tf.minimum(tf.argmax(is_used, output_type=tf.int32), slot)
    num_slots = slot - first + STAGE_STEPS

    def moved(x, axis=2):
        kept = tf.gather(x, tf.range(first, tf.minimum(tf.shape(x)[axis], first + num_slots)), axis=axis)
        missing = num_slots - tf.shape(kept)[axis]
        shape = [None if i == axis else size for i, size in enumerate(x.shape)]
        return tf.ensure_shape(tf.pad(kept, [[0, missing if i == axis else 0] for i in range(len(shape))]), shape)

    return state | {
        "slot": tf.fill(tf.shape(state["slot"]), slot - first),
        "past": moved(state["past"], axis=1),
        "caches": tf.nest.map_structure(moved, state["caches"]),
    }


def _max_or_zero(values):
    return tf.reduce_max(tf.concat([values, [0]], axis=0))  # 0 for an empty batch


def _num_hypotheses(state):
    """The number of hypotheses that share a row of the caches."""
    hypotheses, rows = (tf.shape(state[name])[0] for name in ("position", "slot"))
    return tf.maximum(1, hypotheses // tf.maximum(1, rows))


def step(config: TranslationConfig, parts: dict, ids, state: dict, kernel=None, at_once: bool = True):
    """Reads one token per row. In a state without room for it, the logits are NaN.

    Args:
        ids: int32 [rows].
        state: from `start` or the previous step.
        kernel: from `networks.output_kernel`, for a loop of many steps.
        at_once: whether all rows were started at once, so that they have the same position.

    Returns:
        (logits float32 [rows, vocabulary] of the next token, the state after this one).
    """
    embedded = parts["target_tokens"](ids[:, None])  # [rows, 1, embedding_size]
    if config.model == "transformer":
        x, state = _step_transformer(config, parts, embedded, state, at_once)  # [rows, 1, hidden_size]
        return networks.output_logits(config, parts, x[:, 0], embedded, kernel), state
    embedded = embedded[:, 0]  # [rows, embedding_size]
    if config.model == "single-rnn":
        x, states = _step_layers(parts, embedded, state["states"])
        state = state | {"states": states}
    elif config.model == "rnn":
        memory = state["memory"]  # [rows, hidden_size]
        x, states = parts["decoder"].cell(networks.append_encoded(config, embedded, memory), state["states"])
        x, upper = _step_layers(parts, x, state["upper"], first=2)
        x, state = networks.append_encoded(config, x, memory), state | {"states": list(states), "upper": upper}
    else:
        memory = state["memory"]
        x, states, weights = parts["decoder"].cell(embedded, [*state["states"], *memory], return_weights=True)
        x, upper = _step_layers(parts, x, state["upper"], first=2)
        x = networks.append_context(config, x[:, None], weights[:, None], memory[0])[:, 0]
        state = state | {"states": states[: -len(memory)], "upper": upper}
    return networks.output_logits(config, parts, x, embedded, kernel), state


def _step_transformer(config, parts, embedded, state, at_once):
    """Reads one token of each hypothesis, embedded [rows, 1, hidden_size]; there are k hypotheses for a row of caches.

    Each hypothesis writes to a slot of its own: the next k slots are used.
    """
    # As a scalar, the slot lets the blocks write without copying the caches. Equal positions are cheaper as a scalar.
    slot = _max_or_zero(state["slot"])
    position = _max_or_zero(state["position"]) if at_once else state["position"]
    k, num_slots = _num_hypotheses(state), tf.shape(state["past"])[1]
    own = tf.range(num_slots) == (slot + tf.range(k))[:, None]  # [k, slots]
    past = tf.reshape(state["past"], [-1, k, num_slots]) | own

    x = networks.add_positions(config, parts, embedded, start=position)
    options = {"position": position, "slot": slot, "mask": past, "hypotheses": k}
    new_caches = []
    for i, (cache, memory) in enumerate(zip(state["caches"], state["memory"], strict=True)):
        cache = {"self": cache, "cross": memory | {"mask": state["in_source"]}}
        x, updated = parts[f"decoder_{i + 1}"](x, cache=cache, **options)
        new_caches.append(updated["self"])
    x = networks.final_norm(config, parts, "decoder_norm", x)
    x *= tf.cast(tf.where(slot + k <= num_slots, 1.0, float("nan")), x.dtype)
    return x, state | {
        "position": state["position"] + 1,
        "past": tf.reshape(past, [-1, num_slots]),
        "slot": state["slot"] + k,
        "caches": new_caches,
    }


def _step_layers(parts, x, layer_states, first=1):
    """Runs one step of the layers decoder_<first> ...: returns the output of the highest one, and all their states."""
    new_states = []
    for i, states in enumerate(layer_states, start=first):
        x, states = parts[f"decoder_{i}"].cell(x, states)
        new_states.append(list(states))
    return x, new_states
