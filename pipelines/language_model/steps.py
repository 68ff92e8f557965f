"""A language model as three functions, `start`, `read` and `advance`: the state goes in and comes out, and nothing is
remembered in between.

The state is a dict of tensors, batch first on every leaf, so that beam search can gather its rows. `read` reads whole
prompts. `advance` may read any number of tokens at a time. The logits are those that the network returns for the whole
text.
"""

import keras
import tensorflow as tf

from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.language_model.context_steps import ContextSteps
from pipelines.text.tokenizers import PAD

_MAX_READ_TOKENS = 2**14  # tokens of all rows that a recurrent network reads at once: its features need memory
_MAX_CHUNK = 1024  # tokens of one row


class RecurrentSteps:
    """`start`, `read` and `advance` of a recurrent network.

    Args:
        model: inference model of `networks.build`.
    """

    def __init__(self, config: LanguageModelConfig, model: keras.Model):
        self._model, self._residual = model, config.residual
        self._layers = [model.get_layer(f"recurrent_{i + 1}") for i in range(config.num_layers)]
        self._state_names = [
            [f"layer_{i}_state_{j}" for j in range(_num_states(layer))] for i, layer in enumerate(self._layers)
        ]

    def start(self, batch_size) -> dict[str, tf.Tensor]:
        """Returns the state before the first token, float32 [batch, units] each."""
        return {
            name: tf.zeros((batch_size, layer.cell.units))
            for layer, names in zip(self._layers, self._state_names, strict=True)
            for name in names
        }

    def read(self, ids, lengths):
        """Reads prompts, in chunks: the memory does not depend on their length.

        Args:
            ids: int32 [batch, time], padded on the right.
            lengths: int32 [batch], number of tokens of each row, at least 1.

        Returns:
            logits [batch, vocabulary] and the state after the last token of each row.
        """
        batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
        size = tf.clip_by_value(_MAX_READ_TOKENS // tf.maximum(batch_size, 1), 1, _MAX_CHUNK)
        state = self.start(batch_size)

        def read_chunk(i, last, state):
            in_chunk = tf.clip_by_value(lengths - i * size, 0, size)  # [batch], tokens of this chunk
            x, state = self.features(ids[:, i * size : (i + 1) * size], state, in_chunk)
            newest = tf.gather(x, tf.maximum(in_chunk - 1, 0), batch_dims=1)  # [batch, units]
            return i + 1, tf.where(in_chunk[:, None] > 0, newest, last), state

        last = tf.zeros((batch_size, self._layers[-1].cell.units))
        shapes = tf.nest.map_structure(lambda x: tf.TensorShape([None, *x.shape[1:]]), (last, state))
        _, last, state = tf.while_loop(
            lambda i, *_: i * size < time,
            read_chunk,
            (0, last, state),
            shape_invariants=(tf.TensorShape([]), *shapes),
            parallel_iterations=1,  # else the first operations of later chunks run early, and need their memory
        )
        return _output_layers(self._model, last), state

    def advance(self, ids, state):
        """Reads tokens.

        Args:
            ids: int32 [batch, time].
            state: of `start`, `read` or `advance`.

        Returns:
            logits [batch, time, vocabulary] and the state after the last token.
        """
        x, state = self.features(ids, state)
        return _logits(self._model, x), state

    def losses(self, ids, targets, state):
        """Reads tokens.

        Args:
            ids, targets: int32 [batch, time]; targets are the tokens after the ids.

        Returns:
            -log p of the targets, float32 [batch, time], and the state after the last token.
        """
        logits, state = self.advance(ids, state)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits), state

    def features(self, ids, state, lengths=None):
        """Returns the outputs of the highest layer [batch, time, units], and the state after each row's last token.

        Args:
            lengths: int32 [batch], number of tokens of each row; by default all.
        """
        single = ids.shape[1] == 1
        mask = None if single or lengths is None else tf.sequence_mask(lengths, tf.shape(ids)[1])
        x = self._model.get_layer("tokens")(ids)  # [batch, time, size]
        state = dict(state)
        for i, (layer, names) in enumerate(zip(self._layers, self._state_names, strict=True)):
            states = [state[name] for name in names]
            if single:  # the loop of `keras.layers.RNN` costs more than the step
                output, states = layer.cell(x[:, 0], states)
                y = output[:, None]
            else:
                y, *states = layer(x, initial_state=states, mask=mask)
                # Without the mask that Keras attaches: the output layer has no masks, and would warn.
                y = tf.identity(y)
            x = x + y if self._residual and i > 0 else y
            state |= zip(names, states, strict=True)
        return x, state

    @property
    def size(self) -> int:
        """Size of the outputs of the highest layer."""
        return self._layers[-1].cell.units

    def logits(self, x):
        """Returns the logits [batch, time, vocabulary] from the outputs of the highest layer."""
        return _logits(self._model, x)

    def align(self, state):
        """Returns a state that `advance` accepts, from states that were started separately and concatenated."""
        return state


