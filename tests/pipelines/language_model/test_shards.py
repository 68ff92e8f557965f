"""Prepared data of a language model: a training on it is bit for bit the training on the text."""

import dataclasses

import numpy as np
import pytest

from pipelines.data import sample_text
from pipelines.language_model import data as lm_data
from pipelines.language_model import shards, task
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs.prepare import prepare
from pipelines.support.errors import UserError

SETTINGS = [
    {"default_tokenizer": "character"},
    {"tokenizer": "word", "vocabulary_size": 300},
    {"tokenizer": "subword", "vocabulary_size": 300},
    {"tokenizer": "word", "vocabulary_size": 300, "documents": "line"},
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.txt"
    path.write_text(sample_text.sample_text()[:30_000])
    return str(path)


def made(source, folder, **values):
    """Returns (config with the text, config with the prepared data)."""
    config = LanguageModelConfig(data=source, **values).resolve()
    name = "char-lm" if config.default_tokenizer == "character" else "language-model"
    prepare(name, config, folder)
    given = LanguageModelConfig(data=str(folder), default_tokenizer=config.default_tokenizer)
    return config, given.resolve()


def encoded(config, folder):
    splits = lm_data.load(config)
    (folder / "tokenizer").mkdir(parents=True)
    task.make_tokenizer(config, splits).save(folder / "tokenizer")
    return splits, task.encode(config, splits, task.load_tokenizer(folder / "tokenizer"), folder)


@pytest.mark.long
@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_the_ids_and_batches_are_those_of_the_text(source, tmp_path, values):
    configs = made(source, tmp_path / "made", **values)
    configs = [dataclasses.replace(config, batch_size=4, window=16) for config in configs]
    (texts, expected), (splits, found) = (encoded(config, tmp_path / str(i)) for i, config in enumerate(configs))
    assert np.array_equal(found.train[:], expected.train) and np.array_equal(found.valid, expected.valid)
    assert configs[0].tokenizer == configs[1].tokenizer and configs[0].documents == configs[1].documents
    assert splits.train.characters == texts.train.characters
    assert next(splits.valid.pieces())[:40] == next(texts.valid.pieces())[:40]
    batches = [list(task.batches(config, each, 1, 2)) for config, each in zip(configs, (expected, found), strict=True)]
    assert len(batches[0]) == len(batches[1]) > 0
    for pair in zip(*batches, strict=True):
        assert all(np.array_equal(*arrays) for arrays in zip(*pair, strict=True))


@pytest.mark.parametrize("values", [{}, {"documents": "line"}])
def test_the_validation_text_is_limited(source, tmp_path, monkeypatch, values):
    monkeypatch.setattr(lm_data, "MAX_VALID", 500)
    config = LanguageModelConfig(data=source, **values).resolve()
    whole, limited = lm_data.load(config), lm_data.survey(config)
    assert 300 < limited.valid.characters <= 500 < whole.valid.characters
    total = whole.train.characters + whole.valid.characters
    assert limited.train.characters + limited.valid.characters == total
    own = lm_data.survey(dataclasses.replace(config, valid=source))
    assert 300 < own.valid.characters <= 500 and own.train.characters == total


def test_the_tokenizer_is_made_from_a_random_sample(source, monkeypatch):
    monkeypatch.setitem(shards._MAX_SAMPLE, "subword", 10_000)
    config = LanguageModelConfig(data=source).resolve()
    text = lm_data.survey(config).train
    sample = list(shards.sample_of(config, text))
    assert 0 < len(sample) < len(list(shards.chunks_of(config, text)))
    assert sample == list(shards.sample_of(config, text))


def test_what_prepared_data_does_not_allow_is_refused(source, tmp_path):
    _, config = made(source, tmp_path / "made")
    with pytest.raises(UserError, match="--model ngram counts all tokens in memory"):
        LanguageModelConfig(data=config.data, model="ngram").resolve().check()
    with pytest.raises(UserError, match="--tokenizer word: .* was prepared with subword"):
        LanguageModelConfig(data=config.data, tokenizer="word").resolve()
    with pytest.raises(UserError, match="was prepared for `train language-model`, not for `train char-lm`"):
        LanguageModelConfig(data=config.data, default_tokenizer="character").resolve()
    with pytest.raises(UserError, match="--valid has no effect here: the validation text of prepared data is fixed"):
        LanguageModelConfig(data=config.data, valid=source).resolve().check()
