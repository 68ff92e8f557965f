import numpy as np
import pytest

from pipelines.support.answers import (
    BETTER,
    EQUAL,
    PART_END,
    UNKNOWN,
    WORSE,
    Answers,
    Measure,
    Measured,
    changes,
    compare,
    sentences,
    unknown_note,
)


def measured(errors, is_lower_better=True, is_fraction=False, is_right=None):
    errors = np.array(errors, float)
    measures = {"accuracy" if is_right is not None else "mean": Measure("mean error", is_lower_better, is_fraction)}
    name = next(iter(measures))
    return Measured(measures, errors[:, None], lambda sums: {name: sums[:, 0] / len(errors)}, errors, is_right)


def test_the_intervals_are_paired():
    """Two models whose errors differ little but vary much from text to text."""
    level = np.random.default_rng(0).normal(10, 5, 400)
    first, second = measured(level), measured(level + np.random.default_rng(1).normal(0.1, 0.2, 400))
    (found,) = compare(first, second).values()
    assert found.verdict == WORSE and found.difference == pytest.approx(found.second - found.first)
    low, high = found.interval
    assert 0.05 < low < found.difference < high < 0.15
    (other,) = compare(second, first).values()
    assert other.verdict == BETTER and other.interval == pytest.approx((-high, -low))


def test_higher_values_may_be_better():
    errors = np.arange(50.0)
    (found,) = compare(measured(errors, False), measured(errors + 1, False)).values()
    assert found.verdict == BETTER and found.difference == pytest.approx(1)


def test_equal_models_and_few_texts_have_no_verdict():
    (equal,) = compare(measured(range(20)), measured(range(20))).values()
    assert equal.verdict == EQUAL and equal.interval == (0, 0)
    (few,) = compare(measured(range(9)), measured(range(1, 10))).values()
    assert few.verdict == UNKNOWN and few.interval is None and few.difference == pytest.approx(1)


def test_a_measure_that_only_one_model_has_or_means_is_left_out():
    first, second = measured(range(20)), measured(range(20), is_lower_better=False)
    assert compare(first, second) == {}


def test_an_undefined_measure_has_no_difference():
    first = measured(range(20))
    undefined = first._replace(of_sums=lambda sums: {"mean": np.full(len(sums), np.nan)})
    (found,) = compare(first, undefined).values()
    assert found[:3] == (pytest.approx(9.5), None, None) and found.verdict == UNKNOWN
    (line,) = sentences(("A", "B"), (first, undefined), {"mean": found})
    assert line.startswith("B against A, on 20 texts: mean error is undefined")


def test_the_accuracy_of_whole_answers_counts_the_answers_that_one_gets_right():
    is_right = np.arange(40) >= 20, np.arange(40) >= 5
    first, second = (measured(right, False, True, right) for right in is_right)
    found = compare(first, second)
    (line,) = sentences(("A", "B"), (first, second), found)
    assert line.startswith("B against A, on 40 texts: +37.5 points of mean error (95 % interval +")
    assert "only B is right on 15, only A on 0 (McNemar p = " in line and line.endswith("B is better.")


def test_changes_are_in_the_order_in_which_the_second_model_is_worse():
    texts, right = ["t1", "t2", "t3", "t4"], ["x", "x", "x", "x"]
    first = Answers(texts, right, ["x", "y", "x", "x"])
    second = Answers(texts, right, ["x", "x", "y", "z"])
    errors = np.array([0, 1, 0, 0]), np.array([0, 0, 0.5, 1])
    assert [each["text"] for each in changes(first, second, errors)] == ["t4", "t3", "t2"]
    assert changes(first, second, errors)[0] == {"text": "t4", "a": "x", "b": "z", "right": "x"}
    assert changes(first, first, errors) == []


def test_changes_of_tags_have_the_tokens_that_differ():
    tags = [PART_END.join(each) for each in ("OBO", "OBI", "OOI")]
    tokens = [["an", "old", "man"]]
    first, second = (Answers(["an old man"], tags[2:], [each], tokens=tokens) for each in tags[:2])
    (change,) = changes(first, second, (np.zeros(1), np.zeros(1)))
    assert change == {"text": "an old man", "a": "man/O", "b": "man/I", "right": "man/I"}


def test_the_note_on_unknown_answers():
    assert unknown_note("texts with labels", {}) == ""
    note = unknown_note("texts with labels", {"spam": 1200, "ham": 1})
    assert note == "1,201 texts with labels that it does not have (spam, ham) count as mistakes"
