import numpy as np
import pytest

from pipelines.labelled.top_classes import by_probability, runners_up


def test_the_most_probable_class_is_first():
    named = by_probability(["a", "b", "c"], np.array([0.25, 0.1234567, 0.6265433], np.float32))
    assert list(named.items()) == [("c", 0.626543), ("a", 0.25), ("b", 0.123457)]
    assert list(by_probability(["a", "b", "c"], [0.4, 0.2, 0.4], 2)) == ["a", "c"]
    assert list(by_probability(["a"], [1.0], 5)) == ["a"] and by_probability([], []) == {}


def test_names_and_probabilities_belong_together():
    with pytest.raises(ValueError, match="shorter"):
        by_probability(["a", "b"], [1.0])


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"label": "a", "probabilities": by_probability("abcdefg", [0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02])},
         "b 0.300, c 0.100, d 0.100, e 0.050"),
        ({"label": "b", "probabilities": by_probability("abc", [0.4, 0.3, 0.3])}, "a 0.400, c 0.300"),  # ordinal
        ({"label": "", "probabilities": by_probability("abc", [0.4, 0.3, 0.3])}, "a 0.400, b 0.300, c 0.300"),
        ({"label": "a", "probabilities": by_probability("ab", [0.6, 0.4])}, ""),
        ({"labels": ["a"], "probabilities": by_probability("abc", [0.6, 0.4, 0.1])}, ""),
        ({"label": "a", "score": 0.5}, ""),  # the server of an export of 0.11.0
        ({"value": 3.0}, ""),
    ],
)  # fmt: skip
def test_the_line_of_the_classes_after_the_label(result, line):
    assert runners_up(result) == line
