"""The explanations of an export, checked from outside: by deleting words."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification.servable import MAX_PIECES, Classifier
from pipelines.classification.task import example_requests
from pipelines.data.fields import NUMBER, Field
from pipelines.export.saved_model import concrete_function
from pipelines.export.signatures import BatchedSignature
from pipelines.labelled.outputs import MOST_PROBABLE, Decision
from tests.pipelines.classification.conftest import TEXTS, make

LARGE = {"scale": 0.5, "max_tokens": 1000}


def log_odds(servable, texts, label):
    probabilities = servable.classify(tf.constant(texts))["probabilities"].numpy().astype(np.float64)[:, label]
    return np.log(probabilities) - np.log1p(-probabilities)


@pytest.mark.long
@pytest.mark.parametrize(
    "values",
    [
        {"model": "best", "max_ngrams": 50},
        pytest.param({"model": "bag", "ngram_buckets": 100}, marks=pytest.mark.exhaustive),
        pytest.param({"model": "lstm", "num_classes": 3}, marks=pytest.mark.long),
        pytest.param({"model": "linear"}, marks=pytest.mark.exhaustive),
        pytest.param({"model": "linear", "max_characters": 20, "num_classes": 3}, marks=pytest.mark.long),
    ],
    ids=["best", "bag", "lstm", "linear", "linear with a window"],
)
def test_a_weight_is_what_the_log_odds_lose_without_the_word(values):
    servable = make(**LARGE, **values).servable
    texts = ["the plot was not at all dull", "charming", "it was a brilliant film and the unheard-of cast was good"]
    outputs = {name: value.numpy() for name, value in servable.explain(tf.constant(texts)).items()}
    plain = servable.classify(tf.constant(texts))
    np.testing.assert_allclose(outputs["probabilities"], plain["probabilities"], atol=1e-5)
    np.testing.assert_array_equal(outputs["label"], plain["label"])
    num_checked = 0
    for row, text in enumerate(texts):
        pieces = [piece.decode() for piece in outputs["pieces"][row] if piece]
        assert " ".join(pieces) == text.replace("-", " - ")
        label = int(outputs["probabilities"][row].argmax())
        whole = log_odds(servable, [text], label)[0]
        for i in range(len(pieces)):
            without = log_odds(servable, [" ".join(pieces[:i] + pieces[i + 1 :])], label)[0]
            if max(abs(whole), abs(without)) < 8:  # beyond, a float32 probability is too near to 1
                assert outputs["weights"][row, i] == pytest.approx(whole - without, abs=2e-2)
                num_checked += 1
        assert not outputs["weights"][row, len(pieces) :].any()
    assert num_checked > 3


@pytest.mark.long
@pytest.mark.parametrize(
    "values",
    [pytest.param({"model": "best", "max_ngrams": 50}, marks=pytest.mark.long), {"model": "bag", "ngram_buckets": 0}],
)
def test_with_several_labels_there_is_a_weight_for_every_class(values):
    servable = make(**LARGE, num_classes=3, data="a.csv", labels_separator="|", **values).servable
    text = "it was a dull film but the cast was good"
    outputs = {name: value.numpy() for name, value in servable.explain(tf.constant([text, ""])).items()}
    assert outputs["labels"].shape == outputs["probabilities"].shape == (2, 3)
    words = text.split()
    assert outputs["weights"].shape == (2, len(words), 3) and not outputs["weights"][1].any()
    for label in range(3):
        whole = log_odds(servable, [text], label)[0]
        for i in (1, 3, 8):
            without = log_odds(servable, [" ".join(words[:i] + words[i + 1 :])], label)[0]
            assert outputs["weights"][0, i, label] == pytest.approx(whole - without, abs=2e-2)


@pytest.mark.long
def test_with_a_threshold_the_explanation_is_that_of_the_label_it_gives():
    high, low = (make(**LARGE, model="bag", ngram_buckets=0, threshold=text).servable for text in ("0.999", "0.001"))
    texts = tf.constant(["the plot was dull and charming"])
    outputs = [{name: value.numpy() for name, value in servable.explain(texts).items()} for servable in (high, low)]
    assert [output["label"][0] for output in outputs] == [b"negative", b"positive"]
    np.testing.assert_allclose(outputs[0]["weights"], -outputs[1]["weights"], atol=1e-4)


@pytest.fixture(scope="module", params=["word", "subword", "character"])
def small(request):
    return make(**LARGE, model="bag", tokenizer=request.param, vocabulary_size=120, ngram_buckets=0)


@pytest.mark.long
def test_in_a_long_text_neighbouring_words_are_one_piece():
    servable = make(**LARGE, model="bag", ngram_buckets=0).servable
    words = ["dull", "charming", "plot", "the", "was"] * 90
    outputs = servable.explain(tf.constant([" ".join(words)]))
    pieces = [piece.decode() for piece in outputs["pieces"].numpy()[0]]
    assert len(pieces) <= MAX_PIECES and " ".join(pieces).split() == words
    label = int(outputs["probabilities"].numpy()[0].argmax())
    for i in (0, 7, len(pieces) - 1):
        without = log_odds(servable, [" ".join(pieces[:i] + pieces[i + 1 :])], label)[0]
        expected = log_odds(servable, [" ".join(words)], label)[0] - without
        assert outputs["weights"].numpy()[0, i] == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("text", ["", " ", "\U0001f600", "a" * 50_000, "\x00", "<br />"])
def test_every_text_is_explained(small, text):
    outputs = small.servable.explain(tf.constant([text, TEXTS[0]]))
    assert np.isfinite(outputs["weights"].numpy()).all()
    assert outputs["pieces"].shape == outputs["weights"].shape
    for piece in outputs["pieces"].numpy().ravel():
        piece.decode()


def test_empty_texts_alone_are_explained(small):
    assert small.servable.explain(tf.constant(["", ""]))["pieces"].shape == (2, 0)


def test_labels_are_in_the_order_of_the_texts(small):
    classify = BatchedSignature(small.servable.classify, batch_size=7)
    batch = classify(TEXTS)["probabilities"]
    for i in (0, 13, 39):
        np.testing.assert_allclose(classify([TEXTS[i]])["probabilities"][0], batch[i], atol=1e-5)


def with_columns(small, *fields, decision=MOST_PROBABLE):
    return Classifier(small.model, small.tokenizer, 30, 0, ("bad", "fair", "good"), decision, fields=fields)


def answers(servable, texts):
    return {name: value.numpy().tolist() for name, value in servable.classify(tf.constant(texts)).items()}


@pytest.mark.long
def test_a_model_of_several_columns_names_its_classes():
    small = make(**LARGE, model="bag", ngram_buckets=0, num_classes=3)
    servable = with_columns(small, Field("a title"), Field("price", NUMBER, (1.0, 2.0)))
    signatures = {name: concrete_function(each) for name, each in servable.signatures().items()}
    assert list(signatures) == ["serving_default", "composed", "columns", "classes", "explain"]
    columns = {"a_title": tf.constant(["dull", "charming"]), "price": tf.constant([1.5, float("nan")])}
    plain = signatures["serving_default"](**columns)
    found = signatures["classes"](**columns, k=tf.constant(2))
    for name in ("top_labels", "top_scores"):
        np.testing.assert_array_equal(found[name], plain[name].numpy()[:, :2])
    composed = signatures["composed"](text=tf.constant(["dull \u241e na", "charming \u241e missing"]))
    assert {*composed, "composed"} == set(plain)
    assert not {"top_labels", "top_scores"} & set(signatures["explain"].structured_outputs)
    requests = example_requests(servable)
    assert set(requests["classes"]) == {"a_title", "price", "k"} and set(requests) == set(signatures)


def test_a_column_with_the_name_of_the_input_stays_an_input():
    small = make(**LARGE, model="bag", ngram_buckets=0, num_classes=3)
    servable = with_columns(small, Field("k"), Field("b"))
    assert list(servable.signatures()) == ["serving_default", "composed", "columns", "explain"]
    assert set(example_requests(servable)["serving_default"]) == {"k", "b"}


def test_a_model_of_numbers_has_no_classes():
    small = make(**LARGE, model="bag", ngram_buckets=0, num_classes=3)
    of_numbers = Decision(number=(0.0, 1.0))
    servable = Classifier(small.model, small.tokenizer, 30, 0, ("1", "2", "3"), of_numbers)
    assert list(servable.signatures()) == ["serving_default"] and list(answers(servable, ["dull"])) == ["value"]
    columns = with_columns(small, Field("a"), Field("b"), decision=of_numbers)
    assert list(columns.signatures()) == ["serving_default", "composed", "columns"]


def test_several_labels_are_named_beside_the_labels():
    servable = make(**LARGE, num_classes=3, data="a.csv", labels_separator="|", model="bag", ngram_buckets=0).servable
    found = answers(servable, ["dull", ""])
    assert list(found) == ["labels", "probabilities", "top_labels", "top_scores"]
    for probabilities, scores in zip(found["probabilities"], found["top_scores"], strict=True):
        assert scores == sorted(probabilities, reverse=True)
