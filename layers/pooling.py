"""From a vector per position to one vector per sequence, without the padded positions.

The mask is an argument, always: an implicit Keras mask can be lost on the way without a word.
"""

import keras
from keras import ops


class _MaskedPooling(keras.layers.Layer):
    """inputs [batch, time, features] and mask bool [batch, time] -> [batch, features]."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, mask=None):
        return None  # there is no time axis left to mask

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (inputs_shape[0], inputs_shape[2])


@keras.saving.register_keras_serializable(package="unroll")
class MaskedMeanPooling(_MaskedPooling):
    """The mean over the valid positions.

        y = sum_t m_t x_t / sum_t m_t

    The sum is taken in float32, whatever the dtype policy: a long sequence in bfloat16 loses its last terms. A row without
    a valid position gives zeros.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float [batch, features]
    """

    def call(self, inputs, mask=None):
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], dtype="bool")
        weights = ops.expand_dims(ops.cast(mask, "float32"), -1)
        total = ops.sum(ops.cast(inputs, "float32") * weights, axis=1)
        count = ops.sum(weights, axis=1)
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
    """

    def call(self, inputs, mask=None):
        if mask is None:
            return ops.max(inputs, axis=1)
        mask = ops.expand_dims(mask, -1)
        # The lowest finite number of the inputs' dtype: -1e9 would be infinite in float16.
        lowest = -65504.0 if keras.backend.standardize_dtype(inputs.dtype) == "float16" else -1e30
        largest = ops.max(ops.where(mask, inputs, ops.cast(lowest, inputs.dtype)), axis=1)
        return ops.where(ops.any(mask, axis=1), largest, ops.zeros_like(largest))
