from types import SimpleNamespace

import keras
import numpy as np
import pytest

from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.runs import fitting
from pipelines.tagging import linear as linear_model
from pipelines.tagging import metrics, task
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.data import Splits
from pipelines.tagging.tagged import tag_sentences

SMALL = {
    "preset": "quick", "hidden_size": 16, "embedding_size": 8, "character_size": 4, "epochs": 5, "batch_size": 8,
    "precision": "float32", "tokenizer": "whitespace",
}  # fmt: skip


def alternating(num_sentences, seed):
    """Sentences of one word only, whose tags alternate: only the transitions of the CRF can know them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 8, num_sentences)
    tags = [["A" if (i + start) % 2 else "B" for i in range(n)] for n, start in zip(lengths, lengths % 2, strict=True)]
    tokens = [["start" if not i else "word" for i in range(n)] for n in lengths]
    return TaggedSentences(tokens, tags, [" ".join(words) for words in tokens], [0] * num_sentences, {})


@pytest.fixture(scope="module")
def splits():
    return Splits(alternating(80, 1), alternating(20, 2), alternating(10, 3), ("A", "B"), False, {"a note": 1})


@pytest.fixture(scope="module")
def trained(splits, tmp_path_factory):
    config = TaggingConfig(**SMALL, model="lstm").resolve()
    folder = tmp_path_factory.mktemp("run")
    return fitting.fit_and_measure(task, config, splits, folder)


@pytest.mark.long
def test_a_training_scores_validation_and_test_with_baselines(trained, splits):
    assert list(trained.scores) == ["validation", "test"]
    assert trained.scores["validation"]["tokens"] == sum(map(len, splits.valid.tokens))
    assert [each["name"] for each in trained.scores["test"]["baselines"]] == [
        "most frequent tag", "hidden Markov model", "linear CRF",
    ]  # fmt: skip
    assert trained.details.tokenizer == "whitespace" and trained.details.tokenizers["whitespace"] == 1.0


@pytest.mark.long
def test_the_scores_are_those_of_the_servable(trained, splits):
    tags = tag_sentences(trained.servable.tag_tokens, splits.valid.tokens).tags
    right = sum(a == b for pair in zip(tags, splits.valid.tags, strict=True) for a, b in zip(*pair, strict=True))
    scores = trained.scores["validation"]
    assert (
        scores["accuracy"]
        == right / scores["tokens"]
        == trained.position.rows[trained.position.best_epoch]["val_accuracy"]
    )


def test_the_best_epoch_has_the_highest_accuracy(trained):
    accuracies = [row["val_accuracy"] for row in trained.position.rows]
    assert accuracies[trained.position.best_epoch] == max(accuracies)


def test_long_sentences_are_counted(splits, trained):
    config = TaggingConfig(**SMALL | {"max_tokens": 4}, model="lstm").resolve()
    keras.utils.set_random_seed(1)
    encoded = task.encode(config, splits, trained.servable._features, None)
    num_long = sum(len(tokens) > 4 for tokens in splits.train.tokens)
    notes = task.describe_data(config, splits, encoded)["notes"]
    assert notes == {"a note": 1, "training sentences with more than 4 tokens, which are divided": num_long}
    assert task.items_per_epoch(encoded) == len(splits.train) + num_long


@pytest.mark.long
def test_every_signature_has_an_example(trained):
    signatures, requests = trained.servable.signatures(), task.example_requests(trained.servable)
    assert set(signatures) == set(requests)


@pytest.mark.long
def test_the_default_is_at_least_as_good_as_each_of_its_members(splits, tmp_path):
    trained = fitting.fit_and_measure(task, TaggingConfig(**SMALL | {"epochs": 1}).resolve(), splits, tmp_path)
    assert trained.config.model == "best"
    scores = trained.scores["validation"]
    linear = next(each for each in scores["baselines"] if each["name"] == "linear CRF")
    assert scores["accuracy"] >= max(linear["accuracy"], trained.position.rows[0]["val_accuracy"])
    # The baseline is the member, which was fitted to the same sentences as the baseline of other models.
    tags = linear_model.fit_and_tag(splits.train.tokens, splits.train.tags, splits.valid.tokens)
    assert linear["accuracy"] == pytest.approx(metrics.accuracy(tags, splits.valid.tags), abs=0.02)


def test_the_example_has_an_entity_where_there_is_one():
    texts = ["No name is in this one.", "Anna sees the sea.", "Nor is one in this."]
    tags = [["O"] * 7, ["B-PER", "O", "O", "O", "O"], ["O"] * 6]
    sentences = TaggedSentences([text.split() for text in texts], tags, texts, [0, 1, 2], {})
    splits = Splits(sentences, sentences, None, ("B-PER", "O"), True, {})
    described = task.describe_data(TaggingConfig(), splits, SimpleNamespace(divided=0))
    assert described["example"] == '"Anna sees the sea."' and described["example_text"] == "Anna sees the sea."


def test_spans_that_are_not_as_they_were_annotated_are_described():
    sentences = TaggedSentences([["a"]], [["B-X"]], ["a"], [0], {})
    notes = {"a note": 3, "spans that start or end within a word, extended to the word": 1_050}
    described = task.describe(Splits(sentences, sentences, None, ("B-X", "O"), True, notes))
    assert described == (
        "1 sentences with 1 tokens to train on, 1 sentences to validate on, 2 tags\n"
        "note: spans that start or end within a word, extended to the word: 1,050"
    )
