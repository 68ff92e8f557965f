"""LSTM and GRU whose input projection is hoisted out of the loop: one matrix product for all steps, before the loop.

Their gradients are written by hand (`step_backward`).
"""

import keras
from keras import ops

from layers.backend_rnn import rnn


class _HoistedLoop(keras.layers.RNN):
    """The loop of HoistedLSTM and HoistedGRU.

    Keras's LSTM and GRU call the `inner_loop` of their parent class where they cannot use a fused GPU kernel. In
    `class HoistedLSTM(keras.layers.LSTM, _HoistedLoop)`, this class is that parent.

    The gradient is written by hand. Autodiff would sum the gradient of the recurrent kernel inside the loop, with one
    product per step. Here the backward loop computes the gradient of each step's product h_(t-1) U, and one product
    over all steps then gives the gradient of U.

    Keras's `custom_gradient` for Torch supports a single output only, so on Torch autodiff computes the gradient.

    A subclass defines `split_bias`, `step_forward`, `step_backward` and `product_gradient`. On Torch every layer is a
    `torch.nn.Module`, so no method may be called `forward`.
    """

    def inner_loop(self, sequences, initial_state, mask, training=False):
        cell = self.cell
        has_default_activations = (
            cell.activation is keras.activations.tanh and cell.recurrent_activation is keras.activations.sigmoid
        )
        if cell.recurrent_dropout or not has_default_activations:
            return super().inner_loop(sequences, initial_state, mask, training=training)
        if self.go_backwards:
            sequences = ops.flip(sequences, 1)
            mask = None if mask is None else ops.flip(mask, 1)
        if training and cell.dropout:
            sequences = sequences * ops.expand_dims(cell.get_dropout_mask(sequences[:, 0]), 1)
        # Time comes first in the loop: [time, batch, gates * units].
        projected = ops.swapaxes(ops.matmul(sequences, cell.kernel), 0, 1)
        recurrent_bias = None
        if cell.use_bias:
            bias, recurrent_bias = self.split_bias(ops.cast(cell.bias, projected.dtype))
            projected = projected + bias
        arguments = {"projected": projected, "kernel": ops.cast(cell.recurrent_kernel, projected.dtype)}
        if recurrent_bias is not None:
            arguments["bias"] = recurrent_bias
        if mask is not None:  # [time, batch, 1]
            arguments["mask"] = ops.cast(ops.expand_dims(ops.swapaxes(mask, 0, 1), -1), projected.dtype)
        states = initial_state if keras.tree.is_nested(initial_state) else [initial_state]
        outputs, *last_states = self._differentiable_loop(list(arguments))(*arguments.values(), *states)
        outputs = ops.swapaxes(outputs, 0, 1)  # [batch, time, units]
        if mask is not None and self.zero_output_for_mask:  # Bidirectional sets this option
            outputs = ops.where(ops.expand_dims(mask, -1), outputs, ops.zeros_like(outputs))
            return outputs[:, -1], outputs, last_states
        return last_states[0], outputs, last_states

    def _differentiable_loop(self, names):
        """Returns the function (*arguments that `names` names, *initial states) -> (outputs, *last states).

        Its outputs are [time, batch, units].
        """

        def loop(*arguments):
            named = dict(zip(names, arguments))
            initial_states = list(arguments[len(names) :])
            outputs, last_states = self._forward_loop(named, initial_states)
            num_states = len(initial_states)
            state_sequences, saved = outputs[:num_states], outputs[num_states]

            def gradient(*upstream):
                d_outputs, *d_last_states = keras.tree.flatten(upstream)
                previous_states = [  # the states before each step, [time, batch, units]
                    ops.concatenate([ops.expand_dims(first, 0), states[:-1]], 0)
                    for first, states in zip(initial_states, state_sequences)
                ]
                d_x, d_initial = self._backward_loop(named, previous_states, saved, d_outputs, d_last_states)
                gradients = self._argument_gradients(named, previous_states[0], saved, d_x)
                return (*(gradients[name] for name in names), *d_initial)

            return (state_sequences[0], *last_states), gradient

        if keras.backend.backend() == "torch":
            return lambda *arguments: loop(*arguments)[0]
        return ops.custom_gradient(loop)

    def _forward_loop(self, named, initial_states):
        """Returns ([*states, saved] of all steps, each [time, batch, ...]; the last states)."""
        kernel, bias, masks = named["kernel"], named.get("bias"), _masks(named)

        def step(inputs, states):
            x, *valid = inputs
            recurrent = ops.matmul(states[0], kernel)
            recurrent = recurrent if bias is None else recurrent + bias
            new_states, saved = self.step_forward(x, recurrent, states)
            new_states = _select(valid, new_states, states)
            return [*new_states, saved], new_states

        return self._loop(step, [named["projected"], *masks], initial_states)

    def _backward_loop(self, named, previous_states, saved, d_outputs, d_last_states):
        """Returns (gradient of the projected inputs [time, batch, gates * units]; gradients of the initial states)."""
        masks = _masks(named)
        kernel_transposed = ops.transpose(named["kernel"])

        def step(inputs, d_states):
            d_output, *rest = inputs
            valid, previous, saved_step = rest[: len(masks)], rest[len(masks) : -1], rest[-1]
            d_states = [d_states[0] + d_output, *d_states[1:]]
            d_x, d_previous = self.step_backward(saved_step, previous, d_states)
            d_h = ops.matmul(self.product_gradient(d_x, saved_step), kernel_transposed)
            d_previous = [d_h if d_previous[0] is None else d_h + d_previous[0], *d_previous[1:]]
            d_x = _select(valid, [d_x], [ops.zeros_like(d_x)])[0]
            return [d_x], _select(valid, d_previous, d_states)

        inputs = [ops.flip(sequence, 0) for sequence in (d_outputs, *masks, *previous_states, saved)]
        (d_x,), d_initial = self._loop(step, inputs, d_last_states)
        return ops.flip(d_x, 0), d_initial

    def _argument_gradients(self, named, previous_h, saved, d_x):
        """The gradients of the loop's arguments, by name.

        One product over all steps gives the gradient of the recurrent kernel.
        """
        kernel, mask = named["kernel"], named.get("mask")
        d_product = self.product_gradient(d_x, saved)  # [time, batch, gates * units]
        d_product = ops.reshape(d_product, (-1, kernel.shape[1]))  # [time * batch, gates * units]
        previous_h = ops.reshape(previous_h, (-1, kernel.shape[0]))  # [time * batch, units]
        return {
            "projected": d_x,
            "kernel": ops.matmul(ops.transpose(previous_h), d_product),
            "bias": ops.sum(d_product, axis=0),
            "mask": None if mask is None else ops.zeros_like(mask),
        }

    def _loop(self, step, inputs, states):
        """Returns (list of outputs, each [time, ...]; last states) of `step` over the first axis of all inputs."""
        if self.unroll or keras.backend.backend() == "torch":  # `rnn` cannot unroll steps with several outputs
            steps = []
            for t in range(inputs[0].shape[0]):
                outputs, states = step([sequence[t] for sequence in inputs], states)
                steps.append(outputs)
            return [ops.stack(sequence) for sequence in zip(*steps)], states
        # Without input_length, `rnn` reads the length from `inputs.shape`, which a list does not have. The loop
        # also stops at the end of the inputs, so a large number is correct for every length.
        _, outputs, states = rnn(step, inputs, states, time_major=True, input_length=2**31 - 1)
        return outputs, states


