"""The encoder and decoder blocks of Transformers."""

from typing import Any

import keras
from keras import ops

from layers.edits import replaced, scaled
from layers.multi_head_attention import CachedMultiHeadAttention
from layers.rows import as_rows, as_sequences

_ACTIVATIONS = {"relu": ops.relu, "gelu": keras.activations.gelu, "swiglu": ops.silu}


class _FeedForward(keras.layers.Layer):
    """A network with one hidden layer, applied to each position.

        relu, gelu:  y = f(x W1 + b1) W2 + b2
        swiglu:      y = (silu(x W1 + b1) * (x W3 + b3)) W2 + b2

    Source: relu: Vaswani et al. 2017; gelu (exact, not the tanh approximation): Hendrycks and Gimpel 2016; swiglu:
    Shazeer 2020, "GLU Variants Improve Transformer".
    """

    def __init__(self, intermediate_size, activation, kernel_initializer, **kwargs):
        super().__init__(**kwargs)
        self.intermediate_size = intermediate_size
        self.activation = activation
        self.kernel_initializer = kernel_initializer
        self.supports_masking = True

    def build(self, inputs_shape):
        depth, size = inputs_shape[-1], self.intermediate_size
        self._hidden = self._dense(size, depth, "hidden")
        self._gate = self._dense(size, depth, "gate") if self.activation == "swiglu" else None
        self._output = self._dense(depth, size, "output")

    def _dense(self, units, inputs, name):
        dense = keras.layers.Dense(
            units, kernel_initializer=self.kernel_initializer.clone(), dtype=self.dtype_policy, name=name
        )
        dense.build((None, None, inputs))
        return dense

    def call(self, inputs):
        rows = as_rows(inputs)  # [batch * time, depth]
        hidden = _ACTIVATIONS[self.activation](self._hidden(rows))  # [batch * time, intermediate_size]
        if self._gate is not None:
            hidden = hidden * self._gate(rows)
        return as_sequences(self._output(hidden), inputs)  # [batch, time, depth]

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


