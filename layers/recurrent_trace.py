"""What a recurrent layer computes at each step: its states and its gates."""

import keras
from keras import ops

from layers.attention_decoder import AttentionDecoder
from layers.backend_rnn import rnn
from layers.edits import replaced
from layers.recurrent import PeepholeLSTMCell

_LSTM_GATES = ("input_gate", "forget_gate", "candidate", "output_gate")
_GRU_GATES = ("update_gate", "reset_gate", "candidate")


@keras.saving.register_keras_serializable(package="unroll")
class RecurrentTrace(keras.layers.Layer):
    """The states and gates of a recurrent layer at all steps, computed with that layer's weights.

        simple, Jordan:  h_t
        GRU:             h_t;  z_t (update), r_t (reset), g_t (candidate)
        LSTM:            h_t, c_t;  i_t (input), f_t (forget), o_t (output), g_t (candidate)

    The equations are those of the layer's cell. The layer itself runs in one loop without these values, so this layer
    runs the cell again, step by step, and then computes the gates of all steps from the states before them.

    Parameters: those of the layer, which are shared with it.

    Args:
        layer: a built `keras.layers.RNN`, such as `keras.layers.LSTM`, `HoistedGRU` or `keras.layers.RNN(JordanCell)`,
            whose cell is one of those above; not an `AttentionDecoder`.

    Shapes:
        inputs: float [batch, time, features]
        initial_state: list of float [batch, units]; zeros if not given
        mask: bool [batch, time], True for valid steps; all valid if not given
        edits: what to change (see edits.py) of the quantities below, [batch, time, units]: with edits, the values are
            those that the layer would compute if each step went on with what is set. Of masked steps, nothing is set
        -> a dict of float [batch, time, units]: "hidden", for an LSTM "cell", and the gates "input_gate",
            "forget_gate", "output_gate", "candidate", "update_gate", "reset_gate" that the cell has. A layer that reads
            backwards has its values in the order of the inputs. At masked steps the states repeat those of the step
            before and the gates are 0.

    Example:
        >>> lstm = keras.layers.LSTM(8)
        >>> x = np.ones((2, 5, 4))
        >>> last = lstm(x)
        >>> RecurrentTrace(lstm)(x)["forget_gate"].shape
        (2, 5, 8)

    Raises:
        ValueError: if the layer is no recurrent layer, or an AttentionDecoder.
    """

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, keras.layers.RNN) or isinstance(layer, AttentionDecoder):
            raise ValueError(f"layer is a {type(layer).__name__}: it must be a recurrent layer of simple cells")
        kwargs.setdefault("dtype", layer.dtype_policy)
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, inputs_shape, *other_shapes):
        if not self.layer.built:
            self.layer.build(inputs_shape)

    def call(self, inputs, initial_state=None, mask=None, edits=None):
        cell = self.layer.cell
        inputs = ops.cast(inputs, self.compute_dtype)
        states = keras.tree.flatten(initial_state)
        if initial_state is None:
            states = keras.tree.flatten(cell.get_initial_state(batch_size=ops.shape(inputs)[0]))

        backwards = self.layer.go_backwards
        sequences = [ops.flip(inputs, 1) if backwards else inputs]
        if mask is not None:
            valid = ops.cast(ops.expand_dims(mask, -1), self.compute_dtype)  # [batch, time, 1]
            sequences.append(ops.flip(valid, 1) if backwards else valid)
        edits = {
            name: tuple(ops.cast(each, self.compute_dtype) for each in pair) for name, pair in (edits or {}).items()
        }
        for each in keras.tree.flatten(list(edits.values())):
            sequences.append(ops.flip(each, 1) if backwards else each)

        def step(step_inputs, states):
            x, *others = step_inputs
            is_valid = others.pop(0) if mask is not None else None
            if edits:
                of_step = {name: (others[2 * i] > 0, others[2 * i + 1]) for i, name in enumerate(edits)}
                new_states = _edited_step(cell, x, states, of_step)
            else:
                new_states = keras.tree.flatten(cell(x, states)[1])
            if is_valid is not None:  # a masked step keeps its states
                new_states = [ops.where(is_valid > 0, new, old) for new, old in zip(new_states, states)]
            return ops.concatenate(new_states, -1), new_states

        # Time comes first in the loop. Without input_length, `rnn` reads the length from `inputs.shape`, which
        # a list does not have. The loop also stops at the end of the inputs, so a large number is correct.
        time_major = [ops.swapaxes(sequence, 0, 1) for sequence in sequences]
        _, sequence, _ = rnn(step, time_major, states, time_major=True, input_length=2**31 - 1)
        after = _split(ops.swapaxes(sequence, 0, 1), states)  # each [batch, time, units]
        before = [
            ops.concatenate([ops.expand_dims(ops.cast(first, each.dtype), 1), each[:, :-1]], axis=1)
            for first, each in zip(states, after)
        ]
        if backwards:
            after, before = ([ops.flip(each, 1) for each in sequences] for sequences in (after, before))
        of_all_steps = {name: (is_set > 0, value) for name, (is_set, value) in edits.items()}
        values = dict(zip(("hidden", "cell"), after)) | gates(cell, inputs, before, after, of_all_steps)
        if mask is None:
            return values
        return {name: each if name in ("hidden", "cell") else each * valid for name, each in values.items()}

    def compute_mask(self, inputs, *args, **kwargs):
        return None

    def compute_output_shape(self, inputs_shape, *other_shapes):
        sizes = keras.tree.flatten(self.layer.cell.state_size)
        names = ("hidden", "cell")[: len(sizes)] + _gate_names(self.layer.cell)
        return dict.fromkeys(names, (*inputs_shape[:2], sizes[0]))

    def compute_output_spec(self, inputs, initial_state=None, mask=None, edits=None):
        shapes = self.compute_output_shape(inputs.shape)
        return {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in shapes.items()}

    def get_config(self):
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})


