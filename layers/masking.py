"""The masked softmax that attention and pooling share."""

import keras
from keras import ops


def masked_softmax(scores, mask=None):
    """Softmax over the last axis, over the positions where the mask is True.

    The softmax is computed in float32 at least: a sum of many terms in bfloat16 loses the small ones.

    Args:
        scores: float [..., time].
        mask: bool (or a number, nonzero for True), broadcast against scores; all positions count if not given.

    Returns:
        float32 (or float64) [..., time]. Masked positions get exactly 0; a row without a True position is all zeros.
    """
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    if mask is None:
        return _softmax(scores)
    # A sum and a product are faster than two selections by a mask that is broadcast. -1e30 absorbs every score, so that
    # e^(score - maximum) is exactly 0.
    valid = ops.cast(ops.cast(mask, "bool"), scores.dtype)
    has_valid = ops.max(valid, axis=-1, keepdims=True)  # 0 for a row without a True position
    return _softmax(scores + (valid - 1) * 1e30) * has_valid


def _softmax(scores):
    # Keras warns about a softmax over one position; a sequence may have one token.
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores)
