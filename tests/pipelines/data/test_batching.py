import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import batching
from pipelines.text.tokenizers import train_tokenizer


@pytest.fixture
def lengths():
    return np.random.default_rng(0).integers(1, 500, size=1003)


def test_every_row_occurs_once(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=0)
    assert sorted(order) == list(range(1003))


def test_the_order_is_a_pure_function_of_seed_and_epoch(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=3)
    np.testing.assert_array_equal(order, batching.bucketed_order(lengths, 32, seed=1, epoch=3))
    assert (order != batching.bucketed_order(lengths, 32, seed=1, epoch=4)).any()
    assert (order != batching.bucketed_order(lengths, 32, seed=2, epoch=3)).any()


def test_batches_have_little_padding_and_are_not_sorted_by_length(lengths):
    order = batching.bucketed_order(lengths, 32, seed=1, epoch=0)
    batches = [lengths[order[i : i + 32]] for i in range(0, 992, 32)]
    padding = 1 - sum(batch.sum() for batch in batches) / sum(batch.max() * 32 for batch in batches)
    assert padding < 0.1
    longest = [batch.max() for batch in batches]
    assert longest != sorted(longest)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_rows_than_a_batch_are_one_batch(rows):
    assert sorted(batching.bucketed_order(np.ones(rows, int), 32, 1, 0)) == list(range(rows))


def test_batches_are_padded_to_their_longest_row():
    ids = tf.ragged.constant([[1], [2, 2], [3, 3, 3]], dtype=tf.int32)
    batches = list(batching.padded_batches(ids, np.array([0, 1, 2]), np.array([2, 0, 1]), 2).as_numpy_iterator())
    assert [batch[0].tolist() for batch in batches] == [[[3, 3, 3], [1, 0, 0]], [[2, 2]]]
    assert [batch[1].tolist() for batch in batches] == [[2, 0], [1]]


def test_autotuning_is_off_so_that_no_thread_delays_the_end_of_an_epoch():
    ids = tf.ragged.constant([[1], [2, 3]])
    batches = batching.padded_batches(ids, np.array([0, 1]), np.array([1, 0]), 2)
    assert not batches.options().autotune.enabled
    assert not batches.take(1).options().autotune.enabled, "nor in a dataset that Keras makes of it"


def test_texts_are_encoded_in_their_order():
    texts = np.array(["the plot was dull", "a dull film", "", "the film"] * 7, dtype=object)
    tokenizer = train_tokenizer("character", texts, 100, 200)
    encoded = batching.encode_texts(tokenizer.encode, texts, batch_size=3)
    assert encoded.to_list() == tokenizer.encode(tf.constant(texts)).to_list()


@pytest.mark.parametrize("batch_tokens", [40, 100, 1000])
def test_batches_of_a_token_plan_have_at_most_that_number_of_tokens_with_padding(lengths, batch_tokens):
    short = lengths[lengths <= 40]
    plan = batching.token_plan(short, batch_tokens)
    ordered = np.sort(short)
    assert [first for first, _ in plan] == [0, *(last for _, last in plan[:-1])] and plan[-1][1] == len(short)
    assert max((last - first) * ordered[last - 1] for first, last in plan) <= batch_tokens


@pytest.mark.parametrize("batch_tokens", [1, 7, 40, 173, 10**6])
def test_a_token_plan_is_that_of_adding_rows_one_by_one(lengths, batch_tokens):
    for rows in (lengths, lengths[:1], lengths[:0], np.full(20, 7, np.uint32)):
        ranges, first = [], 0
        for row, length in enumerate(np.sort(rows).tolist()):
            if (row + 1 - first) * length > batch_tokens and row > first:
                ranges.append((first, row))
                first = row
        assert batching.token_plan(rows, batch_tokens) == [*ranges, (first, len(rows))]


def test_a_row_that_is_longer_than_a_batch_is_a_batch_of_its_own():
    assert batching.token_plan(np.array([7]), 5) == [(0, 1)]
    assert batching.token_plan(np.array([2, 9, 2]), 5) == [(0, 2), (2, 3)]


def test_every_epoch_of_a_token_plan_has_every_row_once_in_another_order(lengths):
    plan = batching.token_plan(lengths, 2000)
    first, again, second = (batching.token_order(lengths, plan, 3, epoch) for epoch in (0, 0, 1))
    for batches in (first, second):
        assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
        assert sorted(map(len, batches)) == sorted(last - start for start, last in plan)
        assert all(len(rows) * lengths[rows].max() <= 2000 for rows in batches)
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in second]
