"""Batches from shards: the rows of the order, from any step on, for one worker or several."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import part, prepared
from pipelines.data.prepared import Contents
from pipelines.shards import shard_batches, shard_order, shard_writer

ROWS = 300


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Prepared data whose row i has the ids [i, i, ...]."""
    folder = tmp_path_factory.mktemp("prepared")
    lengths = np.random.default_rng(0).integers(1, 40, ROWS).tolist()
    rows = (shard_writer.Row(shard_writer.features(ids=[i] * n), n) for i, n in enumerate(lengths))
    shards = shard_writer.write(folder, rows, 32, seed=3)
    prepared.write_manifest(folder, "classification", {}, Contents({}, shards, {"train": ROWS}, {}, {}))
    return prepared.find(str(folder), "classification")


def parse(examples):
    ids = tf.io.parse_example(examples, {"ids": tf.io.RaggedFeature(tf.int64)})["ids"]
    return tf.gather(ids.flat_values, ids.row_starts()), ids.row_lengths()


def read(data, skip=0, of=None, epoch=0, seed=1):
    with part.computed(of or part.Part()):
        made = shard_batches.batches(data, 32, seed, epoch, skip, parse)
    return [tuple(each.numpy() for each in batch) for batch in made]


def test_an_epoch_has_every_row_once(data):
    batches = read(data)
    assert sorted(np.concatenate([ids for ids, _ in batches]).tolist()) == list(range(ROWS))
    assert [len(ids) for ids, _ in batches] == [32] * 9 + [12]


def test_the_rows_are_those_of_the_order(data):
    indices = shard_order.indices_of(data)
    order = shard_order.order_of(data, indices, 32, 1, 0)
    for (_, lengths), rows in zip(read(data), order.batches(), strict=True):
        assert lengths.tolist() == [int(indices(shard)[row, 1]) for shard, row in rows]


@pytest.mark.parametrize("skip", [1, 5, 9, 10])
def test_skipping_is_dropping_batches(data, skip):
    expected, found = read(data)[skip:], read(data, skip)
    assert [ids.tolist() for ids, _ in found] == [ids.tolist() for ids, _ in expected]


def test_keras_knows_how_many_batches_are_left(data):
    assert shard_batches.batches(data, 32, 1, 0, 3, parse).cardinality().numpy() == 7


@pytest.mark.parametrize("count", [2, 3])
def test_the_parts_of_all_workers_are_the_batches_of_one(data, count):
    parts = [read(data, 2, part.Part(i, count)) for i in range(count)]
    for (ids, _), *of_workers in zip(read(data, 2), *parts, strict=True):
        assert np.concatenate([each for each, *_ in of_workers]).tolist() == ids.tolist()
        assert all((weights == 1).all() for *_, weights in of_workers)


def test_a_worker_without_rows_reads_one_that_does_not_count(data):
    parts = [read(data, 9, part.Part(i, 13)) for i in range(13)]  # the last batch has 12 rows
    rows = [(len(ids), weights.tolist()) for ((ids, _, weights),) in parts]
    assert rows.count((1, [1.0])) == 12 and rows.count((1, [0.0])) == 1


def test_epochs_and_seeds_differ_and_repeat(data):
    first = [ids.tolist() for ids, _ in read(data)]
    assert first == [ids.tolist() for ids, _ in read(data)]
    assert first != [ids.tolist() for ids, _ in read(data, epoch=1)]
    assert first != [ids.tolist() for ids, _ in read(data, seed=2)]


def test_few_files_are_open_at_a_time(data, monkeypatch):
    monkeypatch.setattr(shard_batches, "_MAX_OPEN", 3)
    assert sorted(np.concatenate([ids for ids, _ in read(data)]).tolist()) == list(range(ROWS))


def test_the_first_examples_are_of_all_shards_and_limited(data):
    sample = parse(tf.constant(shard_batches.first_examples(data, 3000)))
    assert 1500 < int(tf.reduce_sum(sample[1])) <= 3000
    assert len(np.unique(sample[0])) == len(sample[0]) >= 32
    everything = parse(tf.constant(shard_batches.first_examples(data, 10**6)))
    assert sorted(everything[0].numpy().tolist()) == list(range(ROWS))
