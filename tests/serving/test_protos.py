import numpy as np
import pytest
import tensorflow as tf

from serving import protos

DTYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "c8", "?"]


@pytest.mark.parametrize(
    "array",
    [
        *(np.arange(6).reshape(2, 3).astype(dtype) for dtype in DTYPES),
        np.array([[b"a", b"\xff"]], object),
        np.array(3.5, np.float32),
        np.zeros([0, 2], np.int64),
        np.array([np.nan, -np.inf], np.float32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_tensors_are_in_the_fields_that_clients_expect(array):
    proto = protos.to_proto(array)
    np.testing.assert_array_equal(tf.make_ndarray(proto), array)
    assert tf.make_ndarray(proto).dtype == array.dtype and proto.HasField("tensor_shape")
    if array.dtype == np.float32:
        assert len(proto.float_val) == array.size and not proto.tensor_content
