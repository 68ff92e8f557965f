"""A long text of prepared data: its ids in files of equal size, read where they are needed.

A text that is read in order has no rows to shuffle, so that its shards are plain int32 files, not TFRecords.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipelines.data.prepared import Prepared, Shard

_BYTES = 4  # per id
_TOKENS_PER_FILE = 2**26
VALID = "valid.ids"  # the ids of the validation text


def write(folder: Path, ids: Iterable[np.ndarray], tokens_per_file: int = _TOKENS_PER_FILE) -> list[Shard]:
    """Writes ids, int32 [n], to files of `tokens_per_file` ids; the last one may have fewer.

    Returns:
        The files.
    """
    shards: list[Shard] = []
    for piece, starts_file in _pieces(ids, tokens_per_file):
        if starts_file:
            shards.append(Shard(f"train-{len(shards):05}.ids", 0, 0))
        with open(folder / shards[-1].name, "ab") as file:
            file.write(piece.astype(np.int32).tobytes())
        shards[-1] = dataclasses.replace(shards[-1], tokens=shards[-1].tokens + len(piece))
    return shards


def _pieces(ids: Iterable[np.ndarray], tokens_per_file: int) -> Iterator[tuple[np.ndarray, bool]]:
    """Yields the ids in pieces of one file each, and whether the piece is the first of its file."""
    position = 0
    for array in ids:
        while len(array):
            room = tokens_per_file - position % tokens_per_file
            yield array[:room], room == tokens_per_file
            position += len(array[:room])
            array = array[room:]


class IdFiles:
    """The ids of several files, as one sequence that is read from the disk in slices.

    Unlike a file that is mapped into memory, it never holds more than what is asked for.
    """

    def __init__(self, data: Prepared):
        self._paths = [data.folder / shard.name for shard in data.shards]
        self._starts = np.cumsum([0, *(shard.tokens for shard in data.shards)])
        self._files: list[int] = []

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, where: slice) -> np.ndarray:
        """Returns the ids of a slice without a step, int32 [n]."""
        start, stop, _ = where.indices(len(self))
        if not self._files:
            self._files = [os.open(path, os.O_RDONLY) for path in self._paths]
        first, last = np.searchsorted(self._starts, [start, max(stop - 1, start)], side="right") - 1
        parts = [np.zeros(0, np.int32)]
        for i in range(first, min(last + 1, len(self._files))):
            begin, end = max(start, self._starts[i]), min(stop, self._starts[i + 1])
            data = os.pread(self._files[i], int(max(end - begin, 0)) * _BYTES, int(begin - self._starts[i]) * _BYTES)
            parts.append(np.frombuffer(data, np.int32))
        return np.concatenate(parts)


@dataclasses.dataclass(frozen=True)
class ShardedText:
    """A text of prepared data.

    Attributes:
        data: the prepared data.
        characters: number of characters.
        beginning: its first characters.
    """

    data: Prepared
    characters: int
    beginning: str = ""

    def pieces(self) -> Iterator[str]:
        """Yields the beginning of the text; the rest is there only as ids."""
        yield self.beginning
