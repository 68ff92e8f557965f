import copy
import dataclasses
import types

import numpy as np
import pytest

from pipelines.classification import task
from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.labelled_splits import Labelled
from pipelines.linear import linear_model
from tests.pipelines.classification.conftest import make
from tests.pipelines.classification.test_data import load_rows, phones


@pytest.fixture(scope="module")
def small():
    return make(model="bag", ngram_buckets=500)


def test_the_tokens_that_are_cut_off_are_counted(small):
    long, short = "the plot " * 50, "the plot"
    data = Labelled(np.array([long, short], dtype=object), np.array([0, 1], np.int32))
    inputs, cut = task.inputs_of(small.config, small.tokenizer, data)
    assert inputs["ids"].row_lengths().numpy().tolist() == [30, 4]
    assert cut == {"texts_cut": 0.5, "tokens_lost": pytest.approx(72 / 106)}


def test_an_epoch_skipped_in_part_is_the_rest_of_that_epoch(small, tmp_path):
    encoded = task.encode(small.config, small.splits, small.tokenizer, tmp_path)
    whole = list(task.batches(small.config, encoded, epoch=1, skip=0))
    assert len(whole) == task.steps_per_epoch(small.config, encoded) == 2
    assert sum(len(labels) for _, labels in whole) == task.items_per_epoch(encoded)
    (rest,) = task.batches(small.config, encoded, epoch=1, skip=1)
    np.testing.assert_array_equal(rest[0], whole[1][0])
    other = next(iter(task.batches(small.config, encoded, epoch=2, skip=0)))
    assert other[0].shape != whole[0][0].shape or (other[0].numpy() != whole[0][0].numpy()).any()


def test_batches_have_the_weights_of_texts_and_of_their_classes(tmp_path):
    small = make(model="bag", class_weights=True)
    splits = copy.deepcopy(small.splits)
    splits.train.weights = np.arange(len(splits.train)) + 1.0
    splits.train.labels = (np.arange(len(splits.train)) % 4 == 0).astype(np.int32)
    encoded = task.encode(small.config, splits, small.tokenizer, tmp_path)
    found = np.concatenate([weights for *_, weights in task.batches(small.config, encoded, epoch=0, skip=0)])
    labels = np.concatenate([labels for _, labels, _ in task.batches(small.config, encoded, epoch=0, skip=0)])
    of_class = np.where(labels == 1, 2, 2 / 3)  # 60 texts: 15 of class 1 and 45 of class 0
    np.testing.assert_allclose(np.sort(found / of_class), splits.train.weights, rtol=1e-5)
    assert task.fit_options(small.config, encoded, small.model).class_weight is None


def test_the_options_of_fit_initialize_the_linear_model(small, tmp_path):
    small = make(model="bag", max_ngrams=20, word_vectors="cooccurrence", class_weights=True)
    config = dataclasses.replace(small.config, embedding_size=16)
    encoded = task.encode(config, small.splits, small.tokenizer, tmp_path)
    model = task.build(config, small.splits, small.tokenizer, encoded, training=True)
    words = model.get_layer("words").get_weights()[0]
    options = task.fit_options(config, encoded, model)
    np.testing.assert_array_equal(model.get_layer("words").get_weights()[0], words)  # nothing has changed yet
    assert options.class_weight == {0: 1.0, 1: 1.0}
    options.initialize()
    assert (model.get_layer("words").get_weights()[0] != words).any()
    assert any(weight.any() for weight in model.get_layer("ngram_logits").get_weights())


def test_there_is_an_example_request_for_every_signature(small):
    requests = task.example_requests(small.servable)
    assert set(requests) == set(small.servable.signatures()) == {"serving_default", "classes", "explain"}
    for name, inputs in requests.items():
        assert set(inputs) == ({"text", "k"} if name == "classes" else {"text"})


