"""Shards of tagging: what is written is what a training in memory would read, and the changes of each epoch."""

import collections
import dataclasses

import numpy as np
import pytest

from pipelines.data import part, prepared, tagged_sentences
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.runs.prepare import prepare
from pipelines.shards import shard_order
from pipelines.support.errors import UserError
from pipelines.tagging import shards, task
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.data import load
from pipelines.tagging.features import UNKNOWN
from tests.pipelines.tagging.tagged_files import write_sample

MAX_TOKENS = 12  # some sentences of the sample are longer, and most are too long to be joined with another one
NO_CHANGES = {"word_dropout": 0.0, "join_rate": 0.0, "final_stop_dropout": 0.0}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("source") / "a.conllu", 300)


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    """The folder of prepared data."""
    folder = tmp_path_factory.mktemp("made") / "prepared"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tagged_sentences, "_CHUNK_TOKENS", 100)  # sentences are joined across chunks, too
        prepare("tagging", TaggingConfig(data=source, max_tokens=MAX_TOKENS).resolve(), folder)
    return folder


def config_of(data, **changes):
    settings = {"preset": "quick", "batch_size": 16} | NO_CHANGES | changes
    return TaggingConfig(**{"data": str(data), "model": "lstm", **settings}).resolve()


@pytest.fixture(scope="module")
def encoded(source, made, tmp_path_factory):
    """(data in memory, prepared data), as training reads them."""
    found = []
    for config in (config_of(source, max_tokens=MAX_TOKENS), config_of(made)):
        folder = tmp_path_factory.mktemp("run")
        (folder / "tokenizer").mkdir()
        splits = load(config)
        task.make_tokenizer(config, splits).save(folder / "tokenizer")
        found.append(task.encode(config, splits, task.load_tokenizer(folder / "tokenizer"), folder))
    return found


def rows_of(batches):
    """Returns each row of some batches without padding: {name: values of its tokens}, "tags" among them."""
    found = []
    for inputs, tags, *_ in batches:
        for i, length in enumerate((inputs["words"].numpy() != 0).sum(axis=1)):
            row = {name: each.numpy()[i, :length] for name, each in (inputs | {"tags": tags}).items()}
            if "characters" in row:
                row["characters"] = [characters[characters != 0].tolist() for characters in row["characters"]]
            found.append({name: [np.asarray(each).tolist() for each in values] for name, values in row.items()})
    return found


def counted(rows):
    return collections.Counter(str(sorted(row.items())) for row in rows)


