"""Vectors of tokens from their characters: layers for sequences, applied to the characters of each token."""

import keras
from keras import ops

from layers.pooling import MaskedMaxPooling


@keras.saving.register_keras_serializable(package="unroll")
class OverTokens(keras.layers.Wrapper):
    """Applies a layer that turns a sequence into a vector to the characters of each token.

        y_bt = layer(x_bt1 ... x_btc)

    All tokens of a batch are one batch of the inner layer. `keras.layers.TimeDistributed` calls its layer once per
    token instead.

    Args:
        layer: called as layer(inputs [n, characters, features], mask=mask [n, characters]) -> [n, units], such as a
            recurrent layer or `MaxOfConvolutions`.

    Shapes:
        inputs: float [batch, time, characters, features]
        mask: bool [batch, time, characters], True for valid characters; all valid if not given
        -> float [batch, time, units]

    Example:
        >>> OverTokens(keras.layers.GRU(5))(keras.random.normal((2, 3, 4, 8))).shape
        (2, 3, 5)
    """

    def __init__(self, layer, **kwargs):
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, inputs_shape, mask_shape=None):
        if not self.layer.built:
            self.layer.build((None, *inputs_shape[2:]))
        self.built = True

    def call(self, inputs, mask=None, training=False):
        batch, time, characters = ops.shape(inputs)[:3]
        features = inputs.shape[3]
        if mask is None:
            mask = ops.ones((batch, time, characters), dtype="bool")
        flat = ops.reshape(inputs, (batch * time, characters, features))
        flat_mask = ops.reshape(ops.cast(mask, "bool"), (batch * time, characters))
        vectors = self.layer(flat, mask=flat_mask, training=training)  # [batch * time, units]
        return ops.reshape(vectors, (batch, time, vectors.shape[-1]))

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no axis of characters

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (*inputs_shape[:2], self.layer.compute_output_shape((None, *inputs_shape[2:]))[-1])


@keras.saving.register_keras_serializable(package="unroll")
class MaxOfConvolutions(keras.layers.Layer):
    """Convolutions over a sequence, and the largest value of each filter over the valid positions.

        y_j = max over t with m_t of relu(b_j + sum_i x_(t+i) . w_ji)

    Masked positions count as zeros, as padding does. With d features, f filters and lengths l there are sum_l (l d f +
    f) parameters.

    Source: Kim 2014, "Convolutional Neural Networks for Sentence Classification"; for characters: Ma and Hovy 2016,
    "End-to-end Sequence Labeling via Bi-directional LSTM-CNNs-CRF".

    Args:
        filters: number of filters of each length.
        lengths: numbers of positions that a filter covers.

    Shapes:
        inputs: float [batch, time, features]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float [batch, filters * number of lengths]

    Example:
        >>> MaxOfConvolutions(filters=5, lengths=(2, 3))(keras.random.normal((1, 4, 8))).shape
        (1, 10)

    Raises:
        ValueError: if filters or a length is below 1, or there are no lengths.
    """

    def __init__(self, filters: int, lengths: tuple[int, ...], **kwargs):
        if filters < 1 or not lengths or min(lengths) < 1:
            raise ValueError(f"filters is {filters} and lengths is {lengths}: all must be at least 1")
        super().__init__(**kwargs)
        self.supports_masking = True
        self.filters = filters
        self.lengths = tuple(lengths)
        self._convolutions = [
            keras.layers.Conv1D(
                filters, length, padding="same", activation="relu", dtype=self.dtype_policy, name=f"length_{length}"
            )
            for length in self.lengths
        ]
        self._maximum = MaskedMaxPooling(dtype=self.dtype_policy, name="maximum")

    def build(self, inputs_shape, mask_shape=None):
        for convolution in self._convolutions:
            convolution.build(inputs_shape)
        self.built = True

    def call(self, inputs, mask=None):
        if mask is not None:
            # where instead of a product: the padding may hold NaN.
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), inputs, ops.zeros_like(inputs))
        maxima = [self._maximum(convolution(inputs), mask=mask) for convolution in self._convolutions]
        return ops.concatenate(maxima, axis=-1)

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no time axis

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (inputs_shape[0], self.filters * len(self.lengths))

    def get_config(self):
        return {**super().get_config(), "filters": self.filters, "lengths": self.lengths}
