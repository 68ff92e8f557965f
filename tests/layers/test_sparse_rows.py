import numpy as np
import pytest
from keras import ops
from scipy import sparse

from layers.sparse_rows import add_rows


@pytest.mark.any_backend
def test_equals_the_product_of_two_matrices():
    rng = np.random.default_rng(0)
    matrix = sparse.random(12, 5, 0.3, format="csr", rng=rng, dtype="float32")  # some rows are empty
    index, row = rng.integers(0, 12, 40).astype("int32"), rng.integers(0, 7, 40).astype("int32")
    scale = rng.normal(size=40).astype("float32")
    expected = np.zeros((7, 5))
    np.add.at(expected, row, scale[:, None] * matrix.toarray()[index])
    assert (np.diff(matrix.indptr) == 0).any()
    arrays = [ops.convert_to_tensor(each) for each in (matrix.indptr, matrix.indices, matrix.data, index, scale, row)]
    np.testing.assert_allclose(ops.convert_to_numpy(add_rows(*arrays, 7, 5)), expected, atol=1e-6)


@pytest.mark.any_backend
def test_no_rows_give_zeros():
    none = ops.zeros((0,), "int32")
    starts, columns, values = ops.zeros((4,), "int32"), ops.zeros((2,), "int32"), ops.zeros((2,))
    result = add_rows(starts, columns, values, none, ops.zeros((0,)), none, 3, 2)
    np.testing.assert_array_equal(ops.convert_to_numpy(result), np.zeros((3, 2)))
