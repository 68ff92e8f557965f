import json

import numpy as np
import pytest
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2
from sklearn import metrics as sklearn_metrics

from pipelines.labelled.metrics import wilson_interval
from pipelines.tagging import metrics

TOKENS = [["The", "dog", "barks"], ["It", "sees", "the", "cat"]]
EXPECTED = [["DET", "NOUN", "VERB"], ["PRON", "VERB", "DET", "NOUN"]]
PREDICTED = [["DET", "NOUN", "NOUN"], ["PRON", "VERB", "DET", "PROPN"]]


def random_tags(seed, names, num_sentences=60):
    """Expected tags and predicted tags. About 7 of 10 predicted tags are correct."""
    generator = np.random.default_rng(seed)
    expected = [generator.choice(names, generator.integers(1, 12)).tolist() for _ in range(num_sentences)]
    predicted = [[tag if generator.random() < 0.7 else generator.choice(names).item() for tag in t] for t in expected]
    return predicted, expected


def test_accuracy_and_its_interval():
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, None, False)
    assert (scores["sentences"], scores["tokens"], scores["accuracy"]) == (2, 7, 5 / 7)
    assert scores["accuracy_interval"] == wilson_interval(5, 7)
    assert scores["macro_f1_interval"] is None
    assert metrics.accuracy(PREDICTED, EXPECTED) == 5 / 7


def test_words_that_training_does_not_have():
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, {"The", "dog", "It", "sees"}, False)
    assert (scores["unknown_tokens"], scores["unknown_accuracy"]) == (3, 1 / 3)  # barks, the, cat
    known = {"The", "dog", "barks", "It", "sees", "the", "cat"}
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, known, False)
    assert (scores["unknown_tokens"], scores["unknown_accuracy"]) == (0, None)
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, None, False)
    assert (scores["unknown_tokens"], scores["unknown_accuracy"]) == (None, None)


def test_tags_are_scored_as_by_scikit_learn():
    predicted, expected = random_tags(0, ["A", "B", "C", "D"])
    scores = metrics.score(expected, predicted, expected, None, False)
    flat = sum(expected, []), sum(predicted, [])
    assert scores["macro_f1"] == pytest.approx(sklearn_metrics.f1_score(*flat, average="macro"))
    columns = sklearn_metrics.precision_recall_fscore_support(*flat, labels=list(scores["tags"]))
    for found, *right in zip(scores["tags"].values(), *columns):
        assert list(found.values()) == pytest.approx(right)
    matrix = sklearn_metrics.confusion_matrix(*flat, labels=["A", "B", "C", "D"])
    assert [[scores["confusion"][row][column] for column in "ABCD"] for row in "ABCD"] == matrix.tolist()


def test_the_most_frequent_tag_is_first():
    predicted, expected = random_tags(1, ["A", "B", "C", "A"])
    tags = metrics.score(expected, predicted, expected, None, False)["tags"]
    supports = [each["support"] for each in tags.values()]
    assert list(tags)[0] == "A" and supports == sorted(supports, reverse=True)


def test_a_tag_that_does_not_occur_is_left_out_of_the_mean():
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, None, False, tags=["SYM", "DET"])
    assert scores["tags"]["SYM"] == {"precision": None, "recall": None, "f1": None, "support": 0}
    assert scores["tags"]["PROPN"] == {"precision": 0.0, "recall": None, "f1": None, "support": 0}
    assert scores["macro_f1"] == pytest.approx((1 + 1 / 2 + 2 / 3 + 1) / 4)  # DET, NOUN, VERB, PRON
    assert "SYM" not in scores["confusion"] and "PROPN" not in scores["confusion"]


def test_the_interval_of_macro_f1_does_not_count_the_tags_that_a_sample_lacks_as_wrong():
    expected = [["A", "A"]] * 30 + [["B"]]
    scores = metrics.score(expected, expected, expected, None, False)
    assert scores["macro_f1_interval"] == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_spans_are_scored_as_by_seqeval_in_strict_mode(seed):
    predicted, expected = random_tags(seed, ["O", "O", "O", "B-x", "I-x", "B-y", "I-y"])
    scores = metrics.score(expected, predicted, expected, None, True)
    right = classification_report(expected, predicted, mode="strict", scheme=IOB2, output_dict=True)
    total = right["micro avg"]
    found = [scores[name] for name in ("span_precision", "span_recall", "span_f1")]
    assert found == pytest.approx([total["precision"], total["recall"], total["f1-score"]])
    for label in ("x", "y"):
        assert list(scores["spans"][label].values()) == pytest.approx(list(right[label].values()))
    low, high = scores["span_f1_interval"]
    assert 0 < low < scores["span_f1"] < high < 1
    assert metrics.span_f1(predicted, expected) == scores["span_f1"]


