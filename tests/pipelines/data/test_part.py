"""Every row of a batch belongs to one worker, and each worker reads its rows alone."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import batching, streams
from pipelines.data.part import Part, computed, current
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.masking import masked_batches


def parts_of(count):
    return [Part(i, count) for i in range(count)]


@pytest.mark.parametrize("size, count", [(0, 2), (1, 3), (2, 3), (33, 2), (10, 4), (7, 7)])
def test_the_parts_cover_a_batch(size, count):
    rows = np.arange(size)
    parts = [rows[part.rows(size)] for part in parts_of(count)]
    assert np.concatenate(parts).tolist() == rows.tolist()
    sizes = [part.size(size) for part in parts_of(count)]
    assert sizes == list(map(len, parts))
    assert max(sizes) - min(sizes) <= 1


def test_the_current_part_is_that_of_the_context():
    assert current() == Part()
    with computed(Part(1, 3)):
        assert current() == Part(1, 3)
    assert current() == Part()


def test_a_worker_without_rows_has_one_that_does_not_count():
    rows = tf.constant([5, 6])
    parts = [batching.rows_of_part(part, rows) for part in parts_of(3)]
    assert [own.numpy().tolist() for own, _ in parts] == [[5], [5], [6]]
    assert [weights[0].numpy().tolist() for _, weights in parts] == [[0], [1], [1]]
    own, weights = batching.rows_of_part(Part(), rows)
    assert own is rows and weights == []


def test_padded_batches_of_the_workers_are_those_of_one():
    ids = tf.ragged.constant([[i] * (i % 4 + 1) for i in range(1, 11)], tf.int32)
    labels, order = np.arange(10), np.random.default_rng(0).permutation(10)

    def read(part):
        with computed(part):
            return list(batching.padded_batches(ids, labels, order, 3))

    whole = read(Part())
    divided = [read(part) for part in parts_of(2)]
    for step, (texts, classes) in enumerate(whole):
        counted = [worker[step][2].numpy() > 0 for worker in divided]
        rows = [worker[step][0].numpy()[is_row] for worker, is_row in zip(divided, counted)]
        own_labels = [worker[step][1].numpy()[is_row] for worker, is_row in zip(divided, counted)]
        assert np.concatenate(own_labels).tolist() == classes.numpy().tolist()
        assert [row[row > 0].tolist() for part in rows for row in part] == [
            row[row > 0].tolist() for row in texts.numpy()
        ]


def test_streams_of_the_workers_are_those_of_one():
    ids = np.arange(1000, dtype=np.int32)

    def read(part):
        with computed(part):
            return list(streams.batches(ids, 5, 16, seed=1, epoch=2, skip=3).as_numpy_iterator())

    whole, divided = read(Part()), [read(part) for part in parts_of(3)]
    for step, batch in enumerate(whole):
        for i in range(2):
            np.testing.assert_array_equal(np.concatenate([worker[step][i] for worker in divided]), batch[i])


def test_masked_windows_of_the_workers_are_those_of_one():
    config = EncoderConfig(batch_size=5, window=16).resolve()
    ids = np.random.default_rng(1).integers(4, 50, 1000).astype(np.int32)

    def read(part):
        with computed(part):
            return list(masked_batches(config, 50, ids, epoch=1, skip=2).as_numpy_iterator())

    whole, divided = read(Part()), [read(part) for part in parts_of(2)]
    for step, (inputs, targets) in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([worker[step][1] for worker in divided]), targets)
        for name, value in inputs.items():
            np.testing.assert_array_equal(np.concatenate([worker[step][0][name] for worker in divided]), value)
