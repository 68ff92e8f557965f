"""The Transformer block of checkpoints: the same numbers as TransformerEncoderBlock, with fewer operations."""

import keras
from keras import ops

from layers import TransformerEncoderBlock
from layers.masking import masked_softmax


@keras.saving.register_keras_serializable(package="unroll")
class FlatEncoderBlock(TransformerEncoderBlock):
    """TransformerEncoderBlock, whose matrix products have two axes: [batch * time, d].

    TensorFlow computes a product of two matrices and the sum with a bias after it as one operation, with oneDNN also
    GELU. A product of a tensor with three axes has an operation between them. With dropout, rotary positions or a
    normalization before the sublayers, the block computes as its base class.

    Source, arguments, shapes and errors: those of TransformerEncoderBlock.
    """

    def call(self, inputs, mask=None, return_weights=False):
        """Returns what TransformerEncoderBlock returns: float [batch, time, d]; with the weights if asked for."""
        if self.dropout or self.attention_dropout or self.rotary or self.norm != "post":
            return super().call(inputs, mask=mask, return_weights=return_weights)
        y, weights = self._attend(inputs, mask)
        x = self._add_residual(self._attention_norm, inputs, y)
        y = self._feed_forward._network(ops.reshape(x, (-1, x.shape[-1])))  # [batch * time, d]
        x = self._add_residual(self._feed_forward_norm, x, ops.reshape(y, ops.shape(x)))
        return (x, weights) if return_weights else x

    def _attend(self, inputs, mask):
        """Returns the self-attention's output, [batch, time, d], and its weights, float32 [batch, H, time, time]."""
        attention, (batch, time, depth) = self._self_attention, ops.shape(inputs)
        dim = depth // self.num_heads
        flat = ops.reshape(inputs, (-1, depth))

        def heads(dense, axes):
            return ops.transpose(ops.reshape(dense(flat), (batch, time, self.num_heads, dim)), axes)

        q, v = heads(attention._query, (0, 2, 1, 3)), heads(attention._value, (0, 2, 1, 3))  # [batch, H, time, D]
        scores = ops.matmul(q * dim**-0.5, heads(attention._key, (0, 2, 3, 1)))  # [batch, H, time, time]
        weights = masked_softmax(scores, None if mask is None else ops.expand_dims(mask, (1, 2)))
        context = ops.transpose(ops.matmul(ops.cast(weights, self.compute_dtype), v), (0, 2, 1, 3))
        return ops.reshape(attention._output(ops.reshape(context, (-1, depth))), (batch, time, depth)), weights
