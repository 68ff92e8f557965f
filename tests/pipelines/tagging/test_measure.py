import dataclasses
from pathlib import Path

import pytest

from pipelines.data.prepared import Prepared, Shard
from pipelines.tagging import baselines, measure, metrics
from pipelines.tagging.measure import measure_predictions
from pipelines.tagging.splits import ShardedSentences


@dataclasses.dataclass
class Sentences:
    """As TaggedSentences, as far as it is read here."""

    tokens: list[list[str]]
    tags: list[list[str]]

    def __len__(self):
        return len(self.tokens)


@dataclasses.dataclass
class Tagged:
    tags: list[list[str]]
    scores: list[list[float]]


@dataclasses.dataclass
class Splits:
    train: Sentences
    valid: Sentences
    test: Sentences | None
    tags: tuple[str, ...]
    spans: bool


TRAIN = Sentences(
    [["Ann", "lives", "in", "Oslo"], ["Bob", "lives", "here"], ["Oslo", "is", "here"]] * 5,
    [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "O"], ["B-LOC", "O", "O"]] * 5,
)
VALID = Sentences(
    [["Ann", "is", "here"], ["Eve", "lives", "in", "Rome"]] * 6, [["B-PER", "O", "O"], ["B-PER", "O", "O", "B-LOC"]] * 6
)
TEST = Sentences([["Bob", "lives"]], [["B-PER", "O"]])


@pytest.fixture
def splits():
    return Splits(TRAIN, VALID, TEST, ("B-LOC", "B-PER", "I-PER", "O"), True)


@pytest.fixture
def predictions():
    """All tags of the validation sentences are right, and all of the test sentence are O."""
    valid = Tagged(VALID.tags, [[0.9] * len(tags) for tags in VALID.tags])
    return {"validation": valid, "test": Tagged([["O", "O"]], [[0.8, 0.7]])}


def test_each_split_is_scored(splits, predictions):
    scores, details = measure_predictions(splits, predictions, ())
    assert list(scores) == ["validation", "test"]
    assert (scores["validation"]["accuracy"], scores["test"]["accuracy"]) == (1.0, 0.5)
    assert (scores["validation"]["span_f1"], scores["test"]["span_f1"]) == (1.0, 0.0)
    assert scores["validation"]["unknown_tokens"] == 12  # Eve and Rome
    assert scores["validation"]["tags"]["I-PER"]["support"] == 0
    assert not any("baselines" in each for each in scores.values())
    assert details.tokens is VALID.tokens and details.expected is VALID.tags
    assert details.predicted is predictions["validation"].tags
    assert details.probabilities is predictions["validation"].scores
    assert details.num_training_tokens == 50
    assert (details.tokenizers, details.tokenizer) == ({}, "")


def test_invisible_characters_change_no_baseline_and_no_known_word(splits, predictions):
    expected, _ = measure_predictions(splits, predictions)
    hyphenated = [[word[:1] + "\u00ad" + word[1:] for word in words] for words in VALID.tokens]
    valid = Sentences(hyphenated, VALID.tags)
    found, _ = measure_predictions(dataclasses.replace(splits, valid=valid), predictions)
    assert found == expected


def test_a_test_set_may_be_absent(splits, predictions):
    scores, _ = measure_predictions(dataclasses.replace(splits, test=None), predictions)
    assert list(scores) == ["validation"]


def test_baselines_are_scored_and_compared_on_each_split(splits, predictions):
    scores, _ = measure_predictions(splits, predictions)
    for name, part in (("validation", VALID), ("test", TEST)):
        found = scores[name]["baselines"]
        assert [each["name"] for each in found] == ["most frequent tag", "hidden Markov model", "linear CRF"]
        tags = baselines.most_frequent_tag(TRAIN.tokens, TRAIN.tags, part.tokens)
        assert found[0]["accuracy"] == metrics.accuracy(tags, part.tags)
        assert found[0]["span_f1"] == metrics.span_f1(tags, part.tags)
        for each in found:
            assert each["accuracy_difference"] == pytest.approx(scores[name]["accuracy"] - each["accuracy"])
            assert each["span_f1_difference"] == pytest.approx(scores[name]["span_f1"] - each["span_f1"])
    assert scores["validation"]["baselines"][0]["unknown_accuracy"] == 0.0
    assert scores["test"]["baselines"][0]["accuracy_difference"] == -0.5


def test_sentences_in_shards_have_known_words_and_no_baselines(splits, predictions):
    data = Prepared(Path("p"), "tagging", {}, {}, (Shard("a", 15, 50),), {"train": 15}, {}, {}, {"sentences": 15})
    in_memory, _ = measure_predictions(splits, predictions)
    known = frozenset({"Ann", "lives", "in", "is", "here", "Bob"})  # all but Eve and Rome
    in_shards = dataclasses.replace(splits, train=ShardedSentences(data, known))
    scores, details = measure_predictions(in_shards, predictions)
    assert details.num_training_tokens == 50
    reason = "it counts all training sentences in memory, and prepared data has none"
    for name, found in scores.items():
        assert [each["left_out"] for each in found.pop("baselines")] == [reason] * 3
        assert found == {key: value for key, value in in_memory[name].items() if key != "baselines"}


def test_baselines_that_would_take_minutes_are_left_out(splits, predictions, monkeypatch):
    monkeypatch.setattr(measure, "MAX_TOKENS", 43)
    scores, _ = measure_predictions(splits, predictions)
    reason = "the sentences to tag have more than 43 tokens"
    assert scores["test"]["baselines"][1] == {"name": "hidden Markov model", "left_out": reason}
    monkeypatch.setattr(measure, "MAX_TRAINING_TOKENS", 49)
    scores, _ = measure_predictions(splits, predictions)
    assert "the training sentences have more than" in scores["validation"]["baselines"][0]["left_out"]
    monkeypatch.undo()
    monkeypatch.setattr(measure, "MAX_SCORES", 50 * len(splits.tags) - 1)
    scores, _ = measure_predictions(splits, predictions)
    reasons = [each.get("left_out") for each in scores["validation"]["baselines"]]
    assert reasons == [None, None, f"50 training tokens with {len(splits.tags)} tags would take minutes"]
    monkeypatch.undo()
    scores, _ = measure_predictions(splits, predictions)
    assert "left_out" not in scores["validation"]["baselines"][0]
