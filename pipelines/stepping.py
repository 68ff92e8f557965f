"""A language model as two functions, `start` and `advance`: state goes in and comes out, and nothing is remembered in between.

State is a dict of tensors, batch first on every leaf, so that a beam search may gather its rows. What a model says with
`advance`, a token or a hundred at a time, is what the whole text at once would have given.
"""

import keras
import tensorflow as tf

from pipelines.configs.char_lm import CharLmConfig
from pipelines.text import PAD


class RecurrentSteps:
    """`start` and `advance` for a recurrent network of `language_models.build`.

    Args:
        model: built without streams.
    """

    def __init__(self, config: CharLmConfig, model: keras.Model):
        self._model = model
        self._layers = [model.get_layer(f"recurrent_{i + 1}") for i in range(config.layers)]
        self._names = [[f"layer_{i}_state_{j}" for j in range(_states(layer))] for i, layer in enumerate(self._layers)]

    def start(self, batch_size) -> dict[str, tf.Tensor]:
        """The state before the first token."""
        return {
            name: tf.zeros((batch_size, layer.cell.units))
            for layer, names in zip(self._layers, self._names)
            for name in names
        }

    def advance(self, ids, state, lengths=None):
        """Reads ids int32 [batch, time], of which each row has `lengths` (all, if not given), padded on the right.

        Returns:
            logits [batch, time, vocabulary] and the state behind each row's last token.
        """
        one = ids.shape[1] == 1
        mask = None if one or lengths is None else tf.sequence_mask(lengths, tf.shape(ids)[1])
        x = self._model.get_layer("tokens")(ids)
        state = dict(state)
        for layer, names in zip(self._layers, self._names):
            before = [state[name] for name in names]
            if one:  # without the loop of `keras.layers.RNN`, which costs more than a step
                output, after = layer.cell(x[:, 0], before)
                x = output[:, None]
            else:
                x, *after = layer(x, initial_state=before, mask=mask)
                x = tf.identity(x)  # without the mask that Keras hands on: what scores the tokens knows none, and would say so
            state |= zip(names, after)
        return _logits(self._model, x), state

    def joined(self, state):
        """The state of rows that were started apart, as a server joins those of several clients, as `advance` wants it."""
        return state