class TransformerSteps:
    """`start`, `read` and `advance` of a transformer: the state is the cache of keys and values.

    The cache has the size of the window of training. A row that has filled it continues with the later half of the
    window as its past. So there is no maximum length, and every token but the first few has at least half a window
    before it.

    The cache is a ring: each step writes all rows to the same slot, the next step to the next slot, and the first slot
    follows the last one. A row of n tokens has them in the n slots before `slot`, whatever the lengths of the other
    rows. So a step writes one slice, instead of scattering to another slot in each row, which would cost more than the
    rest of the step.
    """

    def __init__(self, config: LanguageModelConfig, model: keras.Model):
        self._model = model
        self._window = config.window
        self._positions = model.get_layer("positions") if config.positions in ("sinusoidal", "learned") else None
        self._blocks = [model.get_layer(f"block_{i + 1}") for i in range(config.num_layers)]

    def start(self, batch_size) -> dict[str, tf.Tensor]:
        """Returns the state before the first token."""
        state = {
            "position": tf.zeros([batch_size], tf.int32),  # number of tokens in the cache
            # The next slot: equal in all rows, and stored per row so that rows can be gathered.
            "slot": tf.zeros([batch_size], tf.int32),
            # The tokens by position.
            "read": tf.fill([batch_size, self._window], PAD),
        }
        return state | _flat([block.initial_cache(batch_size, self._window)["self"] for block in self._blocks])

    def read(self, ids, lengths):
        """As `RecurrentSteps.read`, with at most a window of tokens in each row."""
        x, state = self._read(ids, lengths, slot=tf.shape(ids)[1])
        return _output_layers(self._model, tf.gather(x, lengths - 1, batch_dims=1)), state

    def advance(self, ids, state):
        """As `RecurrentSteps.advance`, for one token per row."""
        full = state["position"] >= self._window  # [batch]
        return self._step(ids, tf.cond(tf.reduce_any(full), lambda: self._shift(state, full), lambda: dict(state)))

    def logits(self, x):
        """As `RecurrentSteps.logits`, from the outputs of `last_norm`."""
        return _logits(self._model, x)

    def align(self, state):
        """As `RecurrentSteps.align`: rotates each row's ring so that all rows have the same next slot."""
        slot = _max_or_zero(state["slot"])
        caches = {name: value for name, value in state.items() if name.startswith("block_")}
        return (
            state
            | self._rotate(caches, slot - state["slot"], self._window)
            | {"slot": tf.fill(tf.shape(state["slot"]), slot)}
        )

    def _step(self, ids, state):
        """Reads one token per row, ids int32 [batch, 1]."""
        position, slot = state["position"], _max_or_zero(state["slot"])
        # [window], age of the token in each slot after this step.
        distance = slot - tf.range(self._window)
        age = tf.math.floormod(distance, self._window)
        x, caches = self._call_blocks(ids, state, position, slot=slot, mask=age <= position[:, None])
        state = state | caches | {"position": position + 1, "slot": (state["slot"] + 1) % self._window}
        return _logits(self._model, x), state | {"read": _write_at(state["read"], ids, position)}

    def _read(self, ids, lengths, slot):
        """Returns features and state of rows that start with these tokens, with `slot` as the next slot."""
        batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
        caches = _flat([block.initial_cache(batch_size, time)["self"] for block in self._blocks])
        x, caches = self._call_blocks(ids, caches, position=0)
        # The last token of each row goes to the slot before `slot`, whatever the padding after it. The mask hides slots
        # without a token.
        caches = self._rotate(caches, slot - lengths, time)
        read = tf.pad(ids, [[0, 0], [0, self._window - time]], constant_values=PAD)
        return x, caches | {"position": lengths, "slot": tf.fill([batch_size], slot % self._window), "read": read}

    def _rotate(self, caches, shift, num_slots):
        """Moves the first `num_slots` slots of each row's ring by `shift` slots, int32 [batch]."""
        # [batch, window], for each slot the one whose content moves there.
        source = tf.math.floormod(tf.range(self._window) - shift[:, None], self._window)
        order = tf.minimum(source, num_slots - 1)
        rotated = {name: tf.gather(cache, order, axis=2, batch_dims=1) for name, cache in caches.items()}
        return {name: tf.ensure_shape(cache, [None, None, self._window, None]) for name, cache in rotated.items()}

    def _call_blocks(self, ids, caches, position, **options):
        """Returns the features of these tokens [batch, time, units], and the caches that contain them."""
        x = self._model.get_layer("tokens")(ids)  # [batch, time, units]
        if self._positions is not None:
            x = self._positions(x, start=position)
        new_caches = []
        for i, block in enumerate(self._blocks):
            cache = {"self": {"key": caches[f"block_{i}_key"], "value": caches[f"block_{i}_value"]}}
            x, cache = block(x, cache=cache, position=position, **options)
            new_caches.append(cache["self"])
        return self._model.get_layer("last_norm")(x), _flat(new_caches)

    def _shift(self, state, full):
        """Reduces the past of the rows that are `full`, bool [batch], to the later half of their window."""
        half = self._window // 2
        _, shifted = self._read(state["read"][:, -half:], tf.fill(tf.shape(full), half), tf.reduce_max(state["slot"]))
        return {
            name: tf.where(tf.reshape(full, [-1] + [1] * (len(value.shape) - 1)), shifted[name], value)
            for name, value in state.items()
        }