@pytest.mark.long
def test_an_epoch_has_the_rows_of_a_training_in_memory(source, made, encoded):
    in_memory, from_shards = encoded
    expected = rows_of(task.batches(config_of(source, max_tokens=MAX_TOKENS), in_memory, 0, 0))
    for epoch in range(2):
        assert counted(rows_of(task.batches(config_of(made), from_shards, epoch, 0))) == counted(expected)
    assert from_shards.splits.tags == in_memory.splits.tags and from_shards.divided == in_memory.divided > 0
    assert task.items_per_epoch(from_shards) == task.items_per_epoch(in_memory) > len(from_shards.splits.train)
    assert task.steps_per_epoch(config_of(made), from_shards) == -(-task.items_per_epoch(in_memory) // 16)


@pytest.mark.long
@pytest.mark.parametrize("change", ["join_rate", "final_stop_dropout"])
def test_the_changed_rows_are_those_of_a_training_in_memory(source, made, encoded, change):
    in_memory, from_shards = encoded
    expected = rows_of(task.batches(config_of(source, max_tokens=MAX_TOKENS, **{change: 1.0}), in_memory, 0, 0))
    unchanged = rows_of(task.batches(config_of(made), from_shards, 0, 0))
    found = rows_of(task.batches(config_of(made, **{change: 1.0}), from_shards, 0, 0))
    assert counted(found) == counted(expected) != counted(unchanged)


def test_a_batch_is_padded_as_one_from_memory(made, encoded):
    in_memory, from_shards = encoded
    (inputs, tags), *_ = task.batches(config_of(made), from_shards, 0, 0)
    rows = [str(sorted(row.items())) for row in rows_of([(inputs, tags)])]
    whole = task.sentence_batches.batches(in_memory.train, np.arange(len(in_memory.train.starts)), 1000)
    numbers = {str(sorted(row.items())): i for i, row in enumerate(rows_of(whole))}
    order = np.array([numbers[row] for row in rows])
    ((expected, expected_tags),) = task.sentence_batches.batches(in_memory.train, order, 16)
    assert set(inputs) == set(expected) and np.array_equal(tags, expected_tags)
    for name, values in expected.items():
        assert inputs[name].dtype == values.dtype and np.array_equal(inputs[name], values), name


def test_characters_are_not_read_where_the_network_reads_none(made, tmp_path):
    config = config_of(made, characters="none")
    splits = load(config)
    task.make_tokenizer(config, splits).save(tmp_path)
    found = task.encode(config, splits, task.load_tokenizer(tmp_path), tmp_path)
    inputs, _ = next(iter(task.batches(config, found, 0, 0)))
    assert set(inputs) == set(found.valid.inputs) == {"words", "spellings", "affixes"}


def lists(batches):
    return [[each.numpy().tolist() for each in (*inputs.values(), tags)] for inputs, tags, *_ in batches]


def test_the_changes_are_a_function_of_seed_epoch_and_step(made, encoded):
    data = encoded[1].splits.sharded
    config = config_of(made, word_dropout=0.3, join_rate=0.3, final_stop_dropout=0.3)
    first = lists(shards.batches(config, data, 3, 0))
    assert first == lists(shards.batches(config, data, 3, 0))
    assert first[7:] == lists(shards.batches(config, data, 3, 7))
    assert first != lists(shards.batches(config, data, 4, 0))
    assert first != lists(shards.batches(dataclasses.replace(config, seed=2), data, 3, 0))


def test_words_become_unknown_and_keep_their_characters(made, encoded):
    data = encoded[1].splits.sharded
    unchanged = rows_of(shards.batches(config_of(made), data, 0, 0))
    changed = rows_of(shards.batches(config_of(made, word_dropout=0.25), data, 0, 0))
    num_words = num_lost = 0
    for before, after in zip(unchanged, changed, strict=True):
        assert {**before, "words": 0} == {**after, "words": 0}
        for word, left in zip(before["words"], after["words"], strict=True):
            assert left in (word, UNKNOWN)
            num_words += word != UNKNOWN
            num_lost += left != word
    assert 0.2 < num_lost / num_words < 0.3


@pytest.mark.parametrize("count", [2, 3])
def test_workers_divide_the_batches_with_their_changes(made, encoded, count):
    data = encoded[1].splits.sharded
    config = config_of(made, word_dropout=0.3, join_rate=0.3, final_stop_dropout=0.3)
    parts = []
    for i in range(count):
        with part.computed(part.Part(i, count)):
            parts.append(list(shards.batches(config, data, 0, 2)))
    for whole, *of_workers in zip(shards.batches(config, data, 0, 2), *parts, strict=True):
        assert sum((rows_of([batch]) for batch in of_workers if batch[2].numpy().all()), []) == rows_of([whole])


def test_what_is_known_of_the_training_sentences_is_that_of_a_training_in_memory(source, encoded):
    in_memory, from_shards = (each.splits for each in encoded)
    assert from_shards.valid == dataclasses.replace(in_memory.valid, dropped={})
    assert from_shards.notes == in_memory.notes and from_shards.train.num_tokens == in_memory.train.num_tokens
    assert len(from_shards.train) == len(in_memory.train)
    words = {word for words in in_memory.train.tokens for word in words}
    to_score = {word for words in in_memory.valid.tokens for word in words}
    assert from_shards.train.known_words == words & to_score != to_score
    assert task.describe(from_shards) == task.describe(in_memory)
    settings = config_of(source, max_tokens=MAX_TOKENS)
    described = [task.describe_data(settings, each.splits, each) for each in encoded]
    assert described[0] == described[1]


def test_the_shards_are_those_of_the_order(made):
    data = prepared.find(str(made), "tagging")
    lengths = np.concatenate([shard_order.indices_of(data)(i)[:, 1] for i in range(len(data.shards))])
    assert len(lengths) == data.rows["train"] and lengths.max() == MAX_TOKENS
    assert sum(shard.tokens for shard in data.shards) == lengths.sum()


def test_each_sentence_comes_with_the_next_one():
    def sentences(*texts):
        return TaggedSentences([[text] for text in texts], [["X"] for _ in texts], list(texts), [0] * len(texts), {})

    chunks = [sentences("a", "b", "c"), sentences("d"), sentences("e", "f")]
    found = [(chunk.texts, count) for chunk, count in shards.with_next(chunks)]
    assert found == [(["a", "b", "c"], 2), (["c", "d"], 1), (["d", "e", "f"], 2), (["f"], 1)]
    assert list(shards.with_next([])) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 13}, "--max-tokens 13: .* was prepared with 12: leave out --max-tokens, or prepare"),
        ({"tokenizer": "whitespace"}, "--tokenizer whitespace: .* was prepared with english"),
        ({"vocabulary_size": 10}, "--vocabulary-size 10: .* was prepared with 50000"),
        ({"model": "linear"}, "--model linear counts the features of all sentences in memory"),
        ({"encoder": "saved_models/e/1"}, "--encoder saved_models/e/1: its vectors are computed from all sentences"),
        ({"valid": "v.conllu"}, "--valid has no effect here: the validation sentences of prepared data are fixed"),
    ],
)
def test_what_the_preparation_fixed_is_refused(made, settings, message):
    with pytest.raises(UserError, match=message):
        config_of(made, **settings).check()
    config_of(made).check()
