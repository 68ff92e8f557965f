import numpy as np
import pytest

from pipelines.learn.format import WIDTH, format_lesson, format_number, format_values
from pipelines.learn.steps import Lesson, Step, Values


def test_a_matrix_is_aligned_under_its_labels():
    matrix = Values("M", np.array([[1.0, -0.5], [10.25, 0.0001]]), ("a", "long"), ("x", "wide"), digits=2)
    assert format_values(matrix) == [
        "              x   wide",
        "M = a    [ 1.00  -0.50]",
        "    long [10.25   0.00]",
    ]


def test_vectors_and_numbers_are_one_line():
    assert format_values(Values("v", np.array([1, 20]))) == ["v = [1  20]"]
    assert format_values(Values("n", 98560)) == ["n = 98,560"]
    assert format_values(Values("x", 1.29049)) == ["x = 1.290"]
    assert format_values(Values("x", np.array([np.inf, 1.0]), digits=0, infinite=">9")) == ["x = [>9  1]"]


def test_only_rows_that_differ_show_what_they_were():
    matrix = Values("M", np.array([[1.0], [2.0]]), digits=0, before=np.array([[1.0], [-3.0]]))
    assert format_values(matrix) == ["M = [ 1]", "    [ 2]   was [-3]"]
    assert format_values(Values("x", 1.0, before=2.0, digits=1)) == ["x = 1.0   was 2.0"]
    assert format_values(Values("x", 1.0001, before=1.0, digits=1)) == ["x = 1.0"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [(-0.0001, "0.00"), (1234.5, "1,234.50"), (2.5e7, "2.5e+07"), (np.inf, "infinite"), (np.nan, "undefined")],
)
def test_numbers(number, expected):
    assert format_number(number, 2) == expected


def test_matrices_stand_side_by_side_as_far_as_they_fit():
    values = [Values(name, np.ones((2, 8))) for name in "ABC"]
    lines = format_lesson(Lesson("t", "q", (Step("s", values=tuple(values)),)))
    assert [line.count("=") for line in lines if "=" in line] == [1, 1, 1]
    small = [Values(name, np.ones((2, 2))) for name in "ABC"]
    lines = format_lesson(Lesson("t", "q", (Step("s", values=tuple(small)),)))
    assert [line.count("=") for line in lines if "=" in line] == [3]


def test_names_stand_in_one_line_beside_a_matrix_with_a_header():
    values = (Values("a", np.array([1])), Values("b", np.array([[2], [3]]), columns=("x",)))
    lines = format_lesson(Lesson("t", "q", (Step("s", values=values),)))
    assert lines[-3:] == ["                    x", "   a = [1]     b = [2]", "                   [3]"]


@pytest.mark.parametrize("layer", ["keras.layers.SimpleRNN", "keras.layers." + "X" * 70])
def test_no_line_is_too_wide_and_the_layer_is_at_the_right(layer):
    step = Step("title " * 8, "a = b\nc = d", (), layer, "many words " * 30, ("picture",))
    lines = format_lesson(Lesson("t", "question " * 30, (step,)))
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.endswith(f"[{layer}]") and len(line) == WIDTH for line in lines) == 1
    assert "   c = d" in lines and "   picture" in lines
    assert not any(line != line.rstrip() for line in lines)
