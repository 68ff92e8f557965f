"""Positions of tokens: attention alone cannot distinguish the first token from the last.

Each layer takes `start`, the position of the first step of its input: an int, or an int32 tensor, scalar or [batch]. A
decoding loop that feeds one token per step passes the position of each row. Rows may have different positions.
"""

import keras
import numpy as np
from keras import ops


def _positions(inputs, start):
    """The positions: int32 [batch, time], or [1, time] if every row starts at the same position."""
    start = ops.reshape(ops.cast(start, "int32"), (-1, 1))
    return start + ops.arange(ops.shape(inputs)[1], dtype="int32")[None, :]


def _angles(inputs, start, wavelength):
    """Position / wavelength^(2i / depth): [batch or 1, time, ceil(depth / 2)], in float32 at least.

    bfloat16 would round position 257 to 256.
    """
    depth, precise = inputs.shape[-1], keras.backend.result_type(inputs.dtype, "float32")
    frequencies = ops.convert_to_tensor(wavelength ** (-np.arange(0, depth, 2) / depth), precise)
    return ops.cast(_positions(inputs, start), precise)[..., None] * frequencies


@keras.saving.register_keras_serializable(package="unroll")
class SinusoidalPositionalEncoding(keras.layers.Layer):
    """Adds a sine or cosine of the position to each feature.

        y_pj = s x_pj + PE(p, j),    PE(p, 2i) = sin(p / w^(2i/d)),    PE(p, 2i+1) = cos(p / w^(2i/d))

    with w = `max_wavelength`, d the number of features, and s = sqrt(d) with `scale_inputs`, else 1. If d is odd, the
    last feature is a sine. There is no table, so any length works at run time. No parameters.

    The mean square of the encoding is 1/2, whatever d is. Fresh embeddings of Keras have .0008: unscaled, they hardly
    change the sum.

    Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.4 (the scale) and 3.5.

    Args:
        max_wavelength: w, positive.
        scale_inputs: multiply the inputs by sqrt(d), as the paper does with its embeddings.

    Shapes:
        inputs: float [batch, time, d]
        start: position of the first step, int or int32 [] or [batch]
        -> float [batch, time, d]

    Example:
        >>> SinusoidalPositionalEncoding()(keras.ops.zeros((1, 2, 2)))  # sin 0, cos 0; sin 1, cos 1
        [[[0.0, 1.0], [0.841, 0.540]]]

    Raises:
        ValueError: if max_wavelength is not positive.
    """

    def __init__(self, max_wavelength: float = 10000.0, scale_inputs: bool = False, **kwargs):
        if max_wavelength <= 0:
            raise ValueError(f"max_wavelength is {max_wavelength}: it must be positive")
        super().__init__(**kwargs)
        self.max_wavelength = max_wavelength
        self.scale_inputs = scale_inputs
        self.supports_masking = True

    def call(self, inputs, start=0):
        depth = inputs.shape[-1]
        angles = _angles(inputs, start, self.max_wavelength)  # [batch or 1, time, ceil(d / 2)]
        pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
        encoding = ops.reshape(pairs, (*ops.shape(angles)[:2], 2 * angles.shape[-1]))  # [batch or 1, time, d or d + 1]
        scaled = inputs * depth**0.5 if self.scale_inputs else inputs
        return scaled + ops.cast(encoding[..., :depth], inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "max_wavelength": self.max_wavelength,
            "scale_inputs": self.scale_inputs,
        }