def test_without_spans_there_is_no_score_of_spans():
    scores = metrics.score([["a"]], [["O"]], [["O"]], None, True)
    assert [scores[f"span_{name}"] for name in ("precision", "recall", "f1")] == [None, None, None]
    assert scores["spans"] == {}
    assert metrics.span_f1([["O"]], [["O"]]) == 0.0


def test_sentences_that_are_all_right_or_all_wrong_make_the_interval_wider_than_wilsons():
    expected = [["A"] * 20] * 50
    predicted = [["A"] * 20] * 40 + [["B"] * 20] * 10
    low, high = metrics.score(expected, predicted, expected, None, False)["accuracy_interval"]
    wilson_low, wilson_high = wilson_interval(800, 1000)
    assert low < wilson_low - 0.05 and high > wilson_high + 0.05


def test_without_any_mistake_the_interval_is_wilsons():
    expected = [["A", "B"]] * 50
    scores = metrics.score(expected, expected, expected, None, False)
    assert scores["accuracy_interval"] == wilson_interval(100, 100)


def test_two_taggers_on_the_same_sentences():
    predicted, expected = random_tags(2, ["O", "B-x", "I-x"])
    other = [["O"] * len(tags) for tags in expected]
    found = metrics.compare(predicted, other, expected, True)
    assert found["accuracy_difference"] == pytest.approx(
        metrics.accuracy(predicted, expected) - metrics.accuracy(other, expected)
    )
    assert found["span_f1_difference"] == pytest.approx(metrics.span_f1(predicted, expected))
    for name in ("accuracy", "span_f1"):
        low, high = found[f"{name}_difference_interval"]
        assert 0 < low < found[f"{name}_difference"] < high
    assert set(metrics.compare(predicted, other, expected, False)) == {
        "accuracy_difference",
        "accuracy_difference_interval",
    }


def test_taggers_with_the_same_tags_do_not_differ():
    predicted, expected = random_tags(3, ["A", "B"])
    found = metrics.compare(predicted, predicted, expected, False)
    assert found == {"accuracy_difference": 0.0, "accuracy_difference_interval": (0.0, 0.0)}
    few = metrics.compare(predicted[:5], predicted[:5], expected[:5], False)
    assert few["accuracy_difference_interval"] is None


def test_the_scores_are_json():
    predicted, expected = random_tags(4, ["O", "B-x", "I-x"])
    scores = metrics.score(expected, predicted, expected, set(), True)
    assert json.loads(json.dumps(scores))["spans"] == scores["spans"]


def test_a_wrong_number_of_tags_is_an_error():
    with pytest.raises(ValueError):
        metrics.score([["a", "b"]], [["X"]], [["X", "Y"]], None, False)


def test_rare_tags_do_not_shift_the_interval_of_macro_f1():
    """Each sentence has a tag of its own that is never predicted: a sample lacks about a third of them."""
    expected = [["A"] * 9 + [f"rare {i}"] for i in range(40)]
    predicted = [["A"] * 10 for _ in range(40)]
    scores = metrics.score(expected, predicted, expected, None, False)
    low, high = scores["macro_f1_interval"]
    assert scores["macro_f1"] < 0.03 and low == pytest.approx(scores["macro_f1"]) == pytest.approx(high)


def test_a_tagger_without_mistakes_is_not_certain_to_make_none():
    tags = [["B-PER", "O"]] * 30
    scores = metrics.score([["Ann", "sees"]] * 30, tags, tags, {"Ann"}, True)
    low, high = scores["span_f1_interval"]
    assert scores["span_f1"] == high == 1 and low == pytest.approx(wilson_interval(30, 30)[0]) and low < 0.9
