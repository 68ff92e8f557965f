"""Sequences as rows: one axis for the positions of all sequences.

TensorFlow computes a product of two matrices, and the sum with a bias after it, as one operation. A product of a tensor
with three axes and a matrix is two dozen of them.
"""

from keras import ops


def as_rows(x):
    """Converts [batch, time, depth] to [batch * time, depth]."""
    return ops.reshape(x, (-1, x.shape[-1]))


def as_sequences(rows, x, shape=None):
    """Converts rows [batch * time, depth] to [batch, time, *shape] with the batch and time of x.

    Args:
        rows: of `as_rows`; its depth may be another than that of x.
        x: [batch, time, ...].
        shape: of a position; (depth,) by default.
    """
    # A single step of a decoding needs no sizes that are known only at run time.
    batch, time = (-1, 1) if x.shape[1] == 1 else ops.shape(x)[:2]
    return ops.reshape(rows, (batch, time, *(shape or rows.shape[-1:])))
