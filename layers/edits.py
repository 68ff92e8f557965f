"""Changes of what layers compute: values that are set, and factors. A layer without edits computes what it always does.

The edits of a layer are a dict: quantity -> (is_set, value), two tensors that broadcast to the quantity.
"""

from keras import ops


def replaced(edits, name: str, x):
    """Returns x with the values that are set for the quantity.

    Args:
        edits: quantity -> (is_set bool, value float), or None.
        name: of the quantity.
    """
    if not edits or name not in edits:
        return x
    is_set, value = edits[name]
    return ops.where(is_set, ops.cast(value, x.dtype), x)


def scaled(edits, name: str, x):
    """Returns x times the factors of the quantity, where they are set; for the arguments see `replaced`."""
    if not edits or name not in edits:
        return x
    is_set, factor = edits[name]
    return ops.multiply(x, ops.where(is_set, ops.cast(factor, x.dtype), ops.ones((), x.dtype)))
