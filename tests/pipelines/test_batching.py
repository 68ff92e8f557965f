import numpy as np
import pytest
import tensorflow as tf

from pipelines import batching


@pytest.fixture
def lengths():
    return np.random.default_rng(0).integers(1, 500, size=1003)


def test_every_row_once_and_the_short_batch_last(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=0)
    assert sorted(order) == list(range(1003))
    assert batching.steps_per_epoch(1003, 32) == 32


def test_a_pure_function_of_seed_and_epoch(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=3)
    np.testing.assert_array_equal(order, batching.bucketed_order(lengths, 32, seed=1, epoch=3))
    assert (order != batching.bucketed_order(lengths, 32, seed=1, epoch=4)).any()
    assert (order != batching.bucketed_order(lengths, 32, seed=2, epoch=3)).any()


def test_little_padding_and_no_order_of_lengths(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=0)
    batches = [lengths[order[i : i + 32]] for i in range(0, 992, 32)]
    padding = 1 - sum(batch.sum() for batch in batches) / sum(batch.max() * 32 for batch in batches)
    assert padding < 0.1
    longest = [batch.max() for batch in batches]
    assert longest != sorted(longest)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_rows_than_a_batch(rows):
    assert sorted(batching.bucketed_order(np.ones(rows, int), 32, 1, 0)) == list(range(rows))


def test_padded_batches():
    ids = tf.ragged.constant([[1], [2, 2], [3, 3, 3]], dtype=tf.int32)
    batches = list(batching.padded_batches(ids, np.array([0, 1, 2]), np.array([2, 0, 1]), 2).as_numpy_iterator())
    assert [batch[0].tolist() for batch in batches] == [[[3, 3, 3], [1, 0, 0]], [[2, 2]]]
    assert [batch[1].tolist() for batch in batches] == [[2, 0], [1]]


def test_no_thread_of_a_tuner_to_wait_for_when_an_epoch_ends():
    ids = tf.ragged.constant([[1], [2, 3]])
    batches = batching.padded_batches(ids, np.array([0, 1]), np.array([1, 0]), 2)
    assert not batches.options().autotune.enabled
    assert not batches.take(1).options().autotune.enabled, "whatever Keras makes of them"
