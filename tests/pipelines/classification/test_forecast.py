import numpy as np
import pytest

from pipelines.classification import forecast, ngrams, task
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load
from pipelines.labelled.splits import ShardedTexts
from pipelines.support import machine
from tests.pipelines.classification.conftest import make


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"a dull film number {i} with no plot,bad\na lovely film number {i} with a plot,good\n" for i in range(40)]
    path.write_text("text,label\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize("max_characters", [0, 1000])
def test_it_counts_the_ngrams_that_the_model_counts(max_characters):
    small = make(model="linear", max_characters=max_characters)
    inputs, _ = task.inputs_of(small.config, small.tokenizer, small.splits.train)
    found = sum(map(len, ngrams.hash_texts(inputs, 3, 5 if max_characters else 0)))
    counted = sum(forecast.num_ngrams(text, small.config) for text in small.splits.train.texts)
    assert counted == pytest.approx(found, rel=0.25)


def test_more_texts_and_classes_take_more_memory(data):
    config = ClassificationConfig(data=data).resolve()
    splits = load(config)
    few = forecast.memory(config, splits)
    splits.train.texts = np.repeat(splits.train.texts, 1000)
    many = forecast.memory(config, splits)
    assert 0.9e9 < few < 1e9 < many
    splits.classes = tuple(map(str, range(50)))
    assert forecast.memory(config, splits) > many


def test_without_a_linear_model_in_memory_it_is_unknown(data):
    splits = load(ClassificationConfig(data=data).resolve())
    assert forecast.memory(ClassificationConfig(data=data, model="gru").resolve(), splits) is None
    splits.train = ShardedTexts(object())
    assert forecast.memory(ClassificationConfig(data=data).resolve(), splits) is None


@pytest.mark.parametrize(("free", "is_said"), [(10**8, True), (10**12, False), (None, False)])
def test_a_shortage_is_said_before_the_training(data, free, is_said, monkeypatch, capsys):
    monkeypatch.setattr(machine, "free_memory", lambda: free)
    load(ClassificationConfig(data=data).resolve())
    text = capsys.readouterr().err
    assert ("note: training takes about 0.9 GB of memory, and 100.0 MB are free: " in text) == is_said