@keras.saving.register_keras_serializable(package="unroll")
class LearnedPositionalEmbedding(keras.layers.Layer):
    """Adds a learned vector for each position.

        y_p = x_p + E_p,    p < max_length

    Parameters: max_length * d.

    Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning"; Vaswani et al. 2017 found it as good as
    sines within the lengths of the training data.

    A position at or above max_length has no vector. If the position is known when the graph is built, the layer raises.
    If it is known only at run time, TensorFlow on a CPU raises. On other devices and backends, where a gather may not
    raise, the output at that position is NaN. The result is never a wrong number.

    Args:
        max_length: number of positions, at least 1.
        initializer: of E.

    Shapes:
        inputs: float [batch, time, d], time up to max_length
        start: position of the first step, int or int32 [] or [batch]
        -> float [batch, time, d]

    Example:
        >>> LearnedPositionalEmbedding(max_length=8, initializer="ones")(keras.ops.zeros((1, 2, 1)))
        [[[1.0], [1.0]]]

    Raises:
        ValueError: if max_length is below 1, or if the inputs are longer.
    """

    def __init__(self, max_length: int, initializer="uniform", **kwargs):
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}: it must be at least 1")
        super().__init__(**kwargs)
        self.max_length = max_length
        self.initializer = keras.initializers.get(initializer)
        self.supports_masking = True

    def build(self, inputs_shape):
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.max_length, inputs_shape[-1]), initializer=self.initializer
        )

    def call(self, inputs, start=0):
        self._check_length(inputs.shape[1], start)
        positions = _positions(inputs, start)  # [batch or 1, time]
        known = ops.logical_and(positions >= 0, positions < self.max_length)
        embedded = ops.take(ops.convert_to_tensor(self.embeddings), positions, axis=0)  # [batch or 1, time, d]
        return inputs + ops.where(known[..., None], embedded, ops.cast(float("nan"), embedded.dtype))

    def _check_length(self, length, start):
        first = start if isinstance(start, int) else 0
        if first < 0:
            raise ValueError(f"start is {first}: it must be at least 0")
        if length is not None and first + length > self.max_length:
            raise ValueError(
                f"the last input has position {first + length - 1}, but max_length is {self.max_length}: "
                "positions start at 0 and end at max_length - 1"
            )

    def compute_output_spec(self, inputs, start=0):
        self._check_length(inputs.shape[1], start)
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "initializer": keras.initializers.serialize(self.initializer),
        }


@keras.saving.register_keras_serializable(package="unroll")
class RotaryEmbedding(keras.layers.Layer):
    """Rotates each pair of features by an angle proportional to the position.

        (y_2i, y_2i+1) = (x_2i cos a - x_2i+1 sin a,  x_2i sin a + x_2i+1 cos a),    a = p / w^(2i/d)

    with w = `max_wavelength` and d = head_dim. If it is applied to queries and keys, their product depends on the
    positions only through their distance. No parameters.

    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.2.

    Args:
        max_wavelength: w, positive.

    Shapes:
        inputs: float [batch, time, heads, head_dim], head_dim even
        start: position of the first step, int or int32 [] or [batch]
        -> float [batch, time, heads, head_dim]

    Example:
        >>> RotaryEmbedding()(keras.ops.convert_to_tensor([[[[1.0, 0.0]], [[1.0, 0.0]]]]))  # rotated by 0 and by 1
        [[[[1.0, 0.0]], [[0.540, 0.841]]]]

    Raises:
        ValueError: if max_wavelength is not positive, or if head_dim is odd.
    """

    def __init__(self, max_wavelength: float = 10000.0, **kwargs):
        if max_wavelength <= 0:
            raise ValueError(f"max_wavelength is {max_wavelength}: it must be positive")
        super().__init__(**kwargs)
        self.max_wavelength = max_wavelength
        self.supports_masking = True

    def build(self, inputs_shape):
        if len(inputs_shape) != 4:
            raise ValueError(f"inputs have shape {tuple(inputs_shape)}: it must be [batch, time, heads, head_dim]")
        if inputs_shape[-1] % 2:
            raise ValueError(f"head_dim is {inputs_shape[-1]}: it must be even, because features are rotated in pairs")

    def call(self, inputs, start=0):
        depth = inputs.shape[-1]
        angles = ops.repeat(_angles(inputs, start, self.max_wavelength), 2, axis=-1)[:, :, None, :]
        x = ops.cast(inputs, angles.dtype)  # [batch, time, heads, head_dim]; angles [batch or 1, time, 1, head_dim]
        # This small matrix maps each pair (x, y) to (-y, x), exactly. Slicing the pairs and joining them again is
        # slower.
        swap = np.kron(np.eye(depth // 2), [[0, 1], [-1, 0]])
        rotated = x * ops.cos(angles) + ops.matmul(x, ops.cast(swap, x.dtype)) * ops.sin(angles)
        return ops.cast(rotated, self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "max_wavelength": self.max_wavelength}
