"""Attention of recurrent encoder-decoders: from a query and a sequence of values to a context and its weights.

The mask is always an argument, because Keras can lose an implicit mask without a warning.

To add a score, write its functions and add one entry to SCORES.
"""

from collections.abc import Callable
from typing import NamedTuple

import keras
from keras import ops

from layers.masking import masked_softmax


class Score(NamedTuple):
    """How attention compares queries with keys. Each function gets the `Attention` layer, which holds the weights."""

    build: Callable  # (layer, query_size, value_size) -> None: creates the weights; ValueError if the sizes do not fit
    keys: Callable  # (layer, value [batch, Tv, n]) -> keys [batch, Tv, ...]
    scores: Callable  # (layer, queries [batch, Tq, m], keys) -> scores [batch, Tq, Tv]
    has_units: bool = False  # whether the score has a hidden layer, whose size is `units`


def _build_additive(layer, query_size, value_size):
    units = layer.units or query_size
    layer.query_kernel = layer.add_weight((query_size, units), "glorot_uniform", name="query_kernel")
    layer.key_kernel = layer.add_weight((value_size, units), "glorot_uniform", name="key_kernel")
    layer.score_vector = layer.add_weight((units, 1), "glorot_uniform", name="score_vector")


def _build_general(layer, query_size, value_size):
    layer.key_kernel = layer.add_weight((value_size, query_size), "glorot_uniform", name="key_kernel")


def _check_equal_sizes(layer, query_size, value_size):
    if query_size != value_size:
        raise ValueError(
            f"score {layer.score!r} needs queries and values of one size: {query_size} and {value_size} differ"
        )


def _projected_keys(layer, value):
    return ops.matmul(value, ops.cast(layer.key_kernel, value.dtype))  # [batch, Tv, units or m]


def _value_as_keys(layer, value):
    return value


def _additive_scores(layer, queries, keys):
    # einsum, because XLA cannot differentiate matmul's Tensordot in a loop with an unknown batch size
    queries = ops.einsum("bqm,mu->bqu", queries, layer.query_kernel)  # [batch, Tq, units]
    hidden = ops.tanh(ops.expand_dims(queries, 2) + ops.expand_dims(keys, 1))  # [batch, Tq, Tv, units]
    return ops.einsum("bqsu,uo->bqs", hidden, layer.score_vector)


def _dot_scores(layer, queries, keys):
    return ops.matmul(queries, ops.swapaxes(keys, 1, 2))


def _scaled_dot_scores(layer, queries, keys):
    # Scaled before the product, which would overflow in float16.
    return _dot_scores(layer, queries * queries.shape[-1] ** -0.5, keys)


SCORES = {
    "additive": Score(_build_additive, _projected_keys, _additive_scores, has_units=True),
    "dot": Score(_check_equal_sizes, _value_as_keys, _dot_scores),
    "scaled_dot": Score(_check_equal_sizes, _value_as_keys, _scaled_dot_scores),
    "general": Score(_build_general, _projected_keys, _dot_scores),
}
ATTENTION_SCORES = tuple(SCORES)


