"""Recurrent cells for `keras.layers.RNN`, and the LSTM and GRU with their input projection hoisted out of the loop.

The Elman network is `keras.layers.SimpleRNNCell`. A cell's first state is its previous output, as `keras.layers.RNN` expects.
Bidirectional and stacked use work through Keras's own wrappers.
"""

import keras
from keras import ops
from keras.src import backend  # `backend.rnn`, the loop under every recurrent layer of Keras, has no public name
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell  # by this type the RNN finds the cells with dropout


def _layer_norm(cell, center):
    return keras.layers.LayerNormalization(center=center, epsilon=1e-5, dtype=cell.dtype_policy)


@keras.saving.register_keras_serializable(package="unroll")
class JordanCell(keras.layers.Layer, DropoutRNNCell):
    """One step of a Jordan network: what is fed back is the output, not the hidden state.

        h_t = f(W x_t + U y_(t-1) + b)
        y_t = g(V h_t + c)

    With `layer_normalization`: h_t = f(LN(W x_t) + LN(U y_(t-1)) + b), each LN with a gain and no shift, as b is one.

    Parameters, for n inputs, h units and m output units: h (n + m + 1) + m (h + 1), and 2 h more with layer normalisation.

    Source: Jordan 1986, "Serial order: a parallel distributed processing approach"; layer normalisation as in Ba, Kiros
    and Hinton 2016.

    Args:
        units: size of the hidden layer h.
        output_units: size of the output y, which is the state; `units` if not given.
        activation: f.
        output_activation: g. It bounds what is fed back: a linear one lets the state grow without limit.
        dropout: fraction of the inputs dropped, the same ones at every step.
        recurrent_dropout: fraction of the fed back outputs dropped, the same ones at every step.
        layer_normalization: whether to normalise the two products.
        kernel_initializer, recurrent_initializer: for W and V, and for U. The biases start at zero.
        seed: of the dropouts.

    Shapes:
        inputs: float [batch, features], states: [y] with y float [batch, output_units]
        -> (y, [y])

    Example:
        >>> keras.layers.RNN(JordanCell(8, output_units=3))(np.zeros((2, 5, 4))).shape
        (2, 3)

    Raises:
        ValueError: if a size is below 1 or a dropout outside [0, 1).
    """

    def __init__(
        self,
        units: int,
        output_units: int | None = None,
        activation="tanh",
        output_activation="tanh",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        layer_normalization: bool = False,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        seed: int | None = None,
        **kwargs,
    ):
        output_units = units if output_units is None else output_units
        if units < 1 or output_units < 1:
            raise ValueError(f"units is {units} and output_units {output_units}: both must be at least 1")
        _check_dropouts(dropout, recurrent_dropout)
        super().__init__(**kwargs)
        self.units = units
        self.output_units = output_units
        self.activation = keras.activations.get(activation)
        self.output_activation = keras.activations.get(output_activation)
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        self.layer_normalization = layer_normalization
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.state_size = output_units
        self.output_size = output_units
        if layer_normalization:
            self.input_norm = _layer_norm(self, center=False)
            self.recurrent_norm = _layer_norm(self, center=False)

    def build(self, input_shape):
        hidden, out = self.units, self.output_units
        # Two weights must not start from one initializer object: with a seed they would be alike.
        self.kernel = self.add_weight((input_shape[-1], hidden), self.kernel_initializer, name="kernel")
        self.recurrent_kernel = self.add_weight((out, hidden), self.recurrent_initializer, name="recurrent_kernel")
        self.bias = self.add_weight((hidden,), "zeros", name="bias")
        self.output_kernel = self.add_weight((hidden, out), self.kernel_initializer.clone(), name="output_kernel")
        self.output_bias = self.add_weight((out,), "zeros", name="output_bias")
        if self.layer_normalization:
            self.input_norm.build((None, hidden))
            self.recurrent_norm.build((None, hidden))

    def call(self, inputs, states, training=False):
        y = states[0]
        if training and self.dropout:
            inputs = inputs * self.get_dropout_mask(inputs)
        if training and self.recurrent_dropout:
            y = y * self.get_recurrent_dropout_mask(y)
        wx = ops.matmul(inputs, self.kernel)
        uy = ops.matmul(y, self.recurrent_kernel)
        if self.layer_normalization:
            wx, uy = self.input_norm(wx), self.recurrent_norm(uy)
        h = self.activation(wx + uy + self.bias)
        y = self.output_activation(ops.matmul(h, self.output_kernel) + self.output_bias)
        return y, [y]

    def get_initial_state(self, batch_size=None):
        return [ops.zeros((batch_size, self.output_units), dtype=self.compute_dtype)]

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "output_units": self.output_units,
            "activation": keras.activations.serialize(self.activation),
            "output_activation": keras.activations.serialize(self.output_activation),
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "layer_normalization": self.layer_normalization,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="unroll")
class PeepholeLSTMCell(keras.layers.LSTMCell):
    """One step of an LSTM whose gates see the cell state.

        i_t = sigmoid(W_i x_t + U_i h_(t-1) + p_i * c_(t-1) + b_i)
        f_t = sigmoid(W_f x_t + U_f h_(t-1) + p_f * c_(t-1) + b_f)
        c_t = f_t * c_(t-1) + i_t * tanh(W_c x_t + U_c h_(t-1) + b_c)
        o_t = sigmoid(W_o x_t + U_o h_(t-1) + p_o * c_t + b_o)
        h_t = o_t * tanh(c_t)

    The peepholes p are diagonal: a vector for each gate. They start at zero, where the cell is `keras.layers.LSTMCell`; its
    other weights have that cell's order (i, f, c, o) and can be copied from it. b_f starts at one.
    With `layer_normalization`: LN(W x_t) + LN(U h_(t-1)) + b over the four gates together, each LN with a gain and no shift,
    and h_t = o_t * tanh(LN(c_t)).

    Parameters, for n inputs and h units: 4 h (n + h + 1) + 3 h, and 10 h more with layer normalisation.

    Source: Gers and Schmidhuber 2000, "Recurrent nets that time and count"; layer normalisation as in Ba, Kiros and
    Hinton 2016.

    Args:
        units: size of h and c.
        layer_normalization: whether to normalise the two products and the cell state.
        peephole_initializer: for p.
        **kwargs: those of `keras.layers.LSTMCell`. With its dropouts, one mask serves the four gates.

    Shapes:
        inputs: float [batch, features], states: [h, c], each float [batch, units]
        -> (h, [h, c])

    Example:
        >>> keras.layers.Bidirectional(keras.layers.RNN(PeepholeLSTMCell(8)))(np.zeros((2, 5, 4))).shape
        (2, 16)

    Raises:
        ValueError: if units is below 1 or a dropout outside [0, 1).
    """

    def __init__(self, units: int, layer_normalization: bool = False, peephole_initializer="zeros", **kwargs):
        _check_dropouts(kwargs.get("dropout", 0.0), kwargs.get("recurrent_dropout", 0.0))
        super().__init__(units, **kwargs)
        self.dropout_mask_count = None  # one mask for all gates: the products stay whole
        self.layer_normalization = layer_normalization
        self.peephole_initializer = keras.initializers.get(peephole_initializer)
        if layer_normalization:
            self.input_norm = _layer_norm(self, center=False)
            self.recurrent_norm = _layer_norm(self, center=False)
            self.state_norm = _layer_norm(self, center=True)

    def build(self, input_shape):
        super().build(input_shape)
        self.peepholes = self.add_weight((3, self.units), self.peephole_initializer, name="peepholes")
        if self.layer_normalization:
            self.input_norm.build((None, 4 * self.units))
            self.recurrent_norm.build((None, 4 * self.units))
            self.state_norm.build((None, self.units))

    def call(self, inputs, states, training=False):
        h, c = states
        if training and self.dropout:
            inputs = inputs * self.get_dropout_mask(inputs)
        if training and self.recurrent_dropout:
            h = h * self.get_recurrent_dropout_mask(h)
        wx = ops.matmul(inputs, self.kernel)
        uh = ops.matmul(h, self.recurrent_kernel)
        if self.layer_normalization:
            wx, uh = self.input_norm(wx), self.recurrent_norm(uh)
        z = wx + uh
        if self.use_bias:
            z = z + self.bias
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=-1)
        p_i, p_f, p_o = ops.unstack(ops.convert_to_tensor(self.peepholes))
        i = self.recurrent_activation(z_i + p_i * c)
        f = self.recurrent_activation(z_f + p_f * c)
        c = f * c + i * self.activation(z_c)
        o = self.recurrent_activation(z_o + p_o * c)
        h = o * self.activation(self.state_norm(c) if self.layer_normalization else c)
        return h, [h, c]

    def get_config(self):
        return {
            **super().get_config(),
            "layer_normalization": self.layer_normalization,
            "peephole_initializer": keras.initializers.serialize(self.peephole_initializer),
        }


