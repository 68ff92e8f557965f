import numpy as np
import pytest

from serving.work import Work, measure, with_max_length


def texts(*values):
    return np.array(values, object)


@pytest.mark.parametrize(
    ("inputs", "num_tokens"),
    [
        ({"text": texts(b"a", b"b"), "max_length": np.int32([20, 30])}, 50),
        ({"text": texts(b"a" * 3200), "max_length": np.int32([20])}, 100),
        ({"text": texts(b"a" * 320, b"", b"")}, 30),  # padded to the longest text
        ({"text": texts(b"a"), "max_length": np.int32([-5])}, 0),
        ({"text": texts(b"a"), "max_length": np.float32([5])}, 0),
        ({"text": texts()}, 0),
        ({"x": np.float32(1)}, 0),
        ({"max_length": np.full(1024, 2**31 - 1, np.int32)}, 1024 * (2**31 - 1)),
    ],
)
def test_the_work_is_the_length_to_generate_or_a_token_per_32_bytes(inputs, num_tokens):
    assert measure(inputs).num_tokens == num_tokens


def test_the_work_of_a_batch_pads_all_rows_to_the_longest_text():
    batch = Work(num_rows=2, num_generated=10, longest_text=64) + Work(num_rows=3, num_generated=5, longest_text=640)
    assert batch == Work(5, 15, 640) and batch.num_tokens == 100


def test_lengths_are_limited_and_keep_their_type():
    limited = with_max_length({"text": texts(b"a"), "max_length": np.int32([5, 2**31 - 1])}, 10)
    assert limited["max_length"].tolist() == [5, 10] and limited["max_length"].dtype == np.int32
    small = with_max_length({"max_length": np.int8([100])}, 10_000)["max_length"]
    assert small.tolist() == [100] and small.dtype == np.int8
    unchanged = {"text": texts(b"a")}
    assert with_max_length(unchanged, 10) is unchanged
