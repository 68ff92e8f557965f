import dataclasses

import numpy as np
import pytest

from pipelines.classification import task
from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.splits import Labelled
from tests.pipelines.classification.conftest import make


@pytest.fixture(scope="module")
def small():
    return make(model="bag", ngram_buckets=500)


def test_the_tokens_that_are_cut_off_are_counted(small):
    long, short = "the plot " * 50, "the plot"
    data = Labelled(np.array([long, short], dtype=object), np.array([0, 1], np.int32))
    ids, cut = task.ids_of(small.config, small.tokenizer, data)
    assert ids.row_lengths().numpy().tolist() == [30, 4]
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


def test_the_options_of_fit_initialize_the_linear_model(small, tmp_path):
    small = make(model="bag", max_ngrams=20, word_vectors="cooccurrence", class_weights=True)
    config = dataclasses.replace(small.config, embedding_size=16)
    encoded = task.encode(config, small.splits, small.tokenizer, tmp_path)
    model = task.build(config, small.splits, small.tokenizer, training=True)
    words = model.get_layer("words").get_weights()[0]
    options = task.fit_options(config, encoded, model)
    np.testing.assert_array_equal(model.get_layer("words").get_weights()[0], words)  # nothing has changed yet
    assert options.class_weight == {0: 1.0, 1: 1.0}
    options.initialize()
    assert (model.get_layer("words").get_weights()[0] != words).any()
    assert any(weight.any() for weight in model.get_layer("ngram_logits").get_weights())


def test_there_is_an_example_request_for_every_signature(small):
    requests = task.example_requests(small.servable)
    assert set(requests) == set(small.servable.signatures()) == {"serving_default", "explain"}
    assert all(set(inputs) == {"text"} for inputs in requests.values())


def load(tmp_path, rows, **values):
    (tmp_path / "a.csv").write_text("text,label,url\n" + "".join(f"{t},{label},{url}\n" for t, label, url in rows))
    return task.load(ClassificationConfig(data=str(tmp_path / "a.csv"), polarity=True, **values))


def phones(classes=("neg", "pos")):
    """Rows in which one class says "sturdy" and the other "noisy"."""
    sentences = "It is a very noisy telephone.", "It is a very sturdy telephone."
    return [(f"{sentences[i % 2]} Number {i}", classes[i % 2], f"url {i}") for i in range(60)]


def test_generated_sentences_are_added_only_to_training(tmp_path):
    without = load(tmp_path, phones())
    splits = load(tmp_path, phones(), num_negations=100)
    assert splits.train.num_generated == 100 and without.train.num_generated == 0
    assert splits.train.texts[:-100].tolist() == without.train.texts.tolist()
    assert splits.valid.texts.tolist() == without.valid.texts.tolist()
    assert splits.notes == {'added to training, generated sentences with and without "not"': 100}


def test_no_sentences_are_generated_for_classes_other_than_negative_and_positive(tmp_path):
    splits = load(tmp_path, phones(classes=("hardware", "software")), num_negations=100)
    assert splits.train.num_generated == 0 and not splits.notes


def test_without_polarity_labels_stay_as_they_are_spelled(tmp_path):
    (tmp_path / "a.csv").write_text(
        "text,label\n" + "".join(f"text {i},{('Pos ', '1.0', 'neg')[i % 3]}\n" for i in range(60))
    )
    splits = task.load(ClassificationConfig(data=str(tmp_path / "a.csv")).resolve())
    assert splits.classes == ("1.0", "Pos", "neg")


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
        config = ClassificationConfig(**values).resolve()
        splits = load(tmp_path, phones(), num_negations=num_negations)
        model = task.build(config, splits, small.tokenizer, training=True)
        task.initialize(config, model, task.ids_of(config, small.tokenizer, splits.train)[0], splits.train)
        fitted.append(model.get_layer("ngram_logits").get_weights())
    for without, with_sentences in zip(*fitted, strict=True):
        np.testing.assert_array_equal(without, with_sentences)
    assert any(weight.any() for weight in fitted[0])