class _HoistedLoop(keras.layers.RNN):
    """The loop for Keras's LSTM and GRU, which call their parent's where no fused GPU kernel serves: behind them, this is it.

    The gradient is written out, because autodiff would sum the recurrent kernel's gradient up in the loop, a product a step.
    Here the loop backwards finds the gradient at each step's product, and one product over all steps gives the kernel's.
    """

    def inner_loop(self, sequences, initial_state, mask, training=False):
        cell = self.cell
        usual = cell.activation is keras.activations.tanh and cell.recurrent_activation is keras.activations.sigmoid
        if cell.recurrent_dropout or not usual:
            return super().inner_loop(sequences, initial_state, mask, training=training)
        if training and cell.dropout:
            sequences = sequences * ops.expand_dims(cell.get_dropout_mask(sequences[:, 0]), 1)
        projected = ops.swapaxes(ops.matmul(sequences, cell.kernel), 0, 1)  # the loop is time-major
        recurrent_bias = None
        if cell.use_bias:
            bias, recurrent_bias = self.split_bias(ops.cast(cell.bias, projected.dtype))
            projected = projected + bias
        arguments = {"projected": projected, "kernel": ops.cast(cell.recurrent_kernel, projected.dtype)}
        if recurrent_bias is not None:
            arguments["bias"] = recurrent_bias
        if mask is not None:
            arguments["mask"] = ops.cast(ops.expand_dims(ops.swapaxes(mask, 0, 1), -1), projected.dtype)
        states = initial_state if keras.tree.is_nested(initial_state) else [initial_state]
        outputs, *last = self._differentiable_loop(list(arguments))(*arguments.values(), *states)
        return last[0], ops.swapaxes(outputs, 0, 1), last

    def _differentiable_loop(self, names):
        @ops.custom_gradient
        def loop(*arguments):
            given = dict(zip(names, arguments))
            initial = list(arguments[len(names) :])
            kernel, bias, mask = given["kernel"], given.get("bias"), given.get("mask")
            masks = [] if mask is None else [mask]

            def step(inputs, states):
                x, *valid = inputs
                recurrent = ops.matmul(states[0], kernel)
                new_states, saved = self.forward(x, recurrent if bias is None else recurrent + bias, states)
                new_states = _select(valid, new_states, states)
                return [*new_states, *saved], new_states

            def rnn(step, inputs, states, **options):
                # Unless told a length, it asks its inputs for one, and a list has none; the loop ends with the inputs anyway.
                options = {"time_major": True, "unroll": self.unroll, "input_length": 2**31 - 1, **options}
                return backend.rnn(step, inputs, states, **options)[1:]

            n = len(initial)
            outputs, last = rnn(step, [given["projected"], *masks], initial, go_backwards=self.go_backwards)
            saved = outputs[n:]

            def gradient(*upstream):
                d_outputs, *d_last = keras.tree.flatten(upstream)
                # The states before each step.
                before = [ops.concatenate([ops.expand_dims(s, 0), q[:-1]], 0) for s, q in zip(initial, outputs[:n])]

                def step_back(inputs, d_states):
                    d_output, *rest = inputs
                    valid, previous, kept = rest[: len(masks)], rest[len(masks) :][:n], rest[len(masks) + n :]
                    d_states = [d_states[0] + d_output, *d_states[1:]]
                    d_x, d_previous = self.backward(kept, previous, d_states)
                    d_product = ops.matmul(self.to_product(d_x, kept), ops.transpose(kernel))
                    d_previous = [d_product if d_previous[0] is None else d_product + d_previous[0], *d_previous[1:]]
                    d_x = _select(valid, [d_x], [ops.zeros_like(d_x)])[0]
                    return d_x, _select(valid, d_previous, d_states)

                in_order = [ops.flip(m, 0) for m in masks] if self.go_backwards else masks
                d_x, d_initial = rnn(step_back, [d_outputs, *in_order, *before, *saved], d_last, go_backwards=True)
                d_x = ops.flip(d_x, 0)
                d_product = ops.reshape(self.to_product(d_x, saved), (-1, kernel.shape[1]))
                gradients = {
                    "projected": ops.flip(d_x, 0) if self.go_backwards else d_x,
                    "kernel": ops.matmul(ops.transpose(ops.reshape(before[0], (-1, kernel.shape[0]))), d_product),
                    "bias": ops.sum(d_product, axis=0),
                    "mask": None if mask is None else ops.zeros_like(mask),
                }
                return (*(gradients[name] for name in names), *d_initial)

            return (outputs[0], *last), gradient

        return loop