def _masks(named):
    return [named["mask"]] if "mask" in named else []


def _select(valid, new, old):
    """Takes `new` where the step is valid and `old` where it is masked; `new` if there is no mask."""
    return [ops.where(valid[0] > 0, a, b) for a, b in zip(new, old)] if valid else new


@keras.saving.register_keras_serializable(package="unroll")
class HoistedLSTM(keras.layers.LSTM, _HoistedLoop):
    """`keras.layers.LSTM` with the input projection of all steps as one matrix product before the loop.

        Z = X W + b                                          all steps at once
        z_i, z_f, z_c, z_o = Z_t + h_(t-1) U                 in the loop
        c_t = sigmoid(z_f) * c_(t-1) + sigmoid(z_i) * tanh(z_c)
        h_t = sigmoid(z_o) * tanh(c_t)

    Arguments, weights, masks and results are those of `keras.layers.LSTM`. A mixed policy casts the weights once, not
    at every step. With `recurrent_dropout` or other activations than those above, Keras's own loop runs. A masked step
    repeats state and output, or gives zeros with `zero_output_for_mask`; before the first valid step the output is the
    initial state.

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

    def step_forward(self, x, recurrent, states):
        _, c = states
        z = x + recurrent  # [batch, 4 * units]
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=-1)
        c = ops.sigmoid(z_f) * c + ops.sigmoid(z_i) * ops.tanh(z_c)
        return [ops.sigmoid(z_o) * ops.tanh(c), c], z

    def step_backward(self, z, previous, d_states):
        """Derivatives of one step: of the gates' inputs [batch, 4 * units], and of the previous states."""
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

    def product_gradient(self, d_x, saved):
        return d_x