def _edited_step(cell, x, states, edits) -> list:
    """Returns the states after one step, computed by the equations of the cell from the values that are set.

    Args:
        x: float [batch, features].
        states: float [batch, units] each.
        edits: quantity -> (is_set, value), each [batch, units].
    """
    if isinstance(cell, keras.layers.LSTMCell):
        h, c = states
        (z_i, z_f, z_g, z_o), (p_i, p_f, p_o) = _lstm_inputs(cell, x, h)
        i = replaced(edits, "input_gate", cell.recurrent_activation(z_i + p_i * c))
        f = replaced(edits, "forget_gate", cell.recurrent_activation(z_f + p_f * c))
        g = replaced(edits, "candidate", cell.activation(z_g))
        c = replaced(edits, "cell", f * c + i * g)
        o = replaced(edits, "output_gate", cell.recurrent_activation(z_o + p_o * c))
        normed = cell.state_norm(c) if getattr(cell, "layer_normalization", False) else c
        return [replaced(edits, "hidden", o * cell.activation(normed)), c]
    if isinstance(cell, keras.layers.GRUCell):
        z, r, g = _gru_gates(cell, x, states[0], edits).values()
        return [replaced(edits, "hidden", z * states[0] + (1 - z) * g)]
    return [replaced(edits, "hidden", state) for state in keras.tree.flatten(cell(x, states)[1])]


def gates(cell, inputs, before, after, edits=None) -> dict:
    """Returns the gates of a cell at all steps, by name; {} for a cell without gates.

    Args:
        cell: a `keras.layers.LSTMCell`, `PeepholeLSTMCell`, `keras.layers.GRUCell`, or another cell.
        inputs: float [batch, time, features].
        before, after: the states before and after each step, each float [batch, time, units].
        edits: see edits.py.
    """
    if isinstance(cell, keras.layers.LSTMCell):
        found = _lstm_gates(cell, inputs, before, after)
        return {name: replaced(edits, name, value) for name, value in found.items()}
    if isinstance(cell, keras.layers.GRUCell):
        return _gru_gates(cell, inputs, before[0], edits)
    return {}


def _gate_names(cell) -> tuple[str, ...]:
    if isinstance(cell, keras.layers.LSTMCell):
        return _LSTM_GATES
    return _GRU_GATES if isinstance(cell, keras.layers.GRUCell) else ()


def _lstm_inputs(cell, inputs, h):
    """Returns what the activations of i, f, g and o take, but for the peepholes, and these."""
    wx = ops.matmul(inputs, ops.cast(cell.kernel, inputs.dtype))  # [..., 4 * units]
    uh = ops.matmul(h, ops.cast(cell.recurrent_kernel, inputs.dtype))
    peepholes = (0, 0, 0)
    if isinstance(cell, PeepholeLSTMCell):
        peepholes = ops.unstack(ops.cast(cell.peepholes, inputs.dtype))
        if cell.layer_normalization:
            wx, uh = cell.input_norm(wx), cell.recurrent_norm(uh)
    z = wx + uh
    if cell.use_bias:
        z = z + ops.cast(cell.bias, inputs.dtype)
    return ops.split(z, 4, axis=-1), peepholes


def _lstm_gates(cell, inputs, before, after):
    (z_i, z_f, z_g, z_o), (p_i, p_f, p_o) = _lstm_inputs(cell, inputs, before[0])
    activated = (
        cell.recurrent_activation(z_i + p_i * before[1]),
        cell.recurrent_activation(z_f + p_f * before[1]),
        cell.activation(z_g),
        cell.recurrent_activation(z_o + p_o * after[1]),
    )
    return dict(zip(_LSTM_GATES, activated))


def _gru_gates(cell, inputs, h, edits=None):
    kernel, recurrent_kernel = (ops.cast(each, inputs.dtype) for each in (cell.kernel, cell.recurrent_kernel))
    bias, recurrent_bias = 0, ops.zeros_like(kernel[0])
    if cell.use_bias:
        biases = ops.cast(cell.bias, inputs.dtype)
        bias, recurrent_bias = ops.unstack(biases) if cell.reset_after else (biases, recurrent_bias)
    x_z, x_r, x_g = ops.split(ops.matmul(inputs, kernel) + bias, 3, axis=-1)  # each [..., units]
    h_z, h_r, h_g = ops.split(ops.matmul(h, recurrent_kernel) + recurrent_bias, 3, axis=-1)
    z = replaced(edits, "update_gate", cell.recurrent_activation(x_z + h_z))
    r = replaced(edits, "reset_gate", cell.recurrent_activation(x_r + h_r))
    if not cell.reset_after:
        h_g = ops.matmul(r * h, recurrent_kernel[:, 2 * cell.units :])
    g = replaced(edits, "candidate", cell.activation(x_g + (r * h_g if cell.reset_after else h_g)))
    return dict(zip(_GRU_GATES, (z, r, g)))


def _split(sequence, states) -> list:
    """Divides [batch, time, units of all states] into the states."""
    ends, end = [], 0
    for state in states[:-1]:
        end += state.shape[-1]
        ends.append(end)
    return ops.split(sequence, ends, axis=-1) if ends else [sequence]