@keras.saving.register_keras_serializable(package="unroll")
class Attention(keras.layers.Layer):
    """Attention of a query over a sequence of values, global or, with a window, local around a predicted position.

        additive    e_ts = v . tanh(W1 q_t + k_s),    k_s = W2 x_s
        dot         e_ts = q_t . x_s
        scaled_dot  e_ts = q_t . x_s / sqrt(m)
        general     e_ts = q_t . k_s,                 k_s = W x_s

        a_ts = softmax over the valid s of e_ts
        context_t = sum_s a_ts x_s

    `additive` is also the "concat" score of Luong et al.: W1 and W2 side by side are the W of that paper.

    With `window` D (local-p in that paper) each query predicts a position p_t in its row of true length S. The softmax
    is over the valid positions with |s - p_t| <= D, s = 0 ... S-1. A Gaussian then weights it, so the weights sum to
    less than 1:

        p_t = S sigmoid(v_p . tanh(W_p q_t))
        a_ts = softmax(e_ts) exp(-(s - p_t)^2 / (2 sigma^2)),     sigma = D / 2

    A window needs its padding at the end of the sequence. A row without a valid position has zero weights and a zero
    context. The softmax is computed in float32 at least, whatever the dtype policy. In float16, large queries and
    values overflow in dot; scaled_dot scales before the product.

    Parameters, for queries of size m, values of size n and u units: additive u (m + n + 1), dot and scaled_dot 0,
    general m n; a window adds m^2 + m.

    Source: additive: Bahdanau, Cho and Bengio 2015, "Neural machine translation by jointly learning to align and
    translate"; dot, general and the window: Luong, Pham and Manning 2015, "Effective approaches to attention-based
    neural machine translation"; the scale: Vaswani et al. 2017, "Attention Is All You Need".

    Args:
        score: one of ATTENTION_SCORES: "additive", "dot", "scaled_dot" or "general".
        units: for additive only, the size of its hidden layer; the query's size if not given.
        window: D, at least 1; attention is global if not given.

    Shapes:
        query: float [batch, m] or [batch, Tq, m]
        value: float [batch, Tv, n]; for dot and scaled_dot n = m
        mask: bool [batch, Tv], True for the valid positions of value; all valid if not given
        keys: float [batch, Tv, ...], from `project(value)`; computed if not given
        return_weights: whether to return (context, weights)
        -> context [batch, n] or [batch, Tq, n]; weights [batch, Tv] or [batch, Tq, Tv]

    Example:
        >>> attention = Attention("additive", units=8)
        >>> context, weights = attention(np.ones((2, 4)), np.ones((2, 5, 3)), return_weights=True)
        >>> context.shape, weights.shape
        ((2, 3), (2, 5))

    Raises:
        ValueError: for an unknown score, units below 1 or with a score other than additive, a window below 1, or a mask
            of another rank; from `build`, for dot and scaled_dot if the sizes of query and value differ.
    """

    def __init__(self, score: str = "additive", units: int | None = None, window: int | None = None, **kwargs):
        if score == "concat":
            raise ValueError("score is 'concat': use 'additive', which is the same equation")
        if score not in SCORES:
            raise ValueError(f"score is {score!r}: it must be one of {', '.join(SCORES)}")
        if units is not None and not SCORES[score].has_units:
            raise ValueError(f"units is {units}: score {score!r} has no hidden layer, leave units out")
        if units is not None and units < 1:
            raise ValueError(f"units is {units}: it must be at least 1")
        if window is not None and window < 1:
            raise ValueError(f"window is {window}: it must be at least 1")
        super().__init__(**kwargs)
        self.score = score
        self.units = units
        self.window = window
        self.supports_masking = True

    def build(self, query_shape, value_shape):
        query_size = query_shape[-1]
        SCORES[self.score].build(self, query_size, value_shape[-1])
        if self.window is not None:
            self.position_kernel = self.add_weight((query_size, query_size), "glorot_uniform", name="position_kernel")
            self.position_vector = self.add_weight((query_size, 1), "glorot_uniform", name="position_vector")

    def project(self, value):
        """Returns the keys [batch, Tv, ...] of a value, for `call(..., keys=keys)`: once for all steps of a decoding.

        The layer must be built. A functional model does not track calls of this method; use `AttentionDecoder` there.

        Raises:
            ValueError: if the layer is not built.
        """
        if not self.built:
            raise ValueError(
                f"{self.name} is not built: call it or build(query_shape, value_shape) before project(value)"
            )
        return SCORES[self.score].keys(self, ops.cast(value, self.compute_dtype))

    def call(self, query, value, mask=None, keys=None, return_weights=False):
        if mask is not None and len(mask.shape) != 2:
            raise ValueError(f"mask has shape {tuple(mask.shape)}: it must be [batch, Tv]")
        keys = SCORES[self.score].keys(self, value) if keys is None else keys
        is_single_query = len(query.shape) == 2
        queries = ops.expand_dims(query, 1) if is_single_query else query  # [batch, Tq, m]
        precise = keras.backend.result_type(self.compute_dtype, "float32")
        scores = ops.cast(SCORES[self.score].scores(self, queries, keys), precise)  # [batch, Tq, Tv]
        if mask is None:
            mask = ops.ones_like(scores[:, :1], dtype="bool")
        else:
            mask = ops.expand_dims(ops.cast(mask, "bool"), 1)  # [batch, 1, Tv]
        weights = ops.cast(self._weights(queries, scores, mask), self.compute_dtype)  # [batch, Tq, Tv]
        context = ops.matmul(weights, value)  # [batch, Tq, n]
        if is_single_query:
            context, weights = context[:, 0], weights[:, 0]
        return (context, weights) if return_weights else context

    def _weights(self, queries, scores, mask):
        """The attention weights, float [batch, Tq, Tv], of scores [batch, Tq, Tv] under a mask [batch, 1, Tv]."""
        if self.window is None:
            return masked_softmax(scores, mask)
        length = ops.sum(ops.cast(mask, scores.dtype), axis=-1, keepdims=True)  # [batch, 1, 1]
        hidden = ops.tanh(ops.einsum("bqm,mu->bqu", queries, self.position_kernel))  # [batch, Tq, m]
        fraction = ops.sigmoid(ops.cast(ops.einsum("bqu,uo->bqo", hidden, self.position_vector), scores.dtype))
        center = length * fraction  # [batch, Tq, 1]
        distance = ops.cast(ops.arange(ops.shape(scores)[-1]), scores.dtype) - center  # [batch, Tq, Tv]
        inside = ops.logical_and(mask, ops.abs(distance) <= self.window)
        sigma = self.window / 2
        return masked_softmax(scores, inside) * ops.exp(-ops.square(distance) / (2 * sigma**2))

    def compute_mask(self, *inputs):
        return None  # masks are arguments here; an implicit mask stops at this layer

    def compute_output_spec(self, query, value, mask=None, keys=None, return_weights=False):
        context = keras.KerasTensor((*query.shape[:-1], value.shape[-1]), dtype=self.compute_dtype)
        weights = keras.KerasTensor((*query.shape[:-1], value.shape[1]), dtype=self.compute_dtype)
        return (context, weights) if return_weights else context

    def get_config(self):
        return {**super().get_config(), "score": self.score, "units": self.units, "window": self.window}


