"""Multi-head attention with a key/value cache for decoding step by step."""

import keras
from keras import ops

from layers.edits import replaced, scaled
from layers.masking import masked_softmax
from layers.positional import RotaryEmbedding
from layers.rows import as_rows, as_sequences


@keras.saving.register_keras_serializable(package="unroll")
class CachedMultiHeadAttention(keras.layers.Layer):
    """Multi-head attention: each head averages the values, weighted by the similarity of their keys to the query.

        q, k, v = x Wq + bq, z Wk + bk, z Wv + bv        split into heads
        weights = softmax(q k^T / sqrt(head_dim))        over the keys that the mask admits, in float32
        y = (weights v, heads joined) Wo + bo

    x is the query. z is the value; if no value is given, z is x (self-attention). With depths dx and dz and H heads of
    dimension D, there are (dx + 1) H D + 2 (dz + 1) H D + (H D + 1) dx parameters. With `rotary`, queries and keys are
    rotated by their positions (see RotaryEmbedding).

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.

    `keras.layers.MultiHeadAttention` computes the same, but it has no cache and removes the implicit mask from its
    inputs. Here the mask is an argument. A query for which the mask admits no key has zero weights. A mask does not
    remove a NaN in the padding (0 * NaN is NaN), so the padding must hold finite numbers.

    Decoding: `cache = initial_cache(batch, max_length)`, then `call(steps, cache=cache, position=position)` writes the
    keys and values of the steps into the slots position, position + 1, ... of their row. Each step attends to the slots
    up to its own. Rows may have different positions. A prompt of any length is one call from position 0. If the prompt
    is padded on the right, the row continues at its true length and overwrites the slots of the padding. Steps that do
    not fit into the cache give NaN or, for different positions in TensorFlow on a CPU, an error.

    If all rows write to the same slot, the cache is updated without a copy. This is the case if `position` is a scalar,
    or if `slot` gives the slot for all rows; then `mask` has to state which slots each row may attend to. The slot has
    to be one of the cache.

    Beam search extends k hypotheses of each row, which share most of their past. With `hypotheses`, k rows of the query
    share one row of the cache: they write to the k slots from `slot` on, and `mask` states which slots belong to the
    past of each. So a search that continues with other hypotheses changes the mask, and never moves keys and values.
    `projected` is shared in the same way.

    For cross-attention call `projected = project(value)` once, then `call(query, projected=projected)` at each step.

    Args:
        num_heads: H.
        head_dim: D; by default the query's depth divided by num_heads.
        causal: whether each step attends only to itself and earlier steps.
        rotary: whether to rotate queries and keys by their positions; for self-attention only.
        dropout: dropout rate of the weights, in training.
        use_bias: whether there are bq, bk, bv, bo.
        kernel_initializer: of the four matrices.

    Shapes:
        query: float [batch, Tq, dx]
        value: float [batch, Tk, dz]; the query if not given
        mask: bool [batch, Tk], or [batch or 1, Tq or 1, Tk]; True for the keys that the query may attend to
        projected, cache: {"key": [batch, H, Tk, D], "value": [batch, H, Tk, D]}; in a cache Tk is max_length
        position: int [batch] or [], with `cache`: position of the first of the steps, which is also its slot
        slot: int [], with `cache`, `mask` and a single step: the slot that all rows write to
        hypotheses: int [], k, with `slot` or `projected` and a single step: the query has k rows for each of their
            rows; `mask` is [batch or 1, k or 1, Tk]
        edits: what to change (see edits.py): "attention", the weights, and "head", factors [batch, H, Tq, 1] or less
        -> float [batch, Tq, dx]; then, if return_weights, the weights [batch, H, Tq, Tk]; then, with a cache, the new
            cache

    Example:
        >>> attention = CachedMultiHeadAttention(num_heads=2, causal=True)
        >>> x = keras.random.normal((1, 3, 8))
        >>> outputs = attention(x)
        >>> cache = attention.initial_cache(1, max_length=3)
        >>> first, cache = attention(x[:, :1], cache=cache, position=[0])  # equals outputs[:, :1]

    Raises:
        ValueError: for num_heads or head_dim below 1, a dropout outside [0, 1), or a depth that num_heads does not
            divide; for a cache without position, without causal, with a value, or shorter than the steps; for a slot
            without mask or for several steps; for rotary with a value; for a mask of another rank; from `initial_cache`
            and `project`, if the layer is not built.
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        if num_heads < 1:
            raise ValueError(f"num_heads is {num_heads}: it must be at least 1")
        if head_dim is not None and head_dim < 1:
            raise ValueError(f"head_dim is {head_dim}: it must be at least 1")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}: it must be at least 0 and below 1")
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.causal = causal
        self.rotary = rotary
        self.dropout = dropout
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self._rotate = RotaryEmbedding(dtype=self.dtype_policy, name="rotary") if rotary else None
        self._drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, query_shape, value_shape=None):
        depth = query_shape[-1]
        if self.head_dim is None and depth % self.num_heads:
            raise ValueError(f"depth {depth} is not divisible by num_heads {self.num_heads}: give head_dim")
        self._dim = self.head_dim or depth // self.num_heads
        if self.rotary and self._dim % 2:
            raise ValueError(f"head_dim is {self._dim}: rotary needs an even one")
        value_shape = value_shape or query_shape
        self._query = self._dense(self.num_heads * self._dim, query_shape, "query")
        self._key = self._dense(self.num_heads * self._dim, value_shape, "key")
        self._value = self._dense(self.num_heads * self._dim, value_shape, "value")
        self._output = self._dense(depth, (None, None, self.num_heads * self._dim), "output")

    def _dense(self, units, input_shape, name):
        initializer = self.kernel_initializer.clone()  # an object that is used twice returns the same numbers twice
        dense = keras.layers.Dense(
            units, use_bias=self.use_bias, kernel_initializer=initializer, dtype=self.dtype_policy, name=name
        )
        dense.build(input_shape)
        return dense

    def call(
        self,
        query,
        value=None,
        mask=None,
        projected=None,
        cache=None,
        position=None,
        slot=None,
        hypotheses=None,
        return_weights=False,
        edits=None,
    ):
        self._check_arguments(query, value, mask, projected, cache, position, slot, hypotheses)
        start = ops.cast(0 if position is None else position, "int32")  # NumPy's default is int64
        q = self._heads(self._query, query, start, hypotheses)  # [batch, H, Tq, D]
        if projected is None:
            projected = self.project(query if value is None else value, start, hypotheses)
        first_slot = start if slot is None else ops.cast(slot, "int32")
        if cache is not None:
            num_slots = ops.shape(cache["key"] if slot is None else mask)[2 if slot is None else -1]
            cache = projected = _write(cache, projected, first_slot, num_slots, hypotheses)

        time, num_keys = ops.shape(q)[2], ops.shape(projected["key"])[2]
        mask = self._full_mask(mask, time, num_keys, start if self.causal and slot is None else None)
        scores = ops.matmul(q * self._dim**-0.5, ops.transpose(projected["key"], (0, 1, 3, 2)))  # [batch, H, Tq, Tk]
        weights = replaced(edits, "attention", ops.cast(masked_softmax(scores, mask), self.compute_dtype))
        context = ops.matmul(self._drop(weights), projected["value"])  # [batch, H, Tq, D]
        context = scaled(edits, "head", context)
        if q.shape[2] != 1:
            context = ops.transpose(context, (0, 2, 1, 3))
        rows = ops.reshape(context, (-1, self.num_heads * self._dim))  # [batch * Tq, H * D]
        output = as_sequences(self._output(rows), query)

        if cache is not None and slot is None:
            # Where a scatter cannot raise, it drops the write. Then the output must not look like a result.
            fits = ops.logical_and(first_slot >= 0, first_slot + time <= num_slots)
            output = ops.where(ops.reshape(fits, (-1, 1, 1)), output, ops.cast(float("nan"), output.dtype))
        results = [output]
        if return_weights:
            results.append(weights)
        if cache is not None:
            results.append(cache)
        return tuple(results) if len(results) > 1 else output

    def project(self, value, start=0, hypotheses=None):
        """Returns keys and values of all heads, each [batch, H, Tk, D], for all steps of a decoding.

        The layer must be built.
        """
        self._check_built()
        return {
            "key": self._heads(self._key, value, start, hypotheses),
            "value": self._heads(self._value, value, hypotheses=hypotheses),
        }

    def initial_cache(self, batch_size, max_length):
        """Returns an empty cache for at most max_length steps per row; batch_size may be a tensor.

        The layer must be built. A functional model does not track calls of this method.
        """
        self._check_built()
        shape = (batch_size, self.num_heads, max_length, self._dim)
        return {"key": ops.zeros(shape, self.compute_dtype), "value": ops.zeros(shape, self.compute_dtype)}

    def _check_built(self):
        if not self.built:
            raise ValueError(f"{self.name} is not built: call it or build(query_shape) first")

    def _heads(self, dense, x, start=None, hypotheses=None):
        """[batch, time, depth] -> [batch, H, time, D], or with hypotheses [batch * k, 1, depth] -> [batch, H, k, D].

        With start, a rotary layer rotates by the positions.
        """
        x = as_sequences(dense(as_rows(x)), x, (self.num_heads, self._dim))
        if self._rotate and start is not None:
            x = self._rotate(x, start=start)
        if hypotheses is not None:
            x = ops.reshape(x, (-1, hypotheses, self.num_heads, self._dim))
        elif x.shape[1] == 1:
            return ops.reshape(x, (-1, self.num_heads, 1, self._dim))
        return ops.transpose(x, (0, 2, 1, 3))

    def _full_mask(self, mask, query_length, key_length, start):
        """Joins the mask of the keys and, with start, the causal mask: bool [batch or 1, 1, Tq or 1, Tk], or None."""
        if mask is not None:
            mask = ops.cast(mask, "bool")
            if len(mask.shape) not in (2, 3):
                raise ValueError(f"mask has shape {tuple(mask.shape)}: it must be [batch, Tk] or [batch, Tq, Tk]")
            mask = mask[:, None, None, :] if len(mask.shape) == 2 else mask[:, None, :, :]
        if start is not None:
            steps = ops.reshape(start, (-1, 1)) + ops.arange(query_length, dtype="int32")  # [batch or 1, Tq]
            causal = ops.arange(key_length, dtype="int32") <= steps[:, None, :, None]  # [batch or 1, 1, Tq, Tk]
            mask = causal if mask is None else ops.logical_and(mask, causal)
        return mask

    def _check_arguments(self, query, value, mask, projected, cache, position, slot, hypotheses):
        if hypotheses is not None and (query.shape[1] != 1 or (slot is None and projected is None)):
            raise ValueError("hypotheses need a slot or projected, and a single step")
        if slot is not None and (cache is None or mask is None or query.shape[1] != 1):
            raise ValueError("slot needs a cache, a mask of its slots, and a single step")
        if (cache is None) != (position is None):
            raise ValueError("cache and position must be given together")
        if cache is not None and not self.causal:
            raise ValueError("a cache needs causal=True: it does not hold later steps")
        if value is not None and projected is not None:
            raise ValueError("value and projected were both given: give one of them")
        if value is not None or projected is not None:
            if cache is not None:
                raise ValueError(
                    "a cache is for self-attention: for a value, give projected=project(value) and no cache"
                )
            if self.rotary:
                raise ValueError(
                    "rotary is for self-attention: positions in two sequences have no distance, give no value"
                )
        if cache is not None:
            num_steps, num_slots = query.shape[1], cache["key"].shape[2]
            if num_steps is not None and num_slots is not None and num_steps > num_slots:
                raise ValueError(f"{num_steps} steps do not fit into a cache of {num_slots} slots")

    def compute_mask(self, query, previous_mask=None):
        return None  # `mask` is about the keys, not about the outputs

    def compute_output_shape(self, query_shape, value_shape=None):
        return query_shape

    def compute_output_spec(
        self,
        query,
        value=None,
        mask=None,
        projected=None,
        cache=None,
        position=None,
        slot=None,
        hypotheses=None,
        return_weights=False,
    ):
        self._check_arguments(query, value, mask, projected, cache, position, slot, hypotheses)
        results = [keras.KerasTensor(query.shape, dtype=self.compute_dtype)]
        if return_weights:
            source = cache or projected
            keys = source["key"].shape[2] if source else (query if value is None else value).shape[1]
            shape = (query.shape[0], self.num_heads, query.shape[1], keys)
            results.append(keras.KerasTensor(shape, dtype=self.compute_dtype))
        if cache is not None:
            results.append({name: keras.KerasTensor(x.shape, dtype=x.dtype) for name, x in cache.items()})
        return tuple(results) if len(results) > 1 else results[0]

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "head_dim": self.head_dim,
            "causal": self.causal,
            "rotary": self.rotary,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def _write(cache, steps, position, num_slots, num_steps=None):
    """Returns the cache with `steps` written into the slots position, position + 1, ... of each row.

    Both hold keys and values: cache [batch, H, num_slots, D], steps [batch, H, num_steps, D]; position int [batch] or
    [].
    """
    steps = {name: ops.cast(x, cache[name].dtype) for name, x in steps.items()}
    num_steps = ops.shape(steps["key"])[2] if num_steps is None else num_steps
    if len(position.shape) == 0:
        return {name: _write_one_slot(cache[name], x, position, num_slots, num_steps) for name, x in steps.items()}
    batch, heads, _, dim = ops.shape(steps["key"])
    slots = ops.reshape(position, (-1, 1, 1)) + ops.arange(num_steps, dtype="int32")  # [batch, 1, num_steps]
    axes = [ops.arange(batch, dtype="int32")[:, None, None], ops.arange(heads, dtype="int32")[:, None], slots]
    indices = [ops.broadcast_to(x, (batch, heads, num_steps)) for x in axes]
    indices = ops.reshape(ops.stack(indices, axis=-1), (-1, 3))
    return {name: ops.scatter_update(cache[name], indices, ops.reshape(x, (-1, dim))) for name, x in steps.items()}


def _write_one_slot(cache, x, slot, num_slots, num_steps):
    """Returns the cache [batch, H, num_slots, D] with x [batch, H, num_steps, D] in slot, slot + 1, ... of all rows."""
    if keras.backend.backend() != "tensorflow":
        return ops.slice_update(cache, (0, 0, slot, 0), x)
    # In TensorFlow, slice_update is an XLA op, which TF Serving cannot run, and scatter_update copies the cache. The op
    # below does not copy the cache if nothing else refers to it. The copy would take most of the time of a step. The
    # sizes are arguments, so that all layers of a network have those of one tensor: they are computed once.
    import tensorflow as tf

    _, heads, _, dim = cache.shape
    first_axis = 0b01
    written = tf.raw_ops.TensorStridedSliceUpdate(  # on two axes, because its time grows with the number of axes
        input=ops.reshape(cache, (-1, num_slots * dim)),
        value=ops.reshape(x, (-1, num_steps * dim)),
        begin=[0, slot * dim],
        end=[0, (slot + num_steps) * dim],
        strides=[1, 1],
        begin_mask=first_axis,
        end_mask=first_axis,
    )
    return ops.reshape(written, (-1, heads, num_slots, dim))
