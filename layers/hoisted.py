"""The LSTM and the GRU with the input projection of all steps hoisted out of the loop."""

import keras
from keras import ops
from keras.src import backend  # `backend.rnn`, the loop under every recurrent layer of Keras, has no public name


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
        if self.go_backwards:
            sequences = ops.flip(sequences, 1)
            mask = None if mask is None else ops.flip(mask, 1)
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
        outputs = ops.swapaxes(outputs, 0, 1)
        if mask is not None and self.zero_output_for_mask:  # Bidirectional asks for it
            outputs = ops.where(ops.expand_dims(mask, -1), outputs, ops.zeros_like(outputs))
            return outputs[:, -1], outputs, last
        return last[0], outputs, last

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
                return [*new_states, saved], new_states

            def rnn(step, inputs, states):
                # Unless told a length, it asks its inputs for one, and a list has none; the loop ends with the inputs anyway.
                options = {"time_major": True, "unroll": self.unroll, "input_length": 2**31 - 1}
                return backend.rnn(step, inputs, states, **options)[1:]

            n = len(initial)
            outputs, last = rnn(step, [given["projected"], *masks], initial)
            saved = outputs[n]

            def gradient(*upstream):
                d_outputs, *d_last = keras.tree.flatten(upstream)
                kernel_transposed = ops.transpose(kernel)
                # The states before each step.
                before = [ops.concatenate([ops.expand_dims(s, 0), q[:-1]], 0) for s, q in zip(initial, outputs[:n])]

                def step_back(inputs, d_states):
                    d_output, *rest = inputs
                    valid, previous, kept = rest[: len(masks)], rest[len(masks) : -1], rest[-1]
                    d_states = [d_states[0] + d_output, *d_states[1:]]
                    d_x, d_previous = self.backward(kept, previous, d_states)
                    d_product = ops.matmul(self.to_product(d_x, kept), kernel_transposed)
                    d_previous = [d_product if d_previous[0] is None else d_product + d_previous[0], *d_previous[1:]]
                    d_x = _select(valid, [d_x], [ops.zeros_like(d_x)])[0]
                    return d_x, _select(valid, d_previous, d_states)

                backwards = [ops.flip(t, 0) for t in (d_outputs, *masks, *before, saved)]
                d_x, d_initial = rnn(step_back, backwards, d_last)
                d_x = ops.flip(d_x, 0)
                d_product = ops.reshape(self.to_product(d_x, saved), (-1, kernel.shape[1]))
                gradients = {
                    "projected": d_x,
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
    A masked step repeats state and output, or gives zeros with `zero_output_for_mask`; before the first valid step the output is
    the initial state.

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
        z = x + recurrent
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=-1)
        c = ops.sigmoid(z_f) * c + ops.sigmoid(z_i) * ops.tanh(z_c)
        return [ops.sigmoid(z_o) * ops.tanh(c), c], z

    def backward(self, z, previous, d_states):
        d_h, d_c = d_states
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=-1)
        i, f, g, o = ops.sigmoid(z_i), ops.sigmoid(z_f), ops.tanh(z_c), ops.sigmoid(z_o)
        tanh_c = ops.tanh(f * previous[1] + i * g)
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
    state and output, or gives zeros with `zero_output_for_mask`; before the first valid step the output is the initial state.

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
        return [z * h + (1 - z) * g], ops.concatenate([z, r, g, h_g], -1)

    def backward(self, saved, previous, d_states):
        z, r, g, h_g = ops.split(saved, 4, axis=-1)
        d_h = d_states[0]
        d_z = d_h * (previous[0] - g) * z * (1 - z)
        d_g = d_h * (1 - z) * (1 - g * g)
        d_r = d_g * h_g * r * (1 - r)
        return ops.concatenate([d_z, d_r, d_g], -1), [d_h * z]

    def to_product(self, d_x, saved):
        d_z, d_r, d_g = ops.split(d_x, 3, axis=-1)
        r = ops.split(saved, 4, axis=-1)[1]
        return ops.concatenate([d_z, d_r, d_g * r], -1)