def test_the_linear_model_does_not_learn_from_generated_sentences(small, tmp_path):
    fitted = []
    for num_negations in (0, 100):
        values = {
            "model": "best",
            "preset": "quick",
            "max_ngrams": 100,
            "num_negations": num_negations,
            "polarity": True,
        }
        config = ClassificationConfig(**values).resolve().complete(40)
        splits = load_rows(tmp_path, phones(), num_negations=num_negations)
        model = task.build(config, splits, small.tokenizer, None, training=True)
        task.initialize(config, model, task.encode(config, splits, small.tokenizer, tmp_path))
        fitted.append(model.get_layer("ngram_logits").get_weights())
    for without, with_sentences in zip(*fitted, strict=True):
        np.testing.assert_array_equal(without, with_sentences)
    assert any(weight.any() for weight in fitted[0])


@pytest.mark.long
@pytest.mark.parametrize("model", ["best", "bag"])
def test_the_texts_of_validation_are_trained_on_before_those_that_are_generated(tmp_path, monkeypatch, model):
    monkeypatch.setattr(linear_model, "_FEW_TEXTS", 10)
    small = make(model=model, max_ngrams=100, refit="all")
    texts, labels = small.splits.train.texts, small.splits.train.labels
    train = Labelled(texts[:50], labels[:50], num_generated=10, weights=np.arange(50.0))
    splits = dataclasses.replace(small.splits, train=train, valid=Labelled(texts[50:], labels[50:]))
    encoded = task.encode(small.config, splits, small.tokenizer, tmp_path)
    task.initialize(small.config, small.model, encoded)
    choice, joined = encoded.choice, []
    assert task.refit(small.config, encoded, small.model, servable_with(1.0, 1.0), joined.append) == len(texts)
    order = [*range(40), *range(50, 60), *range(40, 50)]
    (joined,) = joined
    assert joined.splits.train.texts.tolist() == texts[order].tolist()
    assert joined.splits.train.labels.tolist() == labels[order].tolist()
    assert joined.splits.train.weights.tolist() == [*range(40), *[1] * 10, *range(40, 50)]
    expected = task.inputs_of(small.config, small.tokenizer, joined.splits.train)[0]
    assert {name: values.to_list() for name, values in joined.train.items()} == {
        name: values.to_list() for name, values in expected.items()
    }
    assert (len(joined), len(joined.hashed), joined.choice) == (60, 50, choice)
    # The network has as many n-grams as before, although there are more texts.
    task.build(small.config, splits, small.tokenizer, joined, training=True)
    task.initialize(small.config, small.model, joined)


@pytest.mark.parametrize(
    ("values", "factors", "expected"),
    [
        ({"model": "bag", "refit": "linear"}, (1.0,), 0),
        ({"model": "bag", "refit": "none", "max_ngrams": 50}, (1.0, 1.0), 0),
        ({"model": "bag", "refit": "linear", "max_ngrams": 50}, (1.0, 1.0), 120),
        ({"model": "bag", "refit": "linear", "max_ngrams": 50}, (1.0, 0.0), 0),
        ({"model": "bag", "refit": "all", "max_ngrams": 50}, (0.0, 1.0), 120),
        ({"model": "linear", "refit": "all"}, (1.0,), 120),
    ],
)
def test_nothing_that_does_not_help_is_trained_again(tmp_path, values, factors, expected):
    small = make(**values)
    encoded = task.encode(small.config, small.splits, small.tokenizer, tmp_path)
    task.initialize(small.config, small.model, encoded)
    servable = servable_with(*factors)
    assert task.refit(small.config, encoded, small.model, servable, lambda joined: pytest.fail("trained")) == expected


@pytest.mark.parametrize(("few", "num_searches"), [(100, 1), (200, 2)])
def test_the_settings_are_chosen_anew_on_all_texts_if_they_are_few(tmp_path, monkeypatch, few, num_searches):
    small = make(model="linear")
    monkeypatch.setattr(linear_model, "_FEW_TEXTS", few)
    searched, choose = [], linear_model.choose
    monkeypatch.setattr(linear_model, "choose", lambda problem, size: searched.append(problem) or choose(problem, size))
    encoded = task.encode(small.config, small.splits, small.tokenizer, tmp_path)
    task.initialize(small.config, small.model, encoded)
    task.refit(small.config, encoded, small.model, servable_with(1.0), None)
    assert [problem.occurrences.shape[0] for problem in searched] == [60, 120][:num_searches]


def servable_with(*factors):
    return types.SimpleNamespace(calibration=types.SimpleNamespace(factors=factors))
