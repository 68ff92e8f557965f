"""Ids in files of equal size: one sequence, read in slices."""

import random

import numpy as np
import pytest

from pipelines.data import id_files, prepared, streams
from pipelines.data.id_files import IdFiles, ShardedText
from pipelines.data.prepared import Contents


def make(folder, pieces, tokens_per_file):
    shards = id_files.write(folder, pieces, tokens_per_file)
    prepared.write_manifest(folder, "char-lm", {}, Contents({}, shards, {}, {}, {}))
    return prepared.find(str(folder), "char-lm")


def pieces_of(ids, seed=0):
    choose = random.Random(seed)
    while len(ids):
        size = choose.randint(0, 40)
        yield ids[:size]
        ids = ids[size:]


@pytest.mark.parametrize(
    ("count", "per_file", "files"), [(0, 10, 0), (9, 10, 1), (10, 10, 1), (100, 30, 4), (90, 30, 3)]
)
def test_the_files_have_all_ids_in_order(tmp_path, count, per_file, files):
    ids = np.arange(count, dtype=np.int32) * 3
    data = make(tmp_path, pieces_of(ids), per_file)
    assert len(data.shards) == files and all(shard.tokens == per_file for shard in data.shards[:-1])
    read = b"".join((tmp_path / shard.name).read_bytes() for shard in data.shards)
    assert np.array_equal(np.frombuffer(read, np.int32), ids)
    assert len(IdFiles(data)) == count


def test_a_slice_is_that_of_the_array(tmp_path):
    ids = np.random.default_rng(0).integers(0, 10**6, 200).astype(np.int32)
    found = IdFiles(make(tmp_path, pieces_of(ids), 30))
    choose = random.Random(1)
    for start, stop in [(0, 200), (0, 0), (29, 31), (30, 60), (199, 200), (200, 200), (150, 500), (-7, None)]:
        assert np.array_equal(found[start:stop], ids[start:stop])
    for _ in range(200):
        start = choose.randint(0, 199)
        stop = choose.randint(start, 210)
        assert np.array_equal(found[start:stop], ids[start:stop]) and found[start:stop].dtype == np.int32


@pytest.mark.parametrize("skip", [0, 3])
def test_the_batches_are_those_of_an_array(tmp_path, skip):
    ids = np.random.default_rng(0).integers(4, 50, 1000).astype(np.int32)
    files = IdFiles(make(tmp_path, pieces_of(ids), 130))
    expected = list(streams.batches(ids, 4, 16, seed=1, epoch=2, skip=skip))
    found = list(streams.batches(files, 4, 16, seed=1, epoch=2, skip=skip))
    assert len(found) == len(expected) == streams.steps_per_epoch(1000, 4, 16) - skip
    for pair in zip(found, expected, strict=True):
        for mine, other in zip(*pair, strict=True):
            assert np.array_equal(mine, other)


def test_a_sharded_text_yields_its_beginning(tmp_path):
    text = ShardedText(make(tmp_path, [], 10), 1000, "It begins")
    assert list(text.pieces()) == ["It begins"] and text.characters == 1000
