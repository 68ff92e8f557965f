"""Writing TFRecord shards: every row once, shuffled, the same bytes again, and an index that fits."""

import hashlib
import random

import numpy as np
import pytest
import tensorflow as tf

from pipelines.shards import shard_writer
from pipelines.shards.shard_writer import Row, features, num_shards, write
from pipelines.support.errors import UserError


def make_rows(count):
    draw = random.Random(0)
    for i in range(count):
        ids = [i] * draw.randint(1, 30)
        yield Row(features(ids=ids, label=[i % 3]), len(ids))


def ids_of(path):
    """Returns the first id of each record, as TensorFlow reads it: it checks the checksums."""
    expected = {"ids": tf.io.RaggedFeature(tf.int64)}
    return [int(tf.io.parse_single_example(each, expected)["ids"][0]) for each in tf.data.TFRecordDataset(str(path))]


@pytest.mark.parametrize("count", [0, 5, 16, 203])
def test_every_row_is_in_one_shard(tmp_path, count):
    shards = write(tmp_path, make_rows(count), 16, seed=1)
    found = [ids_of(tmp_path / shard.name) for shard in shards]
    assert sorted(row for rows in found for row in rows) == list(range(count))
    assert [len(rows) for rows in found] == [shard.rows for shard in shards]
    assert [shard.rows for shard in shards] == [count // 16 + (i < count % 16) for i in range(16)]
    assert sum(shard.tokens for shard in shards) == sum(row.tokens for row in make_rows(count))


def test_the_rows_of_a_shard_are_in_random_order(tmp_path):
    shards = write(tmp_path, make_rows(1600), 16, seed=1)
    for shard in shards:
        rows = ids_of(tmp_path / shard.name)
        assert abs(np.corrcoef(rows, np.arange(len(rows)))[0, 1]) < 0.4  # 100 rows: a standard deviation of 0.1


def test_the_index_has_the_end_and_the_length_of_each_record(tmp_path):
    (shard, *_) = write(tmp_path, make_rows(100), 16, seed=1)
    index = np.load(tmp_path / shard.index)
    data = (tmp_path / shard.name).read_bytes()
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(tmp_path / shard.name))]
    assert index[-1, 0] == len(data)
    for (end, tokens), record in zip(index.tolist(), records, strict=True):
        assert data[end - 4 - len(record) : end - 4] == record
        assert tokens == len(tf.train.Example.FromString(record).features.feature["ids"].int64_list.value)


def checksums(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, make_rows(300), 16, seed)
    assert checksums(tmp_path / "a") == checksums(tmp_path / "b") != checksums(tmp_path / "c")
    assert len(checksums(tmp_path / "a")) == 32  # no temporary file is left


@pytest.mark.parametrize(("num_bytes", "count"), [(0, 16), (2**20, 16), (2**29 + 1, 32), (2**50, 192)])
def test_the_number_of_shards(num_bytes, count):
    assert num_shards(num_bytes) == count


@pytest.mark.parametrize(("num_bytes", "count"), [(0, 1), (2**25, 1), (2**25 + 1, 2), (2**50, 192)])
def test_the_number_of_shards_that_need_no_streams(num_bytes, count):
    assert num_shards(num_bytes, multiple=1) == count


def test_a_shard_that_is_too_large_for_its_index(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_writer, "_MAX_SHARD_BYTES", 100)
    with pytest.raises(UserError, match="divide the data"):
        write(tmp_path, make_rows(300), 16, seed=1)
