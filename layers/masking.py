"""What attentions and poolings share: a softmax that leaves places out."""

import keras
from keras import ops


def masked_softmax(scores, mask=None):
    """Softmax over the last axis in float32, over the places that the bool mask admits: zeros where it admits none."""
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    # Not ops.softmax: it warns where the axis has one place, and a sequence may have one token.
    if mask is None:
        return ops.exp(ops.log_softmax(scores))
    return ops.where(mask, ops.exp(ops.log_softmax(ops.where(mask, scores, -1e30))), 0.0)