def _select(valid, new, old):
    """New where the step is valid, old where it is masked; new if nothing is masked."""
    return [ops.where(valid[0] > 0, a, b) for a, b in zip(new, old)] if valid else new


@keras.saving.register_keras_serializable(package="unroll")
class HoistedLSTM(keras.layers.LSTM, _HoistedLoop):
    """`keras.layers.LSTM` with the input projection of all steps as one matrix product before the loop.

        Z = X W + b                                          all steps at once
        z_i, z_f, z_c, z_o = Z_t + h_(t-1) U                 in the loop
        c_t = sigmoid(z_f) * c_(t-1) + sigmoid(z_i) * tanh(z_c)
        h_t = sigmoid(z_o) * tanh(c_t)

    Arguments, weights, masks and results are those of `keras.layers.LSTM`; under a mixed policy the weights are cast once and
    not at every step. With `recurrent_dropout`, or other activations than those above, that layer's own loop runs.
    A masked step repeats state and output; before the first valid step the output is the initial state.

    Parameters, for n inputs and h units: 4 h (n + h + 1).

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory"; Gers, Schmidhuber and Cummins 2000 (forget gate).

    Shapes:
        sequences: float [batch, time, features], mask: bool [batch, time], initial_state: [h, c], each [batch, units]
        -> float [batch, units], or [batch, time, units] with return_sequences, with return_state also h and c

    Example:
        >>> HoistedLSTM(8, return_sequences=True)(np.zeros((2, 5, 4))).shape
        (2, 5, 8)

    Raises:
        ValueError: if units is below 1.
    """

    def split_bias(self, bias):
        return bias, None

    def forward(self, x, recurrent, states):
        _, c = states
        z_i, z_f, z_c, z_o = ops.split(x + recurrent, 4, axis=-1)
        i, f, g, o = ops.sigmoid(z_i), ops.sigmoid(z_f), ops.tanh(z_c), ops.sigmoid(z_o)
        c = f * c + i * g
        tanh_c = ops.tanh(c)
        return [o * tanh_c, c], [i, f, g, o, tanh_c]

    def backward(self, saved, previous, d_states):
        i, f, g, o, tanh_c = saved
        d_h, d_c = d_states
        d_c = d_c + d_h * o * (1 - tanh_c * tanh_c)
        d_i = d_c * g * i * (1 - i)
        d_f = d_c * previous[1] * f * (1 - f)
        d_g = d_c * i * (1 - g * g)
        d_o = d_h * tanh_c * o * (1 - o)
        return ops.concatenate([d_i, d_f, d_g, d_o], -1), [None, d_c * f]

    def to_product(self, d_x, saved):
        return d_x


