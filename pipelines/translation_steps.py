"""A translator as two functions, `start` and `step`, for decoding.py. State is a dict of tensors, batch first on every leaf.

What is behind "memory" in it comes from the source and never changes.
"""

import tensorflow as tf
from keras import ops

from pipelines import translation_models
from pipelines.configs.nmt import NmtConfig

_SLOTS = 16  # by so many pieces a cache grows: a beam moves its rows at every step, and translations are shorter than they may be


def start(config: NmtConfig, parts: dict, source) -> dict:
    """The state before the first piece is written.

    Args:
        parts: `translation_models.parts_of` a model.
        source: ids int32 [batch, Ts].
    """
    encoded = translation_models.encode(config, parts, source)
    rows = tf.shape(source)[0]
    if config.model == "transformer":
        blocks = [parts[f"decoder_{i + 1}"] for i in range(config.layers)]
        caches = [block.initial_cache(rows, _SLOTS, encoded["memory"], encoded["mask"]) for block in blocks]
        return {
            "position": tf.zeros([rows], tf.int32),
            "written": [cache["self"] for cache in caches],
            "memory": [cache["cross"] for cache in caches],
        }
    if config.model == "single-rnn":
        return {"states": encoded["states"]}
    states = translation_models.first_states(config, parts, encoded["last"])
    if config.model == "rnn":
        return {"states": [states], "memory": encoded["last"]}
    states = parts["decoder"].cell.start(encoded["memory"], encoded["mask"], states)
    return {"states": states[:-3], "memory": states[-3:]}


def step(config: NmtConfig, parts: dict, ids, state: dict):
    """Reads one piece for each row: ids int32 [rows] -> (logits float32 [rows, vocabulary] of the next one, the state behind it)."""
    state = dict(state)
    embedded = parts["target_tokens"](ids[:, None])
    if config.model == "transformer":
        position = tf.reduce_max(tf.concat([state["position"], [0]], axis=0))  # of all rows: a scalar costs the cache no copy
        x = translation_models.placed(config, parts, embedded, start=position)
        written = []
        for i, (kept, memory) in enumerate(zip(_with_room(state["written"], position), state["memory"], strict=True)):
            x, cache = parts[f"decoder_{i + 1}"](x, cache={"self": kept, "cross": memory}, position=position)
            written.append(cache["self"])
        x = translation_models.last_norm(config, parts, "decoder_norm", x)
        state |= {"position": state["position"] + 1, "written": written}
        return translation_models.read_out(config, parts, x, embedded)[:, 0], state
    x = embedded[:, 0]
    if config.model == "single-rnn":
        after = []
        for i, states in enumerate(state["states"]):
            x, states = parts[f"decoder_{i + 1}"].cell(x, states)
            after.append(list(states))
        state["states"] = after
    elif config.model == "rnn":
        x, states = parts["decoder"].cell(ops.concatenate([x, state["memory"]], axis=-1), state["states"][0])
        x, state["states"] = ops.concatenate([x, state["memory"]], axis=-1), [list(states)]
    else:
        memory = state["memory"]
        x, states, weights = parts["decoder"].cell(x, [*state["states"], *memory], return_weights=True)
        x = translation_models.with_context(config, x[:, None], weights[:, None], memory[0])[:, 0]
        state["states"] = states[:-3]
    return translation_models.read_out(config, parts, x, embedded[:, 0]), state


def _with_room(written: list[dict], position) -> list[dict]:
    """The blocks' caches with a slot for the piece at `position`."""

    def longer():
        return tf.nest.map_structure(lambda x: tf.pad(x, [[0, 0], [0, 0], [0, _SLOTS], [0, 0]]), written)

    longer = tf.cond(position < tf.shape(written[0]["key"])[2], lambda: written, longer)
    return tf.nest.map_structure(lambda x, like: tf.ensure_shape(x, [None, like.shape[1], None, like.shape[3]]), longer, written)
