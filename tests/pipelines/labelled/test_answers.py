import numpy as np
import pytest
from sklearn import metrics

from pipelines.data.table_options import DEFAULTS, make
from pipelines.labelled.answers import answers, measure, number_text
from pipelines.labelled.metrics import f1_interval
from pipelines.labelled.multi_label_metrics import compute_scores
from pipelines.support.answers import Answers, compare
from pipelines.support.errors import UserError

NUMBERS = {"config": {"label_type": "number"}}


def values(measured):
    sums = np.ones(len(measured.errors)) @ measured.counts
    return {name: value[0] for name, value in measured.of_sums(sums[None]).items()}


@pytest.mark.parametrize("num_classes", [2, 5])
def test_measures_of_labels_are_those_of_evaluate(num_classes):
    random = np.random.default_rng(0)
    names = [f"c{i}" for i in range(num_classes)]
    right, given = random.integers(num_classes, size=(2, 300))
    measured = measure(Answers([""] * 300, *([names[i] for i in each] for each in (right, given))), about(names))
    found = values(measured)
    confusion = metrics.confusion_matrix(right, given, labels=range(num_classes))
    assert found["accuracy"] == pytest.approx((right == given).mean())
    assert found["f1"] == pytest.approx(f1_interval(confusion)[0])
    assert measured.measures["f1"].title == ("F1 of c1" if num_classes == 2 else "macro-F1")
    np.testing.assert_array_equal(measured.is_right, right == given)


def test_measures_of_several_labels_are_those_of_evaluate():
    random = np.random.default_rng(0)
    names = ["food", "music", "sport"]
    right, given = (random.random((2, 200, 3)) < 0.4).astype(int)
    joined = (["|".join(np.array(names)[row == 1]) for row in each] for each in (right, given))
    measured = measure(Answers([""] * 200, *joined), about(names, labels_separator="|"))
    scores = compute_scores(right, given, given.astype(float), tuple(names))
    found = values(measured)
    assert list(measured.measures) == ["micro_f1", "f1", "accuracy"]
    for name in measured.measures:
        assert found[name] == pytest.approx(scores[name]), name


def test_a_label_that_a_model_does_not_have_is_a_mistake():
    right, given = ["a", "b", "new"] * 10, ["a", "b", "b"] * 10
    found = values(measure(Answers(right, right, given), about(["a", "b", "c"])))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_wrong_answers_that_are_certain_are_the_worst_ones():
    measured = measure(Answers([""] * 3, ["a", "a", "a"], ["a", "b", "b"], ["0.9", "0.6", "0.8"]), about(["a", "b"]))
    assert measured.errors.tolist() == [0, 0.6, 0.8]


def test_numbers_have_errors_and_correlation():
    right = np.random.default_rng(0).normal(size=100)
    near, far = right + 0.01, right + 0.5 * np.random.default_rng(1).normal(size=100)
    found = [
        measure(Answers([""] * 100, *(list(map(number_text, each)) for each in (right, p))), NUMBERS)
        for p in (near, far)
    ]
    differences = compare(*found)
    assert list(differences) == ["mean_absolute_error", "root_mean_squared_error", "r2", "spearman"]
    assert {each.verdict for each in differences.values()} == {"worse"}
    assert differences["mean_absolute_error"].first == pytest.approx(0.01, rel=1e-4)


def about(classes, **config):
    return {"classes": classes, "config": config}


def test_the_answers_of_a_model(exported, topics, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\ngood one,1\nbad one,0\ngone,0\n")
    found = answers(exported, str(path), DEFAULTS)
    assert (list(found.right), list(found.given)) == (
        ["positive", "negative", "negative"],
        ["positive", "negative", "positive"],
    )
    assert found.scores == pytest.approx([0.9, 0.7, 0.9]) and not found.trained_on and not found.note
    path.write_text("text,label\nfood and sport,sport|food\nsport,music|sport\nnothing,\n")
    found = answers(topics, str(path), DEFAULTS)
    assert (found.right, found.given) == (["food|sport", "music|sport", ""], ["food|sport", "sport", ""])
    assert found.note == "1 texts with labels that it does not have (music) count as mistakes"


def test_other_labels_are_refused(exported, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\na text,news\nanother,sport\n")
    with pytest.raises(UserError, match="none of its labels is one of sentiment/1's"):
        answers(exported, str(path), DEFAULTS)
    with pytest.raises(UserError, match="gives each text one label"):
        answers(exported, str(path), make(labels_separator="|"))