@keras.saving.register_keras_serializable(package="unroll")
class HoistedGRU(keras.layers.GRU, _HoistedLoop):
    """`keras.layers.GRU` with the input projection of all steps as one matrix product before the loop.

        X_z, X_r, X_g = X W + b                              all steps at once
        H_z, H_r, H_g = h_(t-1) U + b'                       in the loop
        z_t = sigmoid(X_z + H_z),  r_t = sigmoid(X_r + H_r),  g_t = tanh(X_g + r_t * H_g)
        h_t = z_t * h_(t-1) + (1 - z_t) * g_t

    The update gate z keeps the old state, as in Keras (elsewhere it often lets the new one in). Arguments, weights, masks and
    results are those of `keras.layers.GRU(reset_after=True)`; under a mixed policy the weights are cast once and not at every
    step. With `recurrent_dropout`, or other activations than those above, that layer's own loop runs. A masked step repeats
    state and output; before the first valid step the output is the initial state.

    Parameters, for n inputs and h units: 3 h (n + h + 2), as b and b' both stand.

    Source: Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder".

    Shapes:
        sequences: float [batch, time, features], mask: bool [batch, time], initial_state: h, [batch, units]
        -> float [batch, units], or [batch, time, units] with return_sequences, with return_state also h

    Example:
        >>> HoistedGRU(8, return_sequences=True)(np.zeros((2, 5, 4))).shape
        (2, 5, 8)

    Raises:
        ValueError: if units is below 1, or with reset_after=False.
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(units, **kwargs)
        if not self.cell.reset_after:
            raise ValueError("reset_after is False: HoistedGRU applies the reset gate after the product, as its default does")

    def split_bias(self, bias):
        return ops.unstack(bias)

    def forward(self, x, recurrent, states):
        h = states[0]
        x_z, x_r, x_g = ops.split(x, 3, axis=-1)
        h_z, h_r, h_g = ops.split(recurrent, 3, axis=-1)
        z, r = ops.sigmoid(x_z + h_z), ops.sigmoid(x_r + h_r)
        g = ops.tanh(x_g + r * h_g)
        return [z * h + (1 - z) * g], [z, r, g, h_g]

    def backward(self, saved, previous, d_states):
        z, r, g, h_g = saved
        d_h = d_states[0]
        d_z = d_h * (previous[0] - g) * z * (1 - z)
        d_g = d_h * (1 - z) * (1 - g * g)
        d_r = d_g * h_g * r * (1 - r)
        return ops.concatenate([d_z, d_r, d_g], -1), [d_h * z]

    def to_product(self, d_x, saved):
        d_z, d_r, d_g = ops.split(d_x, 3, axis=-1)
        return ops.concatenate([d_z, d_r, d_g * saved[1]], -1)


def _check_dropouts(dropout, recurrent_dropout):
    if not (0 <= dropout < 1 and 0 <= recurrent_dropout < 1):
        raise ValueError(f"dropout is {dropout} and recurrent_dropout {recurrent_dropout}: both must be in [0, 1)")
