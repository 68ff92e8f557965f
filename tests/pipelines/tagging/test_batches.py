import numpy as np
import pytest
import tensorflow as tf

from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.tagging import batches, features
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.features import UNKNOWN

NO_CHANGES = {"word_dropout": 0.0, "join_rate": 0.0, "final_stop_dropout": 0.0}
TOKENS = [["a", "b", "."], ["c"], ["d", "e", "f", "g"], ["."], ["h", "i"]]
TAGS = [["X", "Y", "P"], ["X"], ["X", "X", "Y", "Z"], ["P"], ["X", "Y"]]
SENTENCES = TaggedSentences(TOKENS, TAGS, [" ".join(each) for each in TOKENS], [0, 0, 0, 1, 1], {})


def config(**changes):
    return TaggingConfig(preset="quick", model="lstm", **{"batch_size": 2} | changes).resolve()


@pytest.fixture(scope="module")
def tokenizer():
    return features.train("whitespace", TOKENS * 3, vocabulary_size=100, max_characters=6, max_bytes=1000)


@pytest.fixture(scope="module")
def encoded(tokenizer):
    return batches.encode(tokenizer, SENTENCES, ("P", "X", "Y"), max_tokens=4)


def rows_of(dataset):
    """The rows of all batches without padding, as (words, tags)."""
    rows = []
    for inputs, tags in dataset:
        words, tags = inputs["words"].numpy(), tags.numpy()
        assert words.shape == tags.shape
        assert inputs["spellings"].shape == words.shape == inputs["characters"].shape[:2]
        for row, ids in zip(words, tags, strict=True):
            rows.append((row[row != 0].tolist(), ids[row != 0].tolist()))
    return rows


def test_rows_have_the_words_and_tags_of_the_sentences(tokenizer, encoded):
    rows = rows_of(batches.batches(encoded, np.array([2, 0, 4, 1, 3]), batch_size=2))
    ids = tokenizer(tf.ragged.constant(TOKENS, ragged_rank=1))["words"].to_list()
    tag_ids = [[{"P": 0, "X": 1, "Y": 2}.get(tag, 0) for tag in tags] for tags in TAGS]
    assert rows == [(ids[i], tag_ids[i]) for i in (2, 0, 4, 1, 3)]


def test_an_epoch_is_a_function_of_seed_and_epoch(encoded):
    settings = config(word_dropout=0.5, join_rate=0.5, final_stop_dropout=0.5)
    first = rows_of(batches.training_batches(settings, encoded, epoch=3, skip=0))
    assert first == rows_of(batches.training_batches(settings, encoded, epoch=3, skip=0))
    assert first != rows_of(batches.training_batches(settings, encoded, epoch=4, skip=0))
    assert first[4:] == rows_of(batches.training_batches(settings, encoded, epoch=3, skip=2))


def test_each_sentence_is_in_an_epoch_once(encoded):
    rows = rows_of(batches.training_batches(config(**NO_CHANGES), encoded, 0, 0))
    assert sorted(map(str, rows)) == sorted(map(str, rows_of(batches.batches(encoded, np.arange(5), 5))))


def test_words_become_unknown(encoded):
    rows = rows_of(batches.training_batches(config(**NO_CHANGES | {"word_dropout": 0.999999}), encoded, 0, 0))
    assert {word for words, _ in rows for word in words} == {UNKNOWN}


def test_sentences_are_joined_with_the_next_one_of_their_document(encoded):
    rows = rows_of(batches.training_batches(config(**NO_CHANGES | {"join_rate": 1.0}), encoded, 0, 0))
    # At most four tokens; nothing is joined across documents.
    assert sorted(len(words) for words, _ in rows) == sorted([3 + 1, 1, 4, 1 + 2, 2])


def test_the_final_stop_is_left_out(encoded):
    rows = rows_of(batches.training_batches(config(**NO_CHANGES | {"final_stop_dropout": 1.0}), encoded, 0, 0))
    # A stop alone stays.
    assert sorted(len(words) for words, _ in rows) == sorted([2, 1, 4, 1, 2])


def test_long_sentences_are_divided(tokenizer):
    encoded = batches.encode(tokenizer, SENTENCES, ("P", "X", "Y", "Z"), max_tokens=3)
    rows = rows_of(batches.batches(encoded, np.arange(len(encoded.starts)), 10))
    assert [len(words) for words, _ in rows] == [3, 1, 3, 1, 1, 2]
    assert rows[3][1] == [3]


def test_a_part_of_a_divided_sentence_never_starts_within_a_span(tokenizer):
    tags = [["B-L", "I-L", "I-L"], ["O"], ["O", "B-L", "I-L", "I-L"], ["O"], ["B-L", "I-L"]]
    sentences = TaggedSentences(TOKENS, tags, SENTENCES.texts, SENTENCES.documents, {})
    encoded = batches.encode(tokenizer, sentences, ("B-L", "I-L", "O"), max_tokens=2)
    rows = rows_of(batches.batches(encoded, np.arange(len(encoded.starts)), 10))
    assert [ids for _, ids in rows] == [[0, 1], [0], [2], [2, 0], [0, 1], [2], [0, 1]]
