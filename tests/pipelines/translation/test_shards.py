"""Shards of translation: what is written is what a training in memory would read."""

import collections
import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import part, sample_pairs
from pipelines.data.part import Part
from pipelines.runs.prepare import prepare
from pipelines.shards import shard_plans, shard_writer
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import PAD
from pipelines.translation import task
from pipelines.translation.config import TranslationConfig
from pipelines.translation.data import load

SETTINGS = {"vocabulary_size": 150, "max_tokens": 35, "pair": "en-es"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "pairs.tsv"
    rows = zip(*sample_pairs.generate(600), strict=True)
    path.write_text("en\tes\n" + "".join(f"{en}\t{es}\n" for en, es in rows) + "alone\nempty\t \n")
    return str(path)


def made(source, folder, **values):
    """Returns (config of a training in memory, the same with prepared data)."""
    config = TranslationConfig(data=source, **SETTINGS, **values).resolve()
    prepare("translation", config, folder)
    small = {"batch_tokens": 300, "subword_alpha": 0.0}
    return dataclasses.replace(config, **small), TranslationConfig(data=str(folder), **small).resolve()


@pytest.fixture(scope="module", params=[True, False], ids=["joint", "two vocabularies"])
def both(request, source, tmp_path_factory):
    return made(source, tmp_path_factory.mktemp("made") / "prepared", joint_vocabulary=request.param)


def encoded(config, folder):
    splits = load(config)
    (folder / "tokenizer").mkdir(parents=True)
    task.make_tokenizer(config, splits).save(folder / "tokenizer")
    return splits, task.encode(config, splits, task.load_tokenizer(folder / "tokenizer"), folder)


def rows_of(batches):
    """Returns how often each pair of ids occurs."""
    found = collections.Counter()
    for inputs, labels, weights in batches:
        np.testing.assert_array_equal(weights, labels.numpy() != PAD)
        np.testing.assert_array_equal(inputs["target"][:, 1:], labels[:, :-1])
        assert inputs["source"].dtype == labels.dtype == tf.int32
        for source, target in zip(inputs["source"].numpy(), labels.numpy(), strict=True):
            found[tuple(source[source != PAD].tolist()), tuple(target[target != PAD].tolist())] += 1
    return found


@pytest.mark.long
def test_an_epoch_has_the_pairs_of_a_training_in_memory(both, tmp_path):
    (expected, in_memory), (splits, sharded) = (encoded(config, tmp_path / str(i)) for i, config in enumerate(both))
    for epoch in (0, 1):
        batches = list(task.batches(both[1], sharded, epoch, 0))
        assert rows_of(batches) == rows_of(task.batches(both[0], in_memory, epoch, 0))
        longest = [max(labels.shape[1], inputs["source"].shape[1]) for inputs, labels, _ in batches]
        sizes = [len(labels) * length for (_, labels, _), length in zip(batches, longest, strict=True)]
        assert max(sizes) <= both[1].batch_tokens
        assert len(batches) == task.steps_per_epoch(both[1], sharded)
    assert task.steps_per_epoch(both[1], sharded) == task.steps_per_epoch(both[0], in_memory)
    assert 0 < sharded.train.too_long == in_memory.train.too_long
    assert splits.valid.source.tolist() == expected.valid.source.tolist()
    assert splits.pair == expected.pair == "en-es" and splits.test is None
    facts = [task.describe_data(*each) for each in ((both[0], expected, in_memory), (both[1], splits, sharded))]
    assert facts[0] == facts[1]
    assert facts[1]["notes"]["left out, one side is empty"] == 2  # an empty cell, and a line without a tab


def test_fewer_tokens_are_those_of_a_training_in_memory(both, tmp_path):
    configs = [dataclasses.replace(config, max_tokens=24) for config in both]
    (expected, in_memory), (splits, sharded) = (encoded(config, tmp_path / str(i)) for i, config in enumerate(configs))
    assert rows_of(task.batches(configs[1], sharded, 0, 0)) == rows_of(task.batches(configs[0], in_memory, 0, 0))
    assert task.describe_data(configs[1], splits, sharded) == task.describe_data(configs[0], expected, in_memory)
    assert task.items_per_epoch(sharded) == task.items_per_epoch(in_memory) < len(splits.train)
    with pytest.raises(UserError, match="no training pair has at most 3 tokens: raise --max-tokens 3"):
        encoded(dataclasses.replace(configs[1], max_tokens=3), tmp_path / "none")


@pytest.mark.long
def test_batches_of_many_shards_are_a_pure_function_of_seed_epoch_and_skip(source, tmp_path, monkeypatch):
    monkeypatch.setattr(shard_writer, "_SHARD_BYTES", 5000)
    monkeypatch.setattr(shard_plans, "GROUP", 3)
    _, config = made(source, tmp_path / "made")
    splits, found = encoded(config, tmp_path / "run")
    assert len(splits.train.data.shards) > 10
    epochs = [list(task.batches(config, found, epoch, 0)) for epoch in (0, 1)]
    for epoch in (1, 0):
        assert sum(rows_of(epochs[epoch]).values()) == found.train.rows == len(splits.train)
        for skip in (1, len(epochs[epoch]) // 2, len(epochs[epoch])):
            for batch, expected in zip(task.batches(config, found, epoch, skip), epochs[epoch][skip:], strict=True):
                tf.nest.map_structure(np.testing.assert_array_equal, batch, expected)
    assert rows_of(epochs[0]) == rows_of(epochs[1])
    assert [rows_of([each]) for each in epochs[0]] != [rows_of([each]) for each in epochs[1]]


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 13])
def test_workers_divide_every_batch(both, tmp_path, count):
    _, found = encoded(both[1], tmp_path)
    of_workers = []
    for i in range(count):
        with part.computed(Part(i, count)):
            of_workers.append(list(task.batches(both[1], found, 0, 2)))
    for batch, *parts in zip(task.batches(both[1], found, 0, 2), *of_workers, strict=True):
        counted = [each for each in parts if each[2].numpy().any()]
        assert len(counted) == min(count, len(batch[1])), "a worker without pairs computes one that does not count"
        assert rows_of(counted) == rows_of([batch])