def make_steps(config: LanguageModelConfig, model: keras.Model) -> RecurrentSteps | TransformerSteps | ContextSteps:
    """Returns `start`, `read` and `advance` of an inference model."""
    if config.model in WITH_ORDER:
        return ContextSteps(config, model)
    return (TransformerSteps if config.model == "transformer" else RecurrentSteps)(config, model)


def losses_in_sequence(steps, ids, targets, size):
    """Returns -log p of the targets, float32 [batch, time], reading `size` tokens of each row at a time.

    Args:
        steps: with `start` and `losses`.
        ids, targets: int32 [batch, time]; targets are the tokens after the ids.
    """
    batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
    losses = tf.TensorArray(tf.float32, size=-(-time // size), infer_shape=False, element_shape=[None, None])
    state = steps.start(batch_size)

    def score_chunk(i, losses, state):
        chunk = slice(i * size, (i + 1) * size)
        chunk_losses, state = steps.losses(ids[:, chunk], targets[:, chunk], state)
        return i + 1, losses.write(i, tf.transpose(chunk_losses)), state

    _, losses, _ = tf.while_loop(
        lambda i, *_: i * size < time,
        score_chunk,
        (0, losses, state),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape(None), state_shapes(state)),
        parallel_iterations=1,  # else the first operations of later chunks run early, and need their memory
    )
    return tf.reshape(tf.transpose(losses.concat()), [batch_size, time])


def state_shapes(state):
    """Returns the shapes that a state keeps in a loop: the size of the last axis, but for the axis of the rows."""
    return tf.nest.map_structure(
        lambda x: tf.TensorShape([*[None] * max(len(x.shape) - 1, 1), *x.shape[1:][-1:]]), state
    )


def _max_or_zero(values):
    return tf.reduce_max(tf.concat([values, [0]], axis=0))  # 0 for an empty batch


def _flat(caches) -> dict[str, tf.Tensor]:
    """Returns the caches of the blocks under the names of the state."""
    return {f"block_{i}_{name}": cache[name] for i, cache in enumerate(caches) for name in ("key", "value")}


def _write_at(tokens, ids, position):
    """Returns tokens [batch, window] with ids [batch, 1] written at `position` [batch]."""
    indices = tf.stack([tf.range(tf.shape(ids)[0]), position], axis=1)
    return tf.tensor_scatter_nd_update(tokens, indices, ids[:, 0])


def _num_states(layer) -> int:
    size = layer.cell.state_size
    return len(size) if isinstance(size, (list, tuple)) else 1


def _logits(model, x):
    """Returns the logits of features [batch, time, units]."""
    if x.shape[1] == 1:  # a product of matrices is one operation, a product of tensors with three axes is a dozen
        return _output_layers(model, x[:, 0])[:, None]
    return _output_layers(model, x)


def _output_layers(model, x):
    names = {layer.name for layer in model.layers}
    if "logits" in names:
        return model.get_layer("logits")(x)
    if "projection" in names:
        x = model.get_layer("projection")(x)
    return model.get_layer("tokens")(x, reverse=True)
