"""Recurrent cells for `keras.layers.RNN`.

The Elman network is `keras.layers.SimpleRNNCell`. The first state of each cell is its previous output, as
`keras.layers.RNN` expects. For bidirectional and stacked networks use Keras's own wrappers.
"""

import keras
from keras import ops
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell  # the type of cells with dropout in Keras


def _layer_norm(cell, center):
    return keras.layers.LayerNormalization(center=center, epsilon=1e-5, dtype=cell.dtype_policy)


@keras.saving.register_keras_serializable(package="unroll")
class JordanCell(keras.layers.Layer, DropoutRNNCell):
    """One step of a Jordan network, which feeds back the output instead of the hidden state.

        h_t = f(W x_t + U y_(t-1) + b)
        y_t = g(V h_t + c)

    With `layer_normalization`: h_t = f(LN(W x_t) + LN(U y_(t-1)) + b). Each LN has a gain but no shift, because b is a
    shift.

    Parameters, for n inputs, h units and m output units: h (n + m + 1) + m (h + 1), and 2 h more with layer
    normalization.

    Source: Jordan 1986, "Serial order: a parallel distributed processing approach", in its textbook form (in the paper
    the state units also feed themselves, s_t = mu s_(t-1) + y_(t-1); here mu = 0); layer normalization as in Ba, Kiros
    and Hinton 2016.

    Args:
        units: size of the hidden layer h.
        output_units: size of the output y, which is the state; `units` if not given.
        activation: f.
        output_activation: g. It bounds the state; with a linear one the state can grow without limit.
        dropout: dropout rate of the inputs; the same inputs are dropped at every step.
        recurrent_dropout: dropout rate of the previous output; the same features are dropped at every step.
        layer_normalization: whether to normalize the two products.
        kernel_initializer, recurrent_initializer: for W and V, and for U. The biases are initialized with zeros.
        seed: seed of the dropout.

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
            raise ValueError(f"units is {units} and output_units is {output_units}: both must be at least 1")
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
        units, output_units = self.units, self.output_units
        self.kernel = self.add_weight((input_shape[-1], units), self.kernel_initializer, name="kernel")
        self.recurrent_kernel = self.add_weight(
            (output_units, units), self.recurrent_initializer, name="recurrent_kernel"
        )
        self.bias = self.add_weight((units,), "zeros", name="bias")
        # A clone, because an initializer object that is used twice returns the same numbers twice.
        self.output_kernel = self.add_weight(
            (units, output_units), self.kernel_initializer.clone(), name="output_kernel"
        )
        self.output_bias = self.add_weight((output_units,), "zeros", name="output_bias")
        if self.layer_normalization:
            self.input_norm.build((None, units))
            self.recurrent_norm.build((None, units))

    def call(self, inputs, states, training=False):
        y = states[0]
        if training and self.dropout:
            inputs = inputs * self.get_dropout_mask(inputs)
        if training and self.recurrent_dropout:
            y = y * self.get_recurrent_dropout_mask(y)
        wx = ops.matmul(inputs, self.kernel)  # [batch, units]
        uy = ops.matmul(y, self.recurrent_kernel)  # [batch, units]
        if self.layer_normalization:
            wx, uy = self.input_norm(wx), self.recurrent_norm(uy)
        h = self.activation(wx + uy + self.bias)  # [batch, units]
        y = self.output_activation(ops.matmul(h, self.output_kernel) + self.output_bias)  # [batch, output_units]
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
    """One step of an LSTM whose gates read the cell state.

        i_t = sigmoid(W_i x_t + U_i h_(t-1) + p_i * c_(t-1) + b_i)
        f_t = sigmoid(W_f x_t + U_f h_(t-1) + p_f * c_(t-1) + b_f)
        c_t = f_t * c_(t-1) + i_t * tanh(W_c x_t + U_c h_(t-1) + b_c)
        o_t = sigmoid(W_o x_t + U_o h_(t-1) + p_o * c_t + b_o)
        h_t = o_t * tanh(c_t)

    The peepholes p are diagonal: one vector for each gate. They are initialized with zeros, and with zeros this cell
    equals `keras.layers.LSTMCell`. The other weights have the order of that cell (i, f, c, o) and can be copied from
    it. b_f is initialized with ones. With `layer_normalization`: LN(W x_t) + LN(U h_(t-1)) + b over the four gates
    together, each LN with a gain and no shift, and h_t = o_t * tanh(LN(c_t)).

    Parameters, for n inputs and h units: 4 h (n + h + 1) + 3 h, and 10 h more with layer normalization.

    Source: Gers and Schmidhuber 2000, "Recurrent nets that time and count"; layer normalization as in Ba, Kiros and
    Hinton 2016.

    Args:
        units: size of h and c.
        layer_normalization: whether to normalize the two products and the cell state.
        peephole_initializer: for p.
        **kwargs: those of `keras.layers.LSTMCell`. With dropout, the four gates share one dropout mask.

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
        self.dropout_mask_count = None  # one dropout mask for all gates, so that one product computes all gates
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
        wx = ops.matmul(inputs, self.kernel)  # [batch, 4 * units]
        uh = ops.matmul(h, self.recurrent_kernel)  # [batch, 4 * units]
        if self.layer_normalization:
            wx, uh = self.input_norm(wx), self.recurrent_norm(uh)
        z = wx + uh
        if self.use_bias:
            z = z + self.bias
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=-1)  # each [batch, units]
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


@keras.saving.register_keras_serializable(package="unroll")
class InitialStates(keras.layers.Layer):
    """The first states of a recurrent layer as weights, instead of zeros.

        s_0 = w    for every sequence of the batch

    The weights start at zero, and so as the layer without them.

    Parameters: the sum of the sizes.

    Args:
        sizes: size of each state.

    Shapes:
        inputs: float [batch, ...]; only their batch size and their dtype matter
        -> a list of float [batch, size]

    Example:
        >>> x = keras.Input((None, 4))
        >>> y = keras.layers.LSTM(8)(x, initial_state=InitialStates([8, 8])(x))

    Raises:
        ValueError: if there is no size, or one below 1.
    """

    def __init__(self, sizes: list[int], **kwargs):
        if not sizes or min(sizes) < 1:
            raise ValueError(f"sizes is {list(sizes)}: it must have at least one size, and each must be at least 1")
        super().__init__(**kwargs)
        self.sizes = list(sizes)
        self.supports_masking = True

    def build(self, inputs_shape):
        self.states = [self.add_weight((size,), "zeros", name=f"state_{i + 1}") for i, size in enumerate(self.sizes)]

    def call(self, inputs):
        rows = ops.shape(inputs)[0]
        return [
            ops.broadcast_to(ops.cast(state, inputs.dtype), (rows, size))
            for state, size in zip(self.states, self.sizes)
        ]

    def compute_mask(self, inputs, mask=None):
        return [None] * len(self.sizes)  # states have no time axis

    def compute_output_shape(self, inputs_shape):
        return [(inputs_shape[0], size) for size in self.sizes]

    def get_config(self):
        return {**super().get_config(), "sizes": self.sizes}


def _check_dropouts(dropout, recurrent_dropout):
    if not (0 <= dropout < 1 and 0 <= recurrent_dropout < 1):
        raise ValueError(f"dropout is {dropout} and recurrent_dropout is {recurrent_dropout}: both must be in [0, 1)")