class TransformerSteps:
    """`start` and `advance` for a transformer of `language_models.build`: state is the cache of keys and values.

    It has room for the window that the model was trained with. A row that has filled it goes on with the later half of the
    window as its past, so that no text is too long, and every token but the first few has half a window or more before it.

    The cache is a ring: each step of all rows goes to one slot, the next step to the next, and behind the last slot comes the
    first. So a row of n tokens has them in the n slots before `slot`, wherever the rows beside it stand, and what a step
    writes need not be gathered from all over the cache, which costs more than the rest of the step.
    """

    def __init__(self, config: CharLmConfig, model: keras.Model):
        self._model = model
        self._window = config.window
        self._positions = model.get_layer("positions") if config.positions != "rotary" else None
        self._blocks = [model.get_layer(f"block_{i + 1}") for i in range(config.layers)]

    def start(self, batch_size) -> dict[str, tf.Tensor]:
        state = {
            "position": tf.zeros([batch_size], tf.int32),
            "slot": tf.zeros([batch_size], tf.int32),  # the same in all rows, so that rows may be gathered
            "read": tf.fill([batch_size, self._window], PAD),  # by position
        }
        return state | _caches([block.initial_cache(batch_size, self._window)["self"] for block in self._blocks])

    def advance(self, ids, state, lengths=None):
        """As RecurrentSteps.advance; more than one token only as the first ones, and then not more than the window."""
        if ids.shape[1] == 1:
            full = state["position"] >= self._window
            return self._step(ids, tf.cond(tf.reduce_any(full), lambda: self._shifted(state, full), lambda: dict(state)))
        time = tf.shape(ids)[1]
        lengths = tf.fill([tf.shape(ids)[0]], time) if lengths is None else lengths
        return self._prompted(ids, lengths, slot=time)

    def joined(self, state):
        """As RecurrentSteps.joined."""
        slot = _largest(state["slot"])
        caches = {name: value for name, value in state.items() if name.startswith("block_")}
        return state | self._turned(caches, slot - state["slot"], self._window) | {"slot": tf.fill(tf.shape(state["slot"]), slot)}

    def _step(self, ids, state):
        position, slot = state["position"], _largest(state["slot"])
        age = tf.math.floormod(slot - tf.range(self._window), self._window)  # of what is in each slot, once this step is
        logits, caches = self._read(ids, state, position, slot=slot, mask=age <= position[:, None])
        state = state | caches | {"position": position + 1, "slot": (state["slot"] + 1) % self._window}
        return logits, state | {"read": _written(state["read"], ids, position)}

    def _prompted(self, ids, lengths, slot):
        """The logits and state of rows that begin with these tokens, where the next one is to go to `slot`."""
        batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
        logits, caches = self._read(ids, _caches([block.initial_cache(batch_size, time)["self"] for block in self._blocks]), position=0)
        # A row's last token goes to the slot before, whatever the padding behind it; slots of no token are never looked at.
        caches = self._turned(caches, slot - lengths, time)
        read = tf.pad(ids, [[0, 0], [0, self._window - time]], constant_values=PAD)
        return logits, caches | {"position": lengths, "slot": tf.fill([batch_size], slot % self._window), "read": read}

    def _turned(self, caches, by, slots):
        """Rings in which each row has what it had in one of the first `slots` slots so many slots further on, `by`: int32 [batch]."""
        order = tf.minimum(tf.math.floormod(tf.range(self._window) - by[:, None], self._window), slots - 1)
        turned = {name: tf.gather(cache, order, axis=2, batch_dims=1) for name, cache in caches.items()}
        return {name: tf.ensure_shape(cache, [None, None, self._window, None]) for name, cache in turned.items()}

    def _read(self, ids, before, position, **where):
        """The logits of these tokens, and the caches with them."""
        x = self._model.get_layer("tokens")(ids)
        if self._positions is not None:
            x = self._positions(x, start=position)
        caches = []
        for i, block in enumerate(self._blocks):
            cache = {"self": {"key": before[f"block_{i}_key"], "value": before[f"block_{i}_value"]}}
            x, cache = block(x, cache=cache, position=position, **where)
            caches.append(cache["self"])
        return _logits(self._model, self._model.get_layer("last_norm")(x)), _caches(caches)

    def _shifted(self, state, full):
        """The state in which the rows that are full have the later half of what they read as their past."""
        half = self._window // 2
        _, fresh = self._prompted(state["read"][:, -half:], tf.fill(tf.shape(full), half), tf.reduce_max(state["slot"]))
        return {
            name: tf.where(tf.reshape(full, [-1] + [1] * (len(before.shape) - 1)), fresh[name], before)
            for name, before in state.items()
        }


def _largest(numbers):
    return tf.reduce_max(tf.concat([numbers, [0]], axis=0))  # of no rows, too


def _caches(caches) -> dict[str, tf.Tensor]:
    return {f"block_{i}_{name}": cache[name] for i, cache in enumerate(caches) for name in ("key", "value")}


def _written(read, ids, position):
    places = tf.stack([tf.range(tf.shape(ids)[0]), position], axis=1)
    return tf.tensor_scatter_nd_update(read, places, ids[:, 0])


def steps(config: CharLmConfig, model: keras.Model) -> RecurrentSteps | TransformerSteps:
    return (TransformerSteps if config.model == "transformer" else RecurrentSteps)(config, model)


def _states(layer) -> int:
    size = layer.cell.state_size
    return len(size) if isinstance(size, (list, tuple)) else 1


def _logits(model, x):
    if x.shape[1] == 1:  # a product of matrices is one operation, and one with three axes a dozen
        return _scores(model, x[:, 0])[:, None]
    return _scores(model, x)


def _scores(model, x):
    names = {layer.name for layer in model.layers}
    if "logits" in names:
        return model.get_layer("logits")(x)
    if "projection" in names:
        x = model.get_layer("projection")(x)
    return model.get_layer("tokens")(x, reverse=True)
