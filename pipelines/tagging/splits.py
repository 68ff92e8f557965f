"""The sentences of a run: in memory, or the training sentences in the shards of prepared data."""

import dataclasses

from pipelines.data.prepared import Prepared
from pipelines.data.tagged_sentences import TaggedSentences


@dataclasses.dataclass(frozen=True)
class ShardedSentences:
    """Training sentences in the shards of prepared data, encoded.

    Attributes:
        data: the prepared data.
        known_words: the words of validation and test that are also in the training sentences.
    """

    data: Prepared
    known_words: frozenset[str]

    def __len__(self) -> int:
        return self.data.details["sentences"]

    @property
    def num_tokens(self) -> int:
        """Number of tokens of all sentences."""
        return sum(shard.tokens for shard in self.data.shards)


@dataclasses.dataclass(frozen=True)
class Splits:
    """The sentences of a run.

    Attributes:
        train: in memory, or in the shards of prepared data.
        valid, test: sentences; test is None if the data has none.
        tags: those of the run to continue from, if there is one; then those of the training sentences, in alphabetical
            order.
        spans: whether the tags mark spans (B-, I-, O).
        notes: what was left out or repaired, and why: reason -> count.
    """

    train: TaggedSentences | ShardedSentences
    valid: TaggedSentences
    test: TaggedSentences | None
    tags: tuple[str, ...]
    spans: bool
    notes: dict[str, int]

    @property
    def sharded(self) -> Prepared | None:
        """The prepared data that has the training sentences; None if they are in memory."""
        return self.train.data if isinstance(self.train, ShardedSentences) else None