@keras.saving.register_keras_serializable(package="unroll")
class BahdanauAttention(Attention):
    """`Attention("additive", units)`: a network with one hidden layer compares the query with every position.

        e_ts = v . tanh(W1 q_t + W2 x_s)

    Source: Bahdanau, Cho and Bengio 2015, "Neural machine translation by jointly learning to align and translate".

    Args:
        units: size of the hidden layer.

    Shapes and errors: those of `Attention`.

    Example:
        >>> attention = BahdanauAttention(8)
        >>> context, weights = attention(np.ones((2, 4)), np.ones((2, 5, 3)), return_weights=True)
        >>> context.shape, weights.shape
        ((2, 3), (2, 5))
    """

    def __init__(self, units: int, **kwargs):
        super().__init__("additive", units=units, **kwargs)

    def get_config(self):
        config = super().get_config()
        del config["score"]
        return config


@keras.saving.register_keras_serializable(package="unroll")
class LuongAttention(Attention):
    """`Attention` whose score is by default "general", with or without a window.

        general     e_ts = q_t . W x_s
        dot         e_ts = q_t . x_s
        scaled_dot  e_ts = q_t . x_s / sqrt(m)

    Source: Luong, Pham and Manning 2015, "Effective approaches to attention-based neural machine translation". The
    "concat" score of that paper is called "additive" here.

    Args:
        score: as in `Attention`.
        window: as in `Attention`.

    Shapes and errors: those of `Attention`.

    Example:
        >>> attention = LuongAttention("general", window=2)
        >>> context, weights = attention(np.ones((2, 4)), np.ones((2, 5, 3)), return_weights=True)
        >>> context.shape, weights.shape
        ((2, 3), (2, 5))
    """

    def __init__(self, score: str = "general", window: int | None = None, **kwargs):
        super().__init__(score, window=window, **kwargs)
