"""Writes rows to TFRecord shards in random order, in constant memory."""

import contextlib
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from pipelines.data.prepared import Shard
from pipelines.shards.shard_order import MAX_STREAMS
from pipelines.support.errors import UserError

_SHARD_BYTES = 2**25  # a shard is shuffled in memory
_MAX_SHARDS = 12 * MAX_STREAMS  # all are open at a time, and macOS allows a process 256 files
_MAX_SHARD_BYTES = 2**32 - 1  # an index has ends of 32 bits
_HEADER = struct.Struct("<II")  # of a row in an unshuffled file: its tokens and its bytes
FRAME = (12, 4)  # bytes of a TFRecord before and after the data: length and two checksums


class Row(NamedTuple):
    """A training row.

    Attributes:
        example: a serialized tf.train.Example.
        tokens: its length, by which rows are sorted.
    """

    example: bytes
    tokens: int


def num_shards(num_bytes: int, multiple: int = MAX_STREAMS) -> int:
    """Returns the number of shards for about `num_bytes` bytes of examples.

    Args:
        multiple: the number is a multiple of it. `shard_order.Order` needs MAX_STREAMS.
    """
    wanted = -(-num_bytes // (_SHARD_BYTES * multiple)) * multiple
    return min(max(wanted, multiple), _MAX_SHARDS)


def features(**values: list[int] | list[bytes]) -> bytes:
    """Returns a serialized tf.train.Example of lists, each of integers or of strings."""
    lists = {name: _feature(each) for name, each in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString(deterministic=True)


def _feature(values: list[int] | list[bytes]) -> tf.train.Feature:
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(folder: Path, rows: Iterable[Row], count: int, seed: int) -> list[Shard]:
    """Writes the shards and their indices.

    Of every `count` rows, each shard gets one; then each shard is shuffled. The same rows in the same order and the
    same seed give the same bytes.

    Args:
        folder: exists.
        count: number of shards.

    Returns:
        The shards. Their numbers of rows differ by one at most, the longer ones first.

    Raises:
        UserError: a shard would have more than 4 GiB.
    """
    names = [f"train-{i:05}-of-{count:05}.tfrecord" for i in range(count)]
    unshuffled = [folder / f"{name}.unshuffled" for name in names]
    _deal(unshuffled, rows, np.random.default_rng([seed, 0]))
    shards = []
    for i, (path, name) in enumerate(zip(unshuffled, names, strict=True)):
        shards.append(_shuffle(path, folder / name, np.random.default_rng([seed, 1, i])))
        path.unlink()
    return shards


def _deal(paths: list[Path], rows: Iterable[Row], rng: np.random.Generator) -> None:
    """Writes the rows to the files: of every len(paths) rows, one to each, in random order."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(path, "wb", buffering=2**16)) for path in paths]
        waiting: list[Row] = []

        def write_waiting():
            for file, i in zip(files, rng.permutation(len(waiting)), strict=False):
                row = waiting[i]
                file.write(_HEADER.pack(row.tokens, len(row.example)) + row.example)
            waiting.clear()

        for row in rows:
            waiting.append(row)
            if len(waiting) == len(files):
                write_waiting()
        write_waiting()


def _shuffle(path: Path, shard: Path, rng: np.random.Generator) -> Shard:
    """Writes the rows of a file to a TFRecord in random order, and its index."""
    rows = list(_read(path))
    index = np.zeros((len(rows), 2), np.uint32)
    end = 0
    with tf.io.TFRecordWriter(str(shard)) as writer:
        for i, chosen in enumerate(rng.permutation(len(rows))):
            row = rows[chosen]
            writer.write(row.example)
            end += len(row.example) + sum(FRAME)
            if end > _MAX_SHARD_BYTES:
                raise UserError(f"{shard.name} would have more than 4 GiB: divide the data and prepare each part")
            index[i] = end, row.tokens
    made = Shard(shard.name, len(rows), int(index[:, 1].sum(dtype=np.int64)))
    np.save(shard.parent / made.index, index)
    return made


def _read(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    position = 0
    while position < len(data):
        tokens, size = _HEADER.unpack_from(data, position)
        position += _HEADER.size + size
        yield Row(data[position - size : position], tokens)
