"""The two passes over sentence pairs that may be larger than memory. What they keep has a bounded size."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from pipelines.data.pairs import Chunks, Pairs
from pipelines.data.splits import comparable, validation_rows
from pipelines.shards import first_pass
from pipelines.shards.first_pass import Sample
from pipelines.shards.held_out import LowestRows, fraction_of_candidates, hashes

MAX_HELD_OUT = 10_000  # validation pairs, which are scored after every epoch, or test pairs
_MAX_CANDIDATES = 2**19  # pairs from which the validation pairs are chosen
_MAX_SAMPLE = 10_000_000  # characters from which the tokenizers are made: SentencePiece needs many bytes for each
REPEATED = "left out of training, the same source sentence is in validation"


@dataclasses.dataclass(frozen=True)
class Survey:
    """What is known about all pairs after the first pass.

    Attributes:
        rows: number of pairs.
        characters: number of their characters.
        dropped: reason -> number of pairs that were left out while reading.
        held_out: hashes of the source sentences that are held out for validation, uint64, sorted.
        held_out_sources: hashes of the source sentences of validation, in the sense of `comparable`.
        sample: a random sample of the training pairs; all of them if they are few.
    """

    rows: int
    characters: int
    dropped: dict[str, int]
    held_out: np.ndarray
    held_out_sources: frozenset[int]
    sample: list[tuple[str, str]]


def survey(chunks: Iterable[Pairs], fraction: float, seed: int, held_out_sources: frozenset[int] | None) -> Survey:
    """Reads all pairs once.

    The validation pairs are those that `validation_rows` chooses, at most about MAX_HELD_OUT. Of more than
    `_MAX_CANDIDATES` pairs, it chooses among those whose source sentences have the lowest hashes, which are the first
    in its own order.

    Args:
        fraction: of the pairs to hold out.
        seed: of the sample.
        held_out_sources: of the user's own validation pairs; None holds out a part of the pairs.

    Raises:
        UserError: all source sentences are equal.
    """
    candidates, sample = LowestRows(_MAX_CANDIDATES, np.uint64), Sample(_MAX_SAMPLE, seed)
    dropped: collections.Counter = collections.Counter()
    rows = characters = 0
    for chunk in chunks:
        dropped.update(chunk.dropped)
        rows += len(chunk)
        characters += sum(map(len, chunk.source)) + sum(map(len, chunk.target))
        groups, sources = _hashes(chunk)
        if held_out_sources is None:
            candidates.add(groups, sources)
        sample.add(list(zip(chunk.source, chunk.target, strict=True)), groups, sources)
    held_out = np.zeros(0, np.uint64)
    if held_out_sources is None:
        groups, sources = candidates.columns
        chosen = validation_rows(groups, fraction_of_candidates(fraction, rows, MAX_HELD_OUT, len(candidates)))
        held_out, held_out_sources = np.unique(groups[chosen]), frozenset(sources[chosen].tolist())
    training = sample.training_rows(held_out, held_out_sources)
    return Survey(rows, characters, dict(dropped), held_out, held_out_sources, training)


def lowest(chunks: Iterable[Pairs]) -> tuple[Pairs, int]:
    """Returns the pairs whose source sentences have the lowest hashes, at most MAX_HELD_OUT, and how many others."""
    rows, others = first_pass.lowest(
        (row for chunk in chunks for row in zip(chunk.source, chunk.target, strict=True)), MAX_HELD_OUT
    )
    return Pairs.of(rows), others


def comparable_hashes(sentences: np.ndarray) -> frozenset[int]:
    """Returns the hashes of sentences, in the sense of `comparable`."""
    return frozenset(hashes(map(comparable, sentences)).tolist())


class Rows:
    """The second pass over the pairs: yields those for training, and keeps those that are held out.

    Attributes:
        held_out: {"source", "target"} of the validation pairs so far, at most MAX_HELD_OUT.
        notes: reason -> number of pairs that were left out so far.
    """

    def __init__(self, chunks: Chunks, found: Survey):
        self._chunks, self._found = chunks, found
        self.held_out: list[dict[str, str]] = []
        self.notes: dict[str, int] = {}

    def training(self) -> Iterator[Pairs]:
        """Yields the training pairs of each chunk."""
        held_out_sources = np.array(sorted(self._found.held_out_sources), np.uint64)
        for chunk in self._chunks():
            groups, sources = _hashes(chunk)
            held_out = np.isin(groups, self._found.held_out)
            repeated = ~held_out & np.isin(sources, held_out_sources)
            self._keep(chunk.take(held_out))
            self._note(REPEATED, int(repeated.sum()))
            yield chunk.take(~held_out & ~repeated)

    def _keep(self, pairs: Pairs) -> None:
        """Keeps validation pairs. One source sentence with very many translations is held out as a whole."""
        room = MAX_HELD_OUT - len(self.held_out)
        kept = pairs.take(slice(room))
        self.held_out += as_rows(kept)
        self._note(too_many("validation"), len(pairs) - len(kept))

    def _note(self, reason: str, count: int) -> None:
        if count:
            self.notes[reason] = self.notes.get(reason, 0) + count


def as_rows(pairs: Pairs) -> list[dict[str, str]]:
    """Returns pairs as {"source", "target"}."""
    columns = zip(pairs.source, pairs.target, strict=True)
    return [{"source": source, "target": target} for source, target in columns]


def too_many(split: str) -> str:
    """Returns the reason of pairs that are left out of a split because it has enough."""
    return f"left out of {split}, more than {MAX_HELD_OUT:,} pairs to score on"


def _hashes(chunk: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Returns the hashes of the source sentences, and of their comparable forms, uint64 [n]."""
    return hashes(chunk.source), hashes(map(comparable, chunk.source))
