"""The recurrent decoder with attention: one cell for teacher forcing in an RNN and for decoding step by step."""

import keras
from keras import ops
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell  # the type of cells with dropout in Keras

from layers.backend_rnn import rnn


@keras.saving.register_keras_serializable(package="unroll")
class AttentionDecoderCell(keras.layers.Layer, DropoutRNNCell):
    """One step of a decoder: a recurrent cell that attends to a memory, the encoder's states.

    style "bahdanau": the previous output is the query, and the context is part of the cell's input:

        c_t = attention(y_(t-1), memory)
        h_t = cell([x_t; c_t], h_(t-1)),    y_t = h_t

    style "luong": the new state is the query, and the context is combined with it after the step:

        h_t = cell(x_t, h_(t-1))            with input feeding: cell([x_t; y_(t-1)], h_(t-1))
        c_t = attention(h_t, memory)
        y_t = tanh(W_c [c_t; h_t])

    The states carry the memory unchanged: states = [y, *the cell's own states, value, keys, mask]. So this is an
    ordinary cell for `keras.layers.RNN` with `initial_state=cell.start(value, mask)`. Decoding is

        states = cell.start(value, mask)
        output, states = cell(embedded, states)              once for each step

    `start` projects the keys once for the whole decoding. No step changes the last three states. A beam search has to
    reorder them only if its beams have different sources.
    In a functional model use `AttentionDecoder`, which is such an RNN with the memory as an argument.

    Parameters: those of the cell, whose input grows by the memory's size n (bahdanau) or by the output's size m (input
    feeding), those of the attention, and for luong m (n + u) with u units in the cell.

    Source: Bahdanau, Cho and Bengio 2015; Luong, Pham and Manning 2015.

    Args:
        cell: `keras.layers.GRUCell`, `LSTMCell`, `SimpleRNNCell`, or any cell whose first state is its output and whose
            states are vectors. More recurrent layers go before or after the decoder.
        attention: an `Attention`, `BahdanauAttention` or `LuongAttention`.
        memory_size: size of the memory's vectors.
        style: "bahdanau" or "luong".
        input_feeding: for luong only, whether the previous output is part of the input.
        output_units: for luong only, size of y; the cell's size if not given.

    Shapes:
        inputs: float [batch, features], states: as above, with value [batch, Tv, memory_size] and mask [batch, Tv]
        -> (y, states), with return_weights (y, states, weights [batch, Tv])

    Example:
        >>> cell = AttentionDecoderCell(keras.layers.GRUCell(8), BahdanauAttention(8), memory_size=6)
        >>> states = cell.start(np.ones((2, 5, 6)))
        >>> output, states = cell(np.ones((2, 3)), states)
        >>> output.shape
        (2, 8)

    Raises:
        ValueError: for an unknown style, input feeding or output_units without luong, a size below 1, a cell with
            nested states; from `start`, for a memory of another size or a wrong number of states; in an RNN without
            `initial_state`.
    """

    def __init__(
        self,
        cell,
        attention,
        memory_size: int,
        style: str = "bahdanau",
        input_feeding: bool = False,
        output_units: int | None = None,
        **kwargs,
    ):
        if style not in ("bahdanau", "luong"):
            raise ValueError(f"style is {style!r}: it must be bahdanau or luong")
        if style == "bahdanau" and (input_feeding or output_units is not None):
            raise ValueError(
                "input_feeding and output_units need style luong: with bahdanau the output is the cell's state"
            )
        if memory_size < 1 or (output_units is not None and output_units < 1):
            raise ValueError(
                f"memory_size is {memory_size} and output_units is {output_units}: both must be at least 1"
            )
        sizes = [cell.state_size] if isinstance(cell.state_size, int) else list(cell.state_size)
        if not all(isinstance(size, int) for size in sizes):
            raise ValueError(f"{cell.name} has nested states: put more recurrent layers before or after the decoder")
        super().__init__(**kwargs)
        self.cell = cell
        self.attention = attention
        self.memory_size = memory_size
        self.style = style
        self.input_feeding = input_feeding
        self.output_units = output_units
        self.cell_size = sizes[0]
        self.output_size = output_units or self.cell_size
        # Value, keys and mask have a time axis, which a state size cannot express.
        self.state_size = [self.output_size, *sizes, None, None, None]
        self.num_cell_states = len(sizes)

    def build(self, input_shape):
        extra_size = self.memory_size if self.style == "bahdanau" else self.output_size * self.input_feeding
        self.cell_input_size = input_shape[-1] + extra_size
        if not self.cell.built:
            self.cell.build((None, self.cell_input_size))
        self._build_attention()
        if self.style == "luong":
            shape = (self.memory_size + self.cell_size, self.output_size)
            self.output_kernel = self.add_weight(shape, "glorot_uniform", name="output_kernel")

    def _build_attention(self):
        if not self.attention.built:
            self.attention.build((None, self.cell_size), (None, None, self.memory_size))

    def start(self, value, mask=None, states=None):
        """The states before the first step.

        Args:
            value: the memory, float [batch, Tv, memory_size].
            mask: bool [batch, Tv], True for the valid positions of value; all valid if not given.
            states: the cell's own initial states, a tensor or a list, for example the encoder's last states; zeros if
                not given.

        Returns:
            A list: output [batch, output_size], the cell's states, value, keys [batch, Tv, ...] and the mask as a
            float [batch, Tv].
        """
        value = ops.cast(value, self.compute_dtype)
        if value.shape[-1] != self.memory_size:
            raise ValueError(f"the memory has vectors of size {value.shape[-1]}, but memory_size is {self.memory_size}")
        batch = ops.shape(value)[0]
        if states is None:
            sizes = self.state_size[1 : 1 + self.num_cell_states]
            states = [ops.zeros((batch, size), dtype=self.compute_dtype) for size in sizes]
        states = [ops.cast(state, self.compute_dtype) for state in keras.tree.flatten(states)]
        if len(states) != self.num_cell_states:
            raise ValueError(f"{len(states)} states were given, but {self.cell.name} has {self.num_cell_states}")
        if self.style == "bahdanau":
            output = states[0]
        else:
            output = ops.zeros((batch, self.output_size), dtype=self.compute_dtype)
        # The mask is a float because `keras.layers.RNN` casts all states to one dtype.
        mask = ops.ones_like(value[:, :, 0]) if mask is None else ops.cast(mask, self.compute_dtype)
        self._build_attention()
        return [output, *states, value, self.attention.project(value), mask]

    def call(self, inputs, states, training=False, return_weights=False):
        y, *cell_states, value, keys, mask = states  # y [batch, output_size], value [batch, Tv, memory_size]

        def attend(query):
            return self.attention(query, value, mask=mask, keys=keys, return_weights=True)

        if self.style == "bahdanau":
            context, weights = attend(y)  # [batch, memory_size], [batch, Tv]
            y, cell_states = self.cell(ops.concatenate([inputs, context], -1), cell_states, training=training)
        else:
            if self.input_feeding:
                inputs = ops.concatenate([inputs, y], -1)
            h, cell_states = self.cell(inputs, cell_states, training=training)  # h [batch, cell_size]
            context, weights = attend(h)
            y = ops.tanh(ops.matmul(ops.concatenate([context, h], -1), self.output_kernel))  # [batch, output_size]
        states = [y, *cell_states, value, keys, mask]
        return (y, states, weights) if return_weights else (y, states)

    def get_initial_state(self, batch_size=None):
        raise ValueError(f"{self.name} needs a memory: pass initial_state=cell.start(value, mask) to the RNN")

    # `keras.layers.RNN` asks its cell for the dropout masks before the loop and resets them after it. The inner cell
    # has them.

    def get_dropout_mask(self, step_input):
        if isinstance(self.cell, DropoutRNNCell):
            self.cell.get_dropout_mask(ops.ones((ops.shape(step_input)[0], self.cell_input_size), self.compute_dtype))

    def get_recurrent_dropout_mask(self, step_input):
        if isinstance(self.cell, DropoutRNNCell):
            self.cell.get_recurrent_dropout_mask(
                ops.ones((ops.shape(step_input)[0], self.cell_size), self.compute_dtype)
            )

    def reset_dropout_mask(self):
        if isinstance(self.cell, DropoutRNNCell):
            self.cell.reset_dropout_mask()

    def reset_recurrent_dropout_mask(self):
        if isinstance(self.cell, DropoutRNNCell):
            self.cell.reset_recurrent_dropout_mask()

    def get_config(self):
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "memory_size": self.memory_size,
            "style": self.style,
            "input_feeding": self.input_feeding,
            "output_units": self.output_units,
        }

    @classmethod
    def from_config(cls, config):
        parts = {key: keras.saving.deserialize_keras_object(config[key]) for key in ("cell", "attention")}
        return cls(**{**config, **parts})


