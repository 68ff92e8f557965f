"""The two passes over sentence pairs that may be larger than memory. What they keep has a bounded size."""

import dataclasses
from collections.abc import Iterable, Iterator

from pipelines.data.pairs import Chunks, Pairs
from pipelines.shards import first_pass
from pipelines.shards.first_pass import FirstPass
from pipelines.shards.held_out import HeldOut, Keys, keys_of

_MAX_SAMPLE = 10_000_000  # characters from which the tokenizers are made: SentencePiece needs many bytes for each
REPEATED = "left out of training, the same source sentence is in validation"


@dataclasses.dataclass(frozen=True)
class Survey:
    """What is known about all pairs after the first pass.

    Attributes:
        rows: number of pairs.
        characters: number of their characters.
        dropped: reason -> number of pairs that were left out while reading.
        held_out: the pairs of validation. Pairs with one source sentence stay together.
        sample: a random sample of the training pairs; all of them if they are few.
    """

    rows: int
    characters: int
    dropped: dict[str, int]
    held_out: HeldOut
    sample: list[tuple[str, ...]]


def survey(chunks: Iterable[Pairs], fraction: float, seed: int, own: HeldOut | None) -> Survey:
    """Reads all pairs once.

    Args:
        fraction: of the pairs to hold out.
        seed: of the sample.
        own: source sentences of the user's own validation pairs; None holds out a part of the pairs.

    Raises:
        UserError: all source sentences are equal.
    """
    passed = FirstPass(_MAX_SAMPLE, seed, own)
    for chunk in chunks:
        passed.add(_keys(chunk), list(zip(chunk.source, chunk.target, strict=True)), chunk.dropped)
    held_out = passed.held_out(fraction)
    return Survey(passed.rows, passed.characters, dict(passed.dropped), held_out, passed.sample(held_out))


def lowest(chunks: Iterable[Pairs]) -> tuple[Pairs, int]:
    """Returns the pairs whose source sentences have the lowest hashes, at most MAX_HELD_OUT, and how many others."""
    rows, others = first_pass.lowest(
        (row for chunk in chunks for row in zip(chunk.source, chunk.target, strict=True)), first_pass.MAX_HELD_OUT
    )
    return Pairs.of(rows), others


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
        for chunk in self._chunks():
            held_out, is_repeated = self._found.held_out.masks(_keys(chunk))
            self._keep(chunk.take(held_out))
            self._note(REPEATED, int(is_repeated.sum()))
            yield chunk.take(~held_out & ~is_repeated)

    def _keep(self, pairs: Pairs) -> None:
        """Keeps validation pairs. One source sentence with very many translations is held out as a whole."""
        room = first_pass.MAX_HELD_OUT - len(self.held_out)
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
    return f"left out of {split}, more than {first_pass.MAX_HELD_OUT:,} pairs to score on"


def _keys(chunk: Pairs) -> Keys:
    return keys_of(chunk.source, chunk.source)
