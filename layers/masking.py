"""What attentions and poolings share: a softmax that leaves places out."""

import keras
from keras import ops


def masked_softmax(scores, mask=None):
    """Softmax over the last axis in float32, over the places that the bool mask admits: zeros where it admits none."""
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    if mask is None:
        return _softmax(scores)
    return ops.where(mask, _softmax(ops.where(mask, scores, -1e30)), 0.0)


def _softmax(scores):
    # Keras warns of a softmax over one place; a sequence may have one token.
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores)
