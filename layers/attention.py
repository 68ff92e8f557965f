"""Attention of recurrent encoder-decoders: from a query and a sequence to one vector, and where that vector came from.

The mask is an argument, always: an implicit Keras mask can be lost on the way without a word.
"""

import keras
from keras import ops

from layers.masking import masked_softmax

_SCORES = ("dot", "scaled_dot", "general", "concat")


class _Attention(keras.layers.Layer):
    """What the two attentions share: weights_ts = softmax_s score(query_t, keys_s), context_t = sum_s weights_ts value_s.

    The softmax is taken in float32 at least, whatever the dtype policy.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, *inputs):
        return None  # the masks here are arguments; an implicit one goes no further

    def project(self, value):
        """The keys [batch, Tv, ...] of a value, for `call(..., keys=keys)`: computed once for all steps of a decoding.

        The layer must have been built. In a functional model, whose layers do not see this method, `AttentionDecoder` calls it.
        """
        if not self.built:
            raise ValueError(f"{self.name} is not built: call it or build(query_shape, value_shape) before project(value)")
        return self._keys(ops.cast(value, self.compute_dtype))

    def call(self, query, value, mask=None, keys=None, return_weights=False):
        if mask is not None and len(mask.shape) != 2:
            raise ValueError(f"mask has shape {tuple(mask.shape)}: [batch, Tv] is needed")
        keys = self._keys(value) if keys is None else keys
        single = len(query.shape) == 2
        queries = ops.expand_dims(query, 1) if single else query
        precise = keras.backend.result_type(self.compute_dtype, "float32")
        scores = ops.cast(self._scores(queries, keys), precise)
        mask = ops.ones_like(scores[:, :1], dtype="bool") if mask is None else ops.expand_dims(ops.cast(mask, "bool"), 1)
        weights = ops.cast(self._align(queries, scores, mask), self.compute_dtype)
        context = ops.matmul(weights, value)
        if single:
            context, weights = context[:, 0], weights[:, 0]
        return (context, weights) if return_weights else context

    def _align(self, queries, scores, mask):
        return masked_softmax(scores, mask)

    def compute_output_spec(self, query, value, mask=None, keys=None, return_weights=False):
        context = keras.KerasTensor((*query.shape[:-1], value.shape[-1]), dtype=self.compute_dtype)
        weights = keras.KerasTensor((*query.shape[:-1], value.shape[1]), dtype=self.compute_dtype)
        return (context, weights) if return_weights else context

    def _add_additive_weights(self, query_size, value_size, units):
        self.query_kernel = self.add_weight((query_size, units), "glorot_uniform", name="query_kernel")
        self.key_kernel = self.add_weight((value_size, units), "glorot_uniform", name="key_kernel")
        self.score_vector = self.add_weight((units, 1), "glorot_uniform", name="score_vector")

    def _additive_scores(self, queries, keys):
        # einsum, as XLA cannot differentiate matmul's Tensordot in a loop with an unknown batch
        queries = ops.einsum("bqm,mu->bqu", queries, self.query_kernel)
        hidden = ops.tanh(ops.expand_dims(queries, 2) + ops.expand_dims(keys, 1))
        return ops.einsum("bqsu,uo->bqs", hidden, self.score_vector)


@keras.saving.register_keras_serializable(package="unroll")
class BahdanauAttention(_Attention):
    """Additive attention: a one-layer network compares the query with every position.

        k_s = W2 x_s
        e_ts = v . tanh(W1 q_t + k_s)
        a_ts = softmax over the valid s of e_ts
        context_t = sum_s a_ts x_s

    A row without a valid position gets zeros, weights and context.

    Parameters, for queries of size m, values of size n and u units: u (m + n + 1).

    Source: Bahdanau, Cho and Bengio 2015, "Neural machine translation by jointly learning to align and translate".

    Args:
        units: size of the layer in which query and key meet.

    Shapes:
        query: float [batch, m] or [batch, Tq, m]
        value: float [batch, Tv, n]
        mask: bool [batch, Tv], True for the valid positions of value; all valid if not given
        keys: float [batch, Tv, units], from `project(value)`; computed if not given
        return_weights: whether to return (context, weights)
        -> context [batch, n] or [batch, Tq, n]; weights [batch, Tv] or [batch, Tq, Tv]

    Example:
        >>> attention = BahdanauAttention(8)
        >>> context, weights = attention(np.ones((2, 4)), np.ones((2, 5, 3)), return_weights=True)
        >>> context.shape, weights.shape
        ((2, 3), (2, 5))

    Raises:
        ValueError: if units is below 1, or for a mask of another rank.
    """

    def __init__(self, units: int, **kwargs):
        if units < 1:
            raise ValueError(f"units is {units}: it must be at least 1")
        super().__init__(**kwargs)
        self.units = units

    def build(self, query_shape, value_shape):
        self._add_additive_weights(query_shape[-1], value_shape[-1], self.units)

    def _keys(self, value):
        return ops.matmul(value, ops.cast(self.key_kernel, value.dtype))

    def _scores(self, queries, keys):
        return self._additive_scores(queries, keys)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="unroll")
class LuongAttention(_Attention):
    """Multiplicative attention, global or, with a window, local around a predicted position.

        dot         e_ts = q_t . x_s
        scaled_dot  e_ts = q_t . x_s / sqrt(m)
        general     e_ts = q_t . k_s,             k_s = W x_s
        concat      e_ts = v . tanh(W1 q_t + k_s), k_s = W2 x_s      (W1 and W2 side by side are the paper's W)

        a_ts = softmax over the valid s of e_ts
        context_t = sum_s a_ts x_s

    With `window` D (the paper's local-p) each query predicts a position in its row's true length S, the softmax is over the
    valid positions with |s - p_t| <= D, s = 0 ... S-1, and is then weighted by a Gaussian, so that the weights sum to under 1:

        p_t = S sigmoid(v_p . tanh(W_p q_t))
        a_ts = softmax(e_ts) exp(-(s - p_t)^2 / (2 sigma^2)),     sigma = D / 2

    There the padding must be behind the sequence. A row without a valid position gets zeros, weights and context. In float16
    large queries and values overflow in dot; scaled_dot scales before the product.

    Parameters, for queries of size m, values of size n and u units: dot and scaled_dot 0, general m n, concat u (m + n + 1);
    a window adds m^2 + m.

    Source: Luong, Pham and Manning 2015, "Effective approaches to attention-based neural machine translation"; the scale is
    that of Vaswani et al. 2017.

    Args:
        score: "dot", "scaled_dot", "general" or "concat".
        units: for concat alone, the size of the layer in which query and key meet; the query's size if not given.
        window: D, at least 1; global attention if not given.

    Shapes:
        query: float [batch, m] or [batch, Tq, m]
        value: float [batch, Tv, n]; for dot and scaled_dot n = m
        mask: bool [batch, Tv], True for the valid positions of value; all valid if not given
        keys: float [batch, Tv, ...], from `project(value)`; computed if not given
        return_weights: whether to return (context, weights)
        -> context [batch, n] or [batch, Tq, n]; weights [batch, Tv] or [batch, Tq, Tv]

    Example:
        >>> attention = LuongAttention("general", window=2)
        >>> context, weights = attention(np.ones((2, 4)), np.ones((2, 5, 3)), return_weights=True)
        >>> context.shape, weights.shape
        ((2, 3), (2, 5))

    Raises:
        ValueError: for an unknown score, units without concat or below 1, a window below 1, a mask of another rank; and, when built, for dot and
            scaled_dot with a query and a value of different sizes.
    """

    def __init__(self, score: str = "general", units: int | None = None, window: int | None = None, **kwargs):
        if score not in _SCORES:
            raise ValueError(f"score is {score!r}: it must be one of {', '.join(_SCORES)}")
        if units is not None and (score != "concat" or units < 1):
            raise ValueError(f"units is {units} with score {score!r}: it goes with concat alone, and is at least 1")
        if window is not None and window < 1:
            raise ValueError(f"window is {window}: it must be at least 1")
        super().__init__(**kwargs)
        self.score = score
        self.units = units
        self.window = window

    def build(self, query_shape, value_shape):
        query_size, value_size = query_shape[-1], value_shape[-1]
        if self.score == "general":
            self.key_kernel = self.add_weight((value_size, query_size), "glorot_uniform", name="key_kernel")
        elif self.score == "concat":
            self._add_additive_weights(query_size, value_size, self.units or query_size)
        elif query_size != value_size:
            raise ValueError(f"score {self.score!r} compares a query of size {query_size} with values of size {value_size}")
        if self.window is not None:
            self.position_kernel = self.add_weight((query_size, query_size), "glorot_uniform", name="position_kernel")
            self.position_vector = self.add_weight((query_size, 1), "glorot_uniform", name="position_vector")

    def _keys(self, value):
        return ops.matmul(value, ops.cast(self.key_kernel, value.dtype)) if self.score in ("general", "concat") else value

    def _scores(self, queries, keys):
        if self.score == "concat":
            return self._additive_scores(queries, keys)
        if self.score == "scaled_dot":
            queries = queries * queries.shape[-1] ** -0.5  # before the product, which would overflow in float16
        return ops.matmul(queries, ops.swapaxes(keys, 1, 2))

    def _align(self, queries, scores, mask):
        if self.window is None:
            return masked_softmax(scores, mask)
        length = ops.sum(ops.cast(mask, scores.dtype), axis=-1, keepdims=True)
        hidden = ops.tanh(ops.einsum("bqm,mu->bqu", queries, self.position_kernel))
        center = length * ops.sigmoid(ops.cast(ops.einsum("bqu,uo->bqo", hidden, self.position_vector), scores.dtype))
        distance = ops.cast(ops.arange(ops.shape(scores)[-1]), scores.dtype) - center
        inside = ops.logical_and(mask, ops.abs(distance) <= self.window)
        sigma = self.window / 2
        return masked_softmax(scores, inside) * ops.exp(-ops.square(distance) / (2 * sigma**2))

    def get_config(self):
        return {**super().get_config(), "score": self.score, "units": self.units, "window": self.window}
