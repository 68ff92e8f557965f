"""Pooling: one vector per sequence from one vector per position, without the padding.

The mask is always an argument, because Keras can lose an implicit mask without a warning.
"""

import keras
from keras import ops

from layers.masking import masked_softmax


class _MaskedPooling(keras.layers.Layer):
    """inputs [batch, time, features] and mask bool [batch, time] -> [batch, features]."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no time axis

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (inputs_shape[0], inputs_shape[2])


@keras.saving.register_keras_serializable(package="unroll")
class MaskedMeanPooling(_MaskedPooling):
    """The mean over the valid positions.

        y = sum_t m_t x_t / sum_t m_t

    The sum is taken in float32 at least, whatever the dtype policy: a long sequence in bfloat16 loses its last terms. A
    row without a valid position gives zeros.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float [batch, features]

    Example:
        >>> MaskedMeanPooling()(np.array([[[1.0], [3.0], [9.0]]]), mask=np.array([[True, True, False]]))
        [[2.0]]
    """

    def call(self, inputs, mask=None):
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], dtype="bool")
        precise = keras.backend.result_type(inputs.dtype, "float32")
        mask = ops.expand_dims(ops.cast(mask, "bool"), -1)  # [batch, time, 1]
        # where instead of a product: the padding may hold NaN or infinity.
        total = ops.sum(ops.where(mask, ops.cast(inputs, precise), 0.0), axis=1)  # [batch, features]
        count = ops.sum(ops.cast(mask, precise), axis=1)  # [batch, 1]
        return ops.cast(total / ops.maximum(count, 1.0), self.compute_dtype)


@keras.saving.register_keras_serializable(package="unroll")
class MaskedMaxPooling(_MaskedPooling):
    """The largest value of each feature over the valid positions.

        y_j = max over t with m_t of x_tj

    A row without a valid position gives zeros.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float [batch, features]

    Example:
        >>> MaskedMaxPooling()(np.array([[[1.0], [3.0], [9.0]]]), mask=np.array([[True, True, False]]))
        [[3.0]]
    """

    def call(self, inputs, mask=None):
        if mask is None:
            return ops.max(inputs, axis=1)
        mask = ops.expand_dims(ops.cast(mask, "bool"), -1)  # [batch, time, 1]
        # A finite number below all inputs. In float16, -1e9 would be infinite.
        lowest = -65504.0 if keras.backend.standardize_dtype(inputs.dtype) == "float16" else -1e30
        largest = ops.max(ops.where(mask, inputs, ops.cast(lowest, inputs.dtype)), axis=1)  # [batch, features]
        return ops.where(ops.any(mask, axis=1), largest, ops.zeros_like(largest))


@keras.saving.register_keras_serializable(package="unroll")
class MaskedLastPooling(_MaskedPooling):
    """The vector of the last valid position, at which a recurrent network has read the whole sequence.

        y = x_l,    l = the largest t with m_t

    The mask may have gaps or padding on the left. A row without a valid position gives zeros. No parameters.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float [batch, features]

    Example:
        >>> MaskedLastPooling()(keras.ops.ones((1, 3, 2)), mask=keras.ops.convert_to_tensor([[True, True, False]]))
        [[1.0, 1.0]]
    """

    def call(self, inputs, mask=None):
        if mask is None:
            return inputs[:, -1]
        positions = ops.arange(ops.shape(inputs)[1], dtype="int32")
        last = ops.max(ops.where(ops.cast(mask, "bool"), positions, -1), axis=1)[:, None, None]  # [batch, 1, 1]
        vectors = ops.take_along_axis(inputs, ops.maximum(last, 0), axis=1)  # [batch, 1, features]
        return ops.where(last >= 0, vectors, ops.zeros_like(vectors))[:, 0]


@keras.saving.register_keras_serializable(package="unroll")
class AttentionPooling(_MaskedPooling):
    """A mean over the valid positions whose weights are learned from the vectors.

        a = softmax_t(v^T tanh(W x_t + b))    over the valid positions, in float32
        y = sum_t a_t x_t

    v is a learned query, the same for every sequence. A row without a valid position gives zeros. With d features and u
    units there are d u + 2 u parameters.

    Source: Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", section 2.2.

    Args:
        units: number of rows of W; the number of features if not given.
        kernel_initializer: of W and v.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        return_weights: whether to return (pooled, weights)
        -> pooled: float [batch, features]; weights a: float [batch, time]

    Example:
        >>> pooled, weights = AttentionPooling(units=4)(keras.random.normal((1, 3, 2)), return_weights=True)
        >>> keras.ops.sum(weights)
        1.0

    Raises:
        ValueError: if units is below 1.
    """

    def __init__(self, units: int | None = None, kernel_initializer="glorot_uniform", **kwargs):
        if units is not None and units < 1:
            raise ValueError(f"units is {units}: it must be at least 1")
        super().__init__(**kwargs)
        self.units = units
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, inputs_shape):
        features = inputs_shape[-1]
        units = self.units or features
        self.kernel = self.add_weight(name="kernel", shape=(features, units), initializer=self.kernel_initializer)
        self.bias = self.add_weight(name="bias", shape=(units,), initializer="zeros")
        self.query = self.add_weight(name="query", shape=(units, 1), initializer=self.kernel_initializer.clone())

    def call(self, inputs, mask=None, return_weights=False):
        hidden = ops.tanh(ops.matmul(inputs, self.kernel) + self.bias)  # [batch, time, units]
        weights = masked_softmax(ops.matmul(hidden, self.query)[..., 0], mask)  # [batch, time]
        pooled = ops.cast(ops.einsum("bt,btd->bd", weights, ops.cast(inputs, weights.dtype)), self.compute_dtype)
        return (pooled, ops.cast(weights, self.compute_dtype)) if return_weights else pooled

    def compute_output_spec(self, inputs, mask=None, return_weights=False):
        pooled = keras.KerasTensor((inputs.shape[0], inputs.shape[2]), dtype=self.compute_dtype)
        return (pooled, keras.KerasTensor(inputs.shape[:2], dtype=self.compute_dtype)) if return_weights else pooled

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
