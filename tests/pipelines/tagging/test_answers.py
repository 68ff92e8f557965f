import numpy as np
import pytest

from pipelines.support.answers import PART_END, Answers, compare
from pipelines.tagging import metrics
from pipelines.tagging.answers import measure


def tags_of(random, sentences=60):
    return [random.choice(["O", "O", "B-PER", "I-PER", "B-LOC"], size=5).tolist() for _ in range(sentences)]


def joined(*sentences):
    return [list(map(PART_END.join, each)) for each in sentences]


def test_the_measures_are_those_of_evaluate():
    random = np.random.default_rng(0)
    right, first = tags_of(random), tags_of(random)
    second = [a if i % 2 else b for i, (a, b) in enumerate(zip(first, right))]
    answers = [Answers([""] * 60, *joined(right, each)) for each in (first, second)]
    measured = [measure(each, {"classes": ["O", "B-PER", "I-PER", "B-LOC"]}) for each in answers]
    found = compare(*measured)
    assert list(found) == ["span_f1", "accuracy"] and {each.verdict for each in found.values()} == {"better"}
    for each, name in ((first, "first"), (second, "second")):
        assert getattr(found["span_f1"], name) == pytest.approx(metrics.span_f1(each, right))
        assert getattr(found["accuracy"], name) == pytest.approx(metrics.accuracy(each, right))
    expected = metrics.compare(second, first, right, True)
    assert found["span_f1"].interval == pytest.approx(expected["span_f1_difference_interval"])
    assert measured[0].errors[0] == sum(a != b for a, b in zip(first[0], right[0]))


def test_tags_that_mark_no_spans_have_the_accuracy_alone():
    right = [["NOUN", "VERB"]] * 12
    answers = Answers([""] * 12, *joined(right, [["NOUN", "NOUN"]] * 12))
    measured = measure(answers, {"classes": ["NOUN", "VERB"]})
    assert list(measured.measures) == ["accuracy"] and measured.unit == "sentences"
    assert compare(measured, measured)["accuracy"].first == 0.5
