"""The order of batches of at most N tokens from prepared data: a pure function of (seed, epoch), in which any step is
found without reading the batches before it.

Each shard, a random sample of all rows, is divided into batches of similar length as data in memory is: its plan
depends on the lengths of its rows alone, so that every epoch has the same number of steps. In each epoch the rows of
equal length of a shard are shuffled, the shards are put into random groups, and the batches of a group are shuffled.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from pipelines.data import batching, part

GROUP = 8  # shards whose batches are shuffled together, and whose indices are in memory
_SHARDS, _ROWS, _BATCHES = range(3)  # what a random order is of: part of its seed


@dataclasses.dataclass(frozen=True)
class Plans:
    """How the rows of shards are divided into batches.

    Attributes:
        lengths: number of a shard -> the lengths of its rows, int [rows].
        batch_tokens: see `batching.token_plan`.
        max_length: longer rows are in no batch.
        rows: number of rows of each shard that are not longer.
        steps: number of batches of each shard.
    """

    lengths: Callable[[int], np.ndarray]
    batch_tokens: int
    max_length: int
    rows: tuple[int, ...]
    steps: tuple[int, ...]


def plans_of(num_shards: int, lengths: Callable[[int], np.ndarray], batch_tokens: int, max_length: int) -> Plans:
    """Returns the plans of shards. Reads the lengths of all rows once, a shard at a time.

    For the arguments see `Plans`.
    """
    rows, steps = [], []
    for shard in range(num_shards):
        plan = _plan(lengths(shard), batch_tokens, max_length)
        rows.append(plan[-1][1] if plan else 0)
        steps.append(len(plan))
    return Plans(lengths, batch_tokens, max_length, tuple(rows), tuple(steps))


def _plan(lengths: np.ndarray, batch_tokens: int, max_length: int) -> list[tuple[int, int]]:
    short = lengths[lengths <= max_length]
    return batching.token_plan(short, batch_tokens) if len(short) else []


class TokenOrder:
    """The rows of every batch of an epoch, as pairs (number of the shard, row in it).

    Attributes:
        steps: number of batches, the same in every epoch.
    """

    def __init__(self, plans: Plans, seed: int, epoch: int):
        self._plans, self._seed = plans, (seed, epoch)
        self.steps = sum(plans.steps)

    def batches(self, skip: int = 0, of: part.Part | None = None) -> Iterator[np.ndarray]:
        """Yields the rows of each batch from step `skip` on, int [rows, 2], or those of one worker.

        Args:
            of: the worker; None: all rows.
        """
        of = of or part.Part()
        shards = self._random(_SHARDS).permutation(len(self._plans.steps)).tolist()
        first_step = 0
        for first in range(0, len(shards), GROUP):
            group = shards[first : first + GROUP]
            steps = sum(self._plans.steps[shard] for shard in group)
            if skip < first_step + steps:
                for rows in self._group(group, max(0, skip - first_step)):
                    yield rows[of.rows(len(rows))]
            first_step += steps

    def _group(self, group: list[int], skip: int) -> Iterator[np.ndarray]:
        """Yields the batches of some shards, without the first `skip`."""
        batches = [(shard, i) for shard in group for i in range(self._plans.steps[shard])]
        ordered = {shard: self._shard(shard) for shard in group}
        for i in self._random(_BATCHES, group[0]).permutation(len(batches))[skip:]:
            shard, number = batches[i]
            rows, plan = ordered[shard]
            chosen = rows[slice(*plan[number])]
            yield np.stack([np.full(len(chosen), shard), chosen], axis=1)

    def _shard(self, shard: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Returns the rows of a shard, those of equal length shuffled, int32 [rows], and the ranges of its batches."""
        lengths = self._plans.lengths(shard)
        shuffled = self._random(_ROWS, shard).permutation(len(lengths)).astype(np.int32)
        rows = shuffled[np.argsort(lengths[shuffled], kind="stable")]
        return rows, _plan(lengths, self._plans.batch_tokens, self._plans.max_length)

    def _random(self, kind: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([*self._seed, kind, number])
