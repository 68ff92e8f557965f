"""The sentences of a run: in memory or in shards."""

from pathlib import Path

from pipelines.data.prepared import Prepared, Shard
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.tagging.splits import ShardedSentences, Splits

IN_MEMORY = TaggedSentences([["a", "b"], ["c"]], [["X", "Y"], ["X"]], ["a b", "c"], [0, 0], {})


def test_training_sentences_in_shards_have_the_numbers_of_the_preparation():
    shards = (Shard("a", 4, 30), Shard("b", 3, 12))
    data = Prepared(Path("p"), "tagging", {}, {}, shards, {"train": 7}, {}, {}, {"sentences": 5})
    sharded = ShardedSentences(data, frozenset({"a"}))
    assert len(sharded) == 5 and sharded.num_tokens == 42  # two sentences are divided, so there are seven rows
    assert Splits(sharded, IN_MEMORY, None, ("X", "Y"), False, {}).sharded is data


def test_sentences_in_memory_are_in_no_shards():
    splits = Splits(IN_MEMORY, IN_MEMORY, None, ("X", "Y"), False, {})
    assert splits.sharded is None and (len(splits.train), splits.train.num_tokens) == (2, 3)