@keras.saving.register_keras_serializable(package="unroll")
class AttentionDecoder(keras.layers.RNN):
    """`keras.layers.RNN` over an `AttentionDecoderCell`, for teacher forcing in a functional model.

    The memory is an argument of the layer:

        y_t, states_t = cell(x_t, states_(t-1)),    states_0 = cell.start(value, mask, initial_state)

    The sequences need no mask: no step depends on a later one, so padding at the end changes no earlier output, and the
    loss masks the rest.

    Parameters: those of the cell.

    Args:
        cell: an `AttentionDecoderCell`. To decode, call this same object step by step.
        return_weights: whether to return the attention weights of each step as well.

    Shapes:
        sequences: float [batch, Tq, features]
        value: the memory, float [batch, Tv, memory_size]
        mask: bool [batch, Tv], True for the valid positions of value; all valid if not given
        initial_state: the cell's own initial states, for example the encoder's last states; zeros if not given
        -> float [batch, Tq, units], with return_weights also float [batch, Tq, Tv]

    Example:
        >>> cell = AttentionDecoderCell(keras.layers.GRUCell(8), BahdanauAttention(8), memory_size=6)
        >>> AttentionDecoder(cell)(np.ones((2, 4, 3)), np.ones((2, 5, 6))).shape
        (2, 4, 8)

    Raises:
        ValueError: if the cell is not an `AttentionDecoderCell`, or for return_sequences, return_state, stateful,
            go_backwards or zero_output_for_mask; the errors of the cell.
    """

    def __init__(self, cell, return_weights: bool = False, **kwargs):
        if not isinstance(cell, AttentionDecoderCell):
            raise ValueError(f"cell is a {type(cell).__name__}: it must be an AttentionDecoderCell")
        for option in ("return_sequences", "return_state", "stateful", "go_backwards", "zero_output_for_mask"):
            if kwargs.pop(option, False):
                raise ValueError(
                    f"AttentionDecoder has no option {option}: it returns the outputs of all steps in order; "
                    "for the states, call its cell step by step"
                )
        super().__init__(cell, return_sequences=True, **kwargs)
        self.return_weights = return_weights

    def build(self, sequences_shape, value_shape, initial_state_shape=None):
        super().build(sequences_shape)

    def call(self, sequences, value, mask=None, initial_state=None, training=False):
        states = self.cell.start(value, mask, initial_state)
        outputs = super().call(sequences, initial_state=states, training=training)
        if self.return_weights:  # inner_loop concatenates outputs and weights
            return outputs[:, :, : self.cell.output_size], outputs[:, :, self.cell.output_size :]
        return outputs  # [batch, Tq, output_size]

    def inner_loop(self, sequences, initial_state, mask, training=False):
        if not self.return_weights:
            return super().inner_loop(sequences, initial_state, mask, training=training)

        def step(inputs, states):
            output, states, weights = self.cell(inputs, states, training=training, return_weights=True)
            return ops.concatenate([output, weights], -1), states  # [batch, output_size + Tv]

        return rnn(step, sequences, initial_state, unroll=self.unroll, input_length=sequences.shape[1])

    def compute_mask(self, *inputs):
        return None

    def compute_output_shape(self, sequences_shape, value_shape, initial_state_shape=None):
        outputs = (*sequences_shape[:2], self.cell.output_size)
        return (outputs, (*sequences_shape[:2], value_shape[1])) if self.return_weights else outputs

    def get_config(self):
        config = {**super().get_config(), "return_weights": self.return_weights}
        del config["return_sequences"]
        return config
