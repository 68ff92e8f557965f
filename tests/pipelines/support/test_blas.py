import numpy as np  # noqa: F401  (loads a library of matrix products)
from threadpoolctl import threadpool_info

from pipelines.support.blas import one_thread


def num_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_matrix_products_have_one_thread_within_the_block_only():
    before = num_threads()
    with one_thread():
        assert set(num_threads()) == {1}
    assert num_threads() == before