class _TransformerBlock(keras.layers.Layer):
    """The arguments, the normalization and the residual connections that both blocks share.

    post:  x = norm(x + dropout(f(x)))
    pre:   x = x + dropout(f(norm(x)))
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_size: int,
        dropout: float = 0.0,
        activation: str = "relu",
        norm: str = "post",
        attention_dropout: float = 0.0,
        rotary: bool = False,
        norm_epsilon: float = 1e-5,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        if num_heads < 1:
            raise ValueError(f"num_heads is {num_heads}: it must be at least 1")
        if intermediate_size < 1:
            raise ValueError(f"intermediate_size is {intermediate_size}: it must be at least 1")
        for name, rate in (("dropout", dropout), ("attention_dropout", attention_dropout)):
            if not 0 <= rate < 1:
                raise ValueError(f"{name} is {rate}: it must be at least 0 and below 1")
        if activation not in _ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}: it must be one of {', '.join(_ACTIVATIONS)}")
        if norm not in ("post", "pre"):
            raise ValueError(f"norm is {norm!r}: it must be post or pre")
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.intermediate_size = intermediate_size
        self.dropout = dropout
        self.activation = activation
        self.norm = norm
        self.attention_dropout = attention_dropout
        self.rotary = rotary
        self.norm_epsilon = norm_epsilon
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self._drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def _attention(self, shape, name, value_shape=None, **options):
        attention = CachedMultiHeadAttention(
            self.num_heads,
            dropout=self.attention_dropout,
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name=name,
            **options,
        )
        attention.build(shape, value_shape)
        return attention

    def _layer_norm(self, shape, name):
        norm = keras.layers.LayerNormalization(epsilon=self.norm_epsilon, dtype=self.dtype_policy, name=name)
        norm.build(shape)
        return norm

    def _build_feed_forward(self, shape):
        self._feed_forward = _FeedForward(
            self.intermediate_size,
            self.activation,
            self.kernel_initializer,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self._feed_forward.build(shape)
        self._feed_forward_norm = self._layer_norm(shape, "feed_forward_norm")

    def _sublayer_input(self, norm, x):
        return norm(x) if self.norm == "pre" else x

    def _add_residual(self, norm, x, y, edits=None, sublayer=""):
        y = scaled(edits, f"{sublayer}_output", self._drop(y))
        x = scaled(edits, f"{sublayer}_residual", x) + y
        return norm(x) if self.norm == "post" else x

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "intermediate_size": self.intermediate_size,
            "dropout": self.dropout,
            "activation": self.activation,
            "norm": self.norm,
            "attention_dropout": self.attention_dropout,
            "rotary": self.rotary,
            "norm_epsilon": self.norm_epsilon,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


@keras.saving.register_keras_serializable(package="unroll")
class TransformerEncoderBlock(_TransformerBlock):
    """Self-attention, then a feed-forward network, each with a residual connection and a layer normalization.

        post:  h = norm1(x + attention(x)),  y = norm2(h + ffn(h))
        pre:   h = x + attention(norm1(x)),  y = h + ffn(norm2(h))
        ffn:   f(x W1 + b1) W2 + b2 for relu and gelu,  (silu(x W1 + b1) * (x W3 + b3)) W2 + b2 for swiglu

    Parameters, for d features and m = `intermediate_size`: 4 d (d + 1) for the attention, 4 d for the norms, and
    (d + 1) m + (m + 1) d for the network, (d + 1) m more with swiglu.

    Source: `post`: Vaswani et al. 2017, "Attention Is All You Need", section 3.1; `pre`: Xiong et al. 2020, "On Layer
    Normalization in the Transformer Architecture", which trains without warm-up and needs one more normalization after
    the last block; swiglu: Shazeer 2020, "GLU Variants Improve Transformer" (in the paper without biases).

    Args:
        num_heads: number of attention heads; it must divide d.
        intermediate_size: m.
        dropout: dropout rate of each sublayer's output, in training.
        activation: "relu", "gelu" or "swiglu".
        norm: "post" or "pre".
        attention_dropout: dropout rate of the attention weights, in training.
        rotary: whether to rotate queries and keys by their positions (see RotaryEmbedding).
        norm_epsilon: added to the variance.
        kernel_initializer: of all matrices.

    Shapes:
        inputs: float [batch, time, d]
        mask: bool [batch, time], True for valid positions; all valid if not given
        return_weights: whether to return (outputs, weights)
        edits: what to change (see edits.py): of "hidden", the outputs, [batch, time, d]; "attention", the weights; and
            factors of "head" [batch, heads, time, 1], and of "attention_output", "attention_residual",
            "feed_forward_output" and "feed_forward_residual", f(x) and x of both sublayers, [batch, time, d]
        -> outputs: float [batch, time, d]; weights: float [batch, heads, time, time]

    Example:
        >>> ids = keras.ops.convert_to_tensor([[5, 6, 0]])
        >>> x = keras.layers.Embedding(10, 8)(ids)
        >>> y = TransformerEncoderBlock(num_heads=2, intermediate_size=32)(x, mask=ids != 0)

    Raises:
        ValueError: if num_heads or intermediate_size is below 1, a dropout is outside [0, 1), the activation or the
            norm is unknown, or num_heads does not divide d.
    """

    def build(self, inputs_shape):
        self._self_attention = self._attention(inputs_shape, "self_attention", rotary=self.rotary)
        self._attention_norm = self._layer_norm(inputs_shape, "attention_norm")
        self._build_feed_forward(inputs_shape)

    def call(self, inputs, mask=None, return_weights=False, edits=None):
        y = self._sublayer_input(self._attention_norm, inputs)
        y, weights = self._self_attention(y, mask=mask, return_weights=True, edits=edits)  # [batch, heads, time, time]
        x = self._add_residual(self._attention_norm, inputs, y, edits, "attention")
        y = self._feed_forward(self._sublayer_input(self._feed_forward_norm, x))
        x = replaced(edits, "hidden", self._add_residual(self._feed_forward_norm, x, y, edits, "feed_forward"))
        return (x, weights) if return_weights else x

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def compute_output_spec(self, inputs, mask=None, return_weights=False):
        outputs = keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)
        batch, time, _ = inputs.shape
        weights = keras.KerasTensor((batch, self.num_heads, time, time), dtype=self.compute_dtype)
        return (outputs, weights) if return_weights else outputs


@keras.saving.register_keras_serializable(package="unroll")
class TransformerDecoderBlock(_TransformerBlock):
    """Causal self-attention, cross-attention over an encoder's outputs, then a feed-forward network.

        post:  h = norm1(x + self(x)),  h = norm2(h + cross(h, z)),  y = norm3(h + ffn(h))
        pre:   h = x + self(norm1(x)),  h = h + cross(norm2(h), z),  y = h + ffn(norm3(h))

    A block that is built without encoder outputs z has no cross-attention: it is the block of a language model.

    Parameters: those of TransformerEncoderBlock and, with cross-attention over depth dz, 2 d (d + 1) + 2 d (dz + 1) + 2
    d more.

    Source: those of TransformerEncoderBlock; Vaswani et al. 2017, figure 1, right half.

    Decoding: `cache = initial_cache(batch, max_length, encoder_outputs, encoder_mask)`, which keeps the mask as well.
    Then `call(steps, cache=cache, position=position)` returns the outputs that a full pass would give at these
    positions, and the cache with these steps. The first axis of every tensor in a cache is the batch, so a beam search
    can gather its rows. Prompts of different lengths, padded on the right, are one call from position 0. Each row then
    continues at its own length. A common `slot` for all rows makes this faster, and with `hypotheses` the k hypotheses
    of a beam search share a row of the cache (see CachedMultiHeadAttention).

    Args: those of TransformerEncoderBlock; `rotary` is for the self-attention only.

    Shapes:
        inputs: float [batch, time, d]
        encoder_outputs: float [batch, source_time, dz]
        mask: bool [batch, time], valid positions of the inputs; padding on the right needs no mask. With `slot`: bool
            [batch, max_length], the slots that each row may attend to
        encoder_mask: bool [batch, source_time], valid positions of the encoder's outputs
        cache: {"self": keys and values, "cross": keys and values of the encoder and their mask, with cross-attention
            only}, from initial_cache
        position: int [batch] or [], the number of steps before these, with `cache`
        slot: int [], the slot that all rows write a single step to, if it is not the position
        hypotheses: int [], k, with `slot`: inputs [batch * k, 1, d] for a cache of `batch` rows; `mask` is then bool
            [batch, k, max_length]
        edits: those of TransformerEncoderBlock; the attention and its heads are those of the self-attention
        -> float [batch, time, d]; then, if return_weights, {"self": [batch, heads, time, time or max_length],
            "cross": [batch, heads, time, source_time]}; then, if a cache was given, the new cache

    Example:
        >>> block = TransformerDecoderBlock(num_heads=2, intermediate_size=32, norm="pre")
        >>> x = keras.random.normal((1, 3, 8))
        >>> outputs = block(x)
        >>> cache = block.initial_cache(1, max_length=3)
        >>> first, cache = block(x[:, :1], cache=cache, position=[0])  # equals outputs[:, :1]

    Raises:
        ValueError: the errors of TransformerEncoderBlock; for encoder outputs without cross-attention, and for
            cross-attention without encoder outputs or a cache; for a cache without position, with a mask but no slot,
            with encoder outputs, or shorter than the steps.
    """

    def build(self, inputs_shape, encoder_outputs_shape=None):
        self._self_attention = self._attention(inputs_shape, "self_attention", causal=True, rotary=self.rotary)
        self._attention_norm = self._layer_norm(inputs_shape, "attention_norm")
        self._cross_attention: Any = None
        if encoder_outputs_shape is not None:
            self._cross_attention = self._attention(inputs_shape, "cross_attention", encoder_outputs_shape)
            self._cross_norm = self._layer_norm(inputs_shape, "cross_norm")
        self._build_feed_forward(inputs_shape)

    def call(
        self,
        inputs,
        encoder_outputs=None,
        mask=None,
        encoder_mask=None,
        cache=None,
        position=None,
        slot=None,
        hypotheses=None,
        return_weights=False,
        edits=None,
    ):
        self._check_arguments(encoder_outputs, mask, encoder_mask, cache, slot)
        self_cache = None if cache is None else cache["self"]
        weights = {}

        y = self._sublayer_input(self._attention_norm, inputs)
        y, weights["self"], *new_self_cache = self._self_attention(
            y,
            mask=mask,
            cache=self_cache,
            position=position,
            slot=slot,
            hypotheses=hypotheses,
            return_weights=True,
            edits=edits,
        )
        x = self._add_residual(self._attention_norm, inputs, y, edits, "attention")  # [batch, time, d]

        if self._cross_attention is not None:
            if cache is None:
                projected = self._cross_attention.project(encoder_outputs)
            else:
                projected, encoder_mask = cache["cross"], cache["cross"]["mask"]
            y = self._sublayer_input(self._cross_norm, x)
            y, weights["cross"] = self._cross_attention(
                y, projected=projected, mask=encoder_mask, hypotheses=hypotheses, return_weights=True
            )
            x = self._add_residual(self._cross_norm, x, y)

        y = self._feed_forward(self._sublayer_input(self._feed_forward_norm, x))
        x = replaced(edits, "hidden", self._add_residual(self._feed_forward_norm, x, y, edits, "feed_forward"))

        results = [x]
        if return_weights:
            results.append(weights)
        if cache is not None:
            results.append({**cache, "self": new_self_cache[0]})
        return tuple(results) if len(results) > 1 else x

    def initial_cache(self, batch_size, max_length, encoder_outputs=None, encoder_mask=None):
        """Returns an empty cache for at most max_length steps per row; batch_size may be a tensor.

        The layer must be built. A functional model does not track calls of this method.
        """
        if not self.built:
            raise ValueError(f"{self.name} is not built: call it or build(inputs_shape, encoder_outputs_shape) first")
        if (encoder_outputs is None) != (self._cross_attention is None):
            raise ValueError("encoder_outputs must be given if and only if the block has cross-attention")
        cache = {"self": self._self_attention.initial_cache(batch_size, max_length)}
        if encoder_outputs is not None:
            cache["cross"] = self._cross_attention.project(encoder_outputs)
            if encoder_mask is None:
                encoder_mask = ops.ones(ops.shape(encoder_outputs)[:2])
            cache["cross"]["mask"] = ops.cast(encoder_mask, "bool")
        return cache

    def _check_arguments(self, encoder_outputs, mask, encoder_mask, cache, slot):
        if self._cross_attention is None and (encoder_outputs is not None or encoder_mask is not None):
            raise ValueError("this block was built without encoder outputs: it has no cross-attention")
        if cache is None:
            if self._cross_attention is not None and encoder_outputs is None:
                raise ValueError(
                    "this block was built with encoder outputs: give encoder_outputs, or a cache with them"
                )
        elif encoder_outputs is not None or encoder_mask is not None:
            raise ValueError(
                "the cache already holds the encoder's outputs and their mask: give them to initial_cache only"
            )
        elif mask is not None and slot is None:
            raise ValueError("mask with a cache needs a slot: without a slot, position determines the valid slots")

    def compute_mask(self, inputs, previous_mask=None):
        # A mask of slots for each hypothesis says nothing about the outputs.
        return None if previous_mask is None or len(previous_mask.shape) == 3 else previous_mask

    def compute_output_shape(self, inputs_shape, encoder_outputs_shape=None):
        return inputs_shape

    def compute_output_spec(
        self,
        inputs,
        encoder_outputs=None,
        mask=None,
        encoder_mask=None,
        cache=None,
        position=None,
        slot=None,
        hypotheses=None,
        return_weights=False,
    ):
        self._check_arguments(encoder_outputs, mask, encoder_mask, cache, slot)
        batch, time, _ = inputs.shape
        results = [keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)]
        if return_weights:
            keys = {"self": time if cache is None else cache["self"]["key"].shape[2]}
            if self._cross_attention is not None:
                keys["cross"] = encoder_outputs.shape[1] if cache is None else cache["cross"]["key"].shape[2]
            shapes = {name: (batch, self.num_heads, time, length) for name, length in keys.items()}
            results.append({name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in shapes.items()})
        if cache is not None:
            results.append(keras.tree.map_structure(lambda x: keras.KerasTensor(x.shape, dtype=x.dtype), cache))
        return tuple(results) if len(results) > 1 else results[0]
