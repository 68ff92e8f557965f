"""Shards of classification: what is written is what a training in memory would read."""

import collections
import dataclasses

import numpy as np
import pytest

from pipelines.classification import shards, task
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load
from pipelines.data import batching, sample_reviews
from pipelines.linear import ngrams
from pipelines.runs.prepare import prepare

MAX_TOKENS = 30


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.csv"
    texts, labels, films, _ = sample_reviews.generate(300)
    rows = zip(texts, labels, films, strict=True)
    path.write_text("text,label,url\n" + "".join(f'"{text}",{label},{film}\n' for text, label, film in rows))
    return path


@pytest.fixture(scope="module", params=["word", "subword", "character"])
def made(request, source, tmp_path_factory):
    """(config of a training in memory, the same with prepared data)."""
    folder = tmp_path_factory.mktemp("made") / "prepared"
    values = {"tokenizer": request.param, "vocabulary_size": 200, "max_tokens": MAX_TOKENS, "model": "cnn"}
    config = ClassificationConfig(data=str(source), **values).resolve()
    prepare("classification", config, folder)
    given = ClassificationConfig(data=str(folder), model="cnn", batch_size=16)
    return dataclasses.replace(config, batch_size=16), given.resolve()


def encoded(config, folder):
    splits = load(config)
    (folder / "tokenizer").mkdir()
    task.make_tokenizer(config, splits).save(folder / "tokenizer")
    return task.encode(config, splits, task.load_tokenizer(folder / "tokenizer"), folder)


def rows_of(batches):
    """Returns how often each pair (ids without padding, label) occurs."""
    found = collections.Counter()
    for ids, labels in batches:
        found.update((tuple(row[row != 0].tolist()), label) for row, label in zip(ids.numpy(), labels.numpy().tolist()))
    return found


@pytest.mark.long
def test_an_epoch_has_the_rows_of_a_training_in_memory(made, tmp_path):
    results = []
    for i, config in enumerate(made):
        (tmp_path / str(i)).mkdir()
        results.append(encoded(config, tmp_path / str(i)))
    in_memory, sharded = results
    assert rows_of(task.batches(made[0], in_memory, 0, 0)) == rows_of(task.batches(made[1], sharded, 0, 0))
    assert sharded.splits.valid.texts.tolist() == in_memory.splits.valid.texts.tolist()
    assert sharded.splits.classes == in_memory.splits.classes
    assert sharded.cut == pytest.approx(in_memory.cut)
    assert task.steps_per_epoch(made[1], sharded) == task.steps_per_epoch(made[0], in_memory)
    assert np.array_equal(sharded.valid["ids"].flat_values, in_memory.valid["ids"].flat_values)


def test_fewer_tokens_are_those_of_a_training_in_memory(made, tmp_path):
    shorter = dataclasses.replace(made[1], max_tokens=9)
    splits = load(shorter)
    tokenizer = task.make_tokenizer(shorter, splits)
    expected, _ = task.inputs_of(shorter, tokenizer, load(dataclasses.replace(made[0], max_tokens=9)).train)
    order = np.arange(expected["ids"].nrows())
    in_memory = batching.padded_batches(expected["ids"], load(made[0]).train.labels, order, 16)
    found = rows_of(shards.batches(shorter, splits.sharded, 0, 0))
    assert found == rows_of(in_memory)
    assert max(len(ids) for ids, _ in found) == 9


def test_the_sample_for_word_vectors_is_of_the_training_texts(made, monkeypatch):
    data = load(made[1]).sharded
    everything = shards.sample(made[1], data)["ids"]
    assert everything.nrows() == data.rows["train"]
    monkeypatch.setattr(shards, "_SAMPLE_TOKENS", 3000)
    few = shards.sample(made[1], data)["ids"]
    assert 2000 < few.flat_values.shape[0] <= 3000


def test_a_subword_tokenizer_is_made_from_fewer_texts(monkeypatch):
    texts = [f"text {i}" for i in range(100)]
    monkeypatch.setattr(shards, "_MAX_SUBWORD_SAMPLE", 300)
    few = shards._sample_for("subword", texts)
    assert few == texts[::3]
    assert shards._sample_for("word", texts) == texts


@pytest.mark.long
def test_ngrams_are_those_of_a_training_in_memory(source, tmp_path):
    """Of words and of characters: the shards have both."""
    values = {"vocabulary_size": 200, "max_tokens": MAX_TOKENS, "max_characters": 60, "model": "linear"}
    config = ClassificationConfig(data=str(source), **values).resolve()
    prepare("classification", config, tmp_path / "prepared")
    given = ClassificationConfig(data=str(tmp_path / "prepared"), model="linear", max_characters=50).resolve()
    assert (given.max_tokens, given.max_characters) == (MAX_TOKENS, 50)
    splits = load(given)
    tokenizer = task.make_tokenizer(given, splits)
    in_memory = load(config).train
    lengths = {"max_n": 2, "max_characters": 4}
    expected = ngrams.hash_texts(task.inputs_of(given, tokenizer, in_memory)[0], **lengths)
    found = collections.Counter()
    for inputs, labels in shards.chunks(given, splits.sharded):
        found.update(zip(map(bytes, ngrams.hash_texts(inputs, **lengths)), labels.tolist(), strict=True))
    assert found == collections.Counter(zip(map(bytes, expected), in_memory.labels.tolist(), strict=True))


def test_data_of_an_older_version_has_no_characters(made):
    config, given = made
    manifest = given.prepared()
    older = dataclasses.replace(
        manifest, settings={k: v for k, v in manifest.settings.items() if k != "max_characters"}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClassificationConfig, "prepared", lambda self: older)
        best = ClassificationConfig(data=given.data).resolve()
        assert (best.model, best.max_characters, best.max_tokens) == ("best", 0, MAX_TOKENS)