def test_the_settings_are_those_of_the_preparation(both):
    config = both[1]
    assert (config.vocabulary_size, config.max_tokens, config.pair) == (150, 35, "en-es")
    assert config.joint_vocabulary == both[0].joint_vocabulary
    assert TranslationConfig(data=config.data, max_tokens=24).resolve().max_tokens == 24
    for values, message in (
        ({"max_tokens": 36}, "--max-tokens 36: .* was prepared with 35: lower it, or prepare the data again"),
        ({"max_tokens": 100}, "--max-tokens 100: .* was prepared with 35"),
        ({"vocabulary_size": 200}, "--vocabulary-size 200: .* was prepared with 150"),
        ({"pair": "es-en"}, "--pair es-en: .* was prepared with en-es"),
        ({"target": "x"}, "--target has no effect here: prepared data has both sides of its pairs"),
        ({"valid": "x"}, "--valid has no effect here: the validation pairs of prepared data are fixed: give --valid"),
        ({"subword_alpha": 0.2}, "--subword-alpha 0.2: it must be 0 with prepared data"),
    ):
        with pytest.raises(UserError, match=message):
            TranslationConfig(data=config.data, **values).resolve().check()


def test_the_same_data_and_settings_give_the_same_bytes(both, tmp_path):
    config = dataclasses.replace(both[0], batch_tokens=2000)
    prepare("translation", config, tmp_path / "again")
    prepare("translation", dataclasses.replace(config, seed=2), tmp_path / "other")
    again, other, made = (read(path) for path in (tmp_path / "again", tmp_path / "other", both[1].data))
    assert again == made != other and set(again) == set(other)


def read(folder):
    return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_damaged_shards_are_refused_by_name(both, tmp_path):
    shutil.copytree(both[1].data, tmp_path / "copy")
    for name in ("train-00000-of-00001.tfrecord", "train-00000-of-00001.index.npy", "valid.jsonl"):
        path = tmp_path / "copy" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(UserError, match=f"{name} is damaged .*: prepare the data again"):
            load(TranslationConfig(data=str(tmp_path / "copy")).resolve())
        path.write_bytes(whole)


def test_languages_that_are_unknown_at_the_preparation_may_be_given_later(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"the dog {i}\tel perro {i}\n" for i in range(60)))
    config = TranslationConfig(data=str(tmp_path / "a.tsv"), vocabulary_size=40).resolve()
    prepare("nmt", config, tmp_path / "made")
    assert TranslationConfig(data=str(tmp_path / "made")).resolve().pair is None
    assert load(TranslationConfig(data=str(tmp_path / "made"), pair="en-es").resolve()).pair == "en-es"


def test_a_folder_with_validation_and_test_pairs(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name, count in (("train", 60), ("val", 4), ("test", 3)):
        for language in ("en", "es"):
            first = 1000 * (name != "train")
            text = "".join(f"{language} dog {first + i}\n" for i in range(count))
            (data / f"{name}.{language}").write_text(text + ("" if name == "train" else f"{language} dog 7\n"))
    config = TranslationConfig(data=str(data), pair="en-es", vocabulary_size=50).resolve()
    with pytest.raises(UserError, match="data/made is in the folder of the data"):
        prepare("translation", config, data / "made")
    found = prepare("translation", config, tmp_path / "made")
    assert found.rows == {"train": 59, "valid": 5, "test": 4}
    assert found.notes == {"left out of training, the same source sentence is in validation": 1}
    splits = load(TranslationConfig(data=str(tmp_path / "made")).resolve())
    assert splits.test.target.tolist() == [*(f"es dog {1000 + i}" for i in range(3)), "es dog 7"]
    own = dataclasses.replace(config, valid=str(data / "test.en"), valid_target=str(data / "test.es"))
    found = prepare("translation", own, tmp_path / "own")
    assert found.rows == {"train": 59, "valid": 4, "test": 4} and set(found.source) >= {"valid_fingerprint"}


@pytest.mark.parametrize(
    ("lines", "values", "message"),
    [
        ("a b c d\tA B C D\n", {"max_tokens": 3}, "no training pair has at most 3 tokens: raise --max-tokens 3"),
        ("", {}, "all rows are in one group"),
    ],
)
def test_data_without_pairs_to_train_on_is_refused(tmp_path, lines, values, message):
    rows = "".join(f"{i} {lines}" for i in range(60)) if lines else "the dog\tel perro\n" * 60
    (tmp_path / "a.tsv").write_text(rows)
    with pytest.raises(UserError, match=message):
        prepare(
            "nmt",
            TranslationConfig(data=str(tmp_path / "a.tsv"), vocabulary_size=40, **values).resolve(),
            tmp_path / "m",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]


def test_validation_that_has_all_training_sentences_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"the dog {i}\tel perro {i}\n" for i in range(60)))
    config = TranslationConfig(data=str(tmp_path / "a.tsv"), valid=str(tmp_path / "a.tsv"), vocabulary_size=40)
    with pytest.raises(UserError, match="a.tsv: no pairs are left to train on: give more pairs"):
        prepare("nmt", config.resolve(), tmp_path / "made")
