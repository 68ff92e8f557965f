import dataclasses

import numpy as np
import pytest

from pipelines.classification import forecast, task
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load
from pipelines.labelled.labelled_splits import ShardedTexts
from pipelines.linear import ngrams
from pipelines.support import machine
from tests.pipelines.classification.conftest import make


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"a dull film number {i} with no plot,bad\na lovely film number {i} with a plot,good\n" for i in range(40)]
    path.write_text("text,label\n" + "".join(rows))
    return str(path)


@pytest.mark.long
@pytest.mark.parametrize("max_characters", [0, 1000])
def test_it_counts_the_ngrams_that_the_model_counts(max_characters):
    small = make(model="linear", max_characters=max_characters)
    inputs, _ = task.inputs_of(small.config, small.tokenizer, small.splits.train)
    found = sum(map(len, ngrams.hash_texts(inputs, 3, 5 if max_characters else 0)))
    counted = sum(forecast.num_ngrams(text, small.config, 2) for text in small.splits.train.texts)
    assert counted == pytest.approx(found, rel=0.25)


def test_more_texts_and_classes_take_more(data):
    config = ClassificationConfig(data=data).resolve()
    splits = load(config)
    few = forecast.needs(config, splits)
    splits.train.texts = np.repeat(splits.train.texts, 1000)
    many = forecast.needs(config, splits)
    assert 0.9e9 < few.memory < 1e9 < many.memory and few.seconds < 10 < many.seconds
    linear = forecast.needs(dataclasses.replace(config, model="linear"), splits)
    assert linear.memory == many.memory and linear.seconds < many.seconds
    splits.classes = tuple(map(str, range(15)))
    several = forecast.needs(config, splits)
    assert several.memory > many.memory and several.seconds > many.seconds
    splits.classes = tuple(map(str, range(1000)))
    assert forecast.needs(config, splits).seconds > 200
    assert forecast.needs(dataclasses.replace(config, minutes=1.0), splits).seconds == 60


def test_without_a_linear_model_in_memory_it_is_unknown(data):
    splits = load(ClassificationConfig(data=data).resolve())
    config = ClassificationConfig(data=data, model="gru").resolve()
    assert forecast.needs(config, splits) is None and forecast.remarks(config, splits) == []
    splits.train = ShardedTexts(object())
    assert forecast.needs(ClassificationConfig(data=data).resolve(), splits) is None


def test_a_training_of_minutes_says_so_before_it_starts(data, monkeypatch):
    config = ClassificationConfig(data=data).resolve()
    splits = load(config)
    monkeypatch.setattr(machine, "free_memory", lambda: None)
    assert forecast.remarks(config, splits) == []
    splits.train.texts = np.repeat(splits.train.texts, 1000)
    assert forecast.remarks(config, splits) == ["expected: about 4 min on two processors, 1.4 GB of memory"]


@pytest.mark.parametrize(("free", "is_said"), [(10**8, True), (10**12, False), (None, False)])
def test_a_shortage_is_said_before_the_training(data, free, is_said, monkeypatch, capsys):
    monkeypatch.setattr(machine, "free_memory", lambda: free)
    load(ClassificationConfig(data=data).resolve())
    text = capsys.readouterr().err
    assert ("note: training takes about 0.9 GB of memory, and 100.0 MB are free: " in text) == is_said
