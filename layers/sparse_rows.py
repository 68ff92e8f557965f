"""Sums of rows of a sparse matrix, as operations of the graph."""

from keras import ops


def add_rows(starts, columns, values, index, scale, row, num_rows, num_columns: int):
    """Adds rows of a sparse matrix to rows of a dense one that starts with zeros.

        result[row[i]] += scale[i] matrix[index[i]]    for each i

    Args:
        starts: int32 [matrix rows + 1]: the elements of row r are those from starts[r] to starts[r + 1].
        columns, values: int32 and float [elements].
        index: row of the matrix, int32 [n].
        scale: float [n].
        row: row of the result, int32 [n].
        num_rows, num_columns: shape of the result.

    Returns:
        float [num_rows, num_columns].
    """
    first = ops.take(starts, index)
    sizes = ops.take(starts, index + 1) - first
    ends = ops.cumsum(sizes)  # where the elements of each row end, one row after the other
    place = ops.arange(ops.sum(sizes), dtype="int32")  # [elements of all n rows]
    which = ops.searchsorted(ends, place, side="right")
    place = place + ops.take(first - ends + sizes, which)
    cell = ops.take(row, which) * num_columns + ops.take(columns, place)
    total = ops.segment_sum(ops.take(scale, which) * ops.take(values, place), cell, num_rows * num_columns)
    return ops.reshape(total, (-1, num_columns))