@keras.saving.register_keras_serializable(package="unroll")
class HoistedGRU(keras.layers.GRU, _HoistedLoop):
    """`keras.layers.GRU` with the input projection of all steps as one matrix product before the loop.

        X_z, X_r, X_g = X W + b                              all steps at once
        H_z, H_r, H_g = h_(t-1) U + b'                       in the loop
        z_t = sigmoid(X_z + H_z),  r_t = sigmoid(X_r + H_r),  g_t = tanh(X_g + r_t * H_g)
        h_t = z_t * h_(t-1) + (1 - z_t) * g_t

    The update gate z keeps the old state, as in Keras (in other texts it often lets the new one in). Arguments,
    weights, masks and results are those of `keras.layers.GRU(reset_after=True)`. A mixed policy casts the weights once,
    not at every step. With `recurrent_dropout` or other activations than those above, Keras's own loop runs. A masked
    step repeats state and output, or gives zeros with `zero_output_for_mask`; before the first valid step the output is
    the initial state.

    Parameters, for n inputs and h units: 3 h (n + h + 2), because there are two biases, b and b'.

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
            raise ValueError("reset_after is False: HoistedGRU applies the reset gate after the product, leave it out")

    def split_bias(self, bias):
        return ops.unstack(bias)

    def step_forward(self, x, recurrent, states):
        h = states[0]
        x_z, x_r, x_g = ops.split(x, 3, axis=-1)
        h_z, h_r, h_g = ops.split(recurrent, 3, axis=-1)
        z, r = ops.sigmoid(x_z + h_z), ops.sigmoid(x_r + h_r)
        g = ops.tanh(x_g + r * h_g)
        return [z * h + (1 - z) * g], ops.concatenate([z, r, g, h_g], -1)

    def step_backward(self, saved, previous, d_states):
        z, r, g, h_g = ops.split(saved, 4, axis=-1)
        d_h = d_states[0]
        d_z = d_h * (previous[0] - g) * z * (1 - z)
        d_g = d_h * (1 - z) * (1 - g * g)
        d_r = d_g * h_g * r * (1 - r)
        return ops.concatenate([d_z, d_r, d_g], -1), [d_h * z]

    def product_gradient(self, d_x, saved):
        d_z, d_r, d_g = ops.split(d_x, 3, axis=-1)
        r = ops.split(saved, 4, axis=-1)[1]
        return ops.concatenate([d_z, d_r, d_g * r], -1)
