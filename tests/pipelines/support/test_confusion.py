import numpy as np
import pytest

from pipelines.support import charts, confusion

COUNTS = {"NOUN": {"NOUN": 90, "VERB": 10}, "VERB": {"VERB": 2, "NOUN": 6, "ADJ": 1}, "ADJ": {"ADJ": 300, "VERB": 1}}


def test_the_confusion_of_classes_is_counted():
    labels, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0])
    assert confusion.count(labels, predicted, ["a", "b", "c"]) == {
        "a": {"a": 1, "b": 1},
        "b": {"b": 1, "a": 2},
        "c": {},
    }


def test_the_most_frequent_confusion_is_first():
    assert confusion.most_frequent(COUNTS, 2) == [("NOUN", "VERB", 10), ("VERB", "NOUN", 6)]
    assert confusion.most_frequent({"A": {"A": 5, "B": 0}}, 2) == []


def test_the_report_lists_the_ten_most_frequent_confusions():
    lines = confusion.report_lines(COUNTS, "tag", "tokens")
    assert "The picture shows all tags." in lines[0]
    assert "| NOUN | VERB | 10 | 55.6 % |" in lines
    many = {f"T{i}": {f"T{i}": 9, f"T{i + 1}": 1} for i in range(30)}
    lines = confusion.report_lines(many, "label", "texts")
    assert "the 20 of 30 labels that are confused most often" in lines[0]
    assert sum(line.startswith("| T") for line in lines) == confusion.NUM_LISTED == 10
    assert "No label is confused with another one." in confusion.report_lines({"a": {"a": 1}}, "label", "texts")


def numbers(figure):
    """The texts in the cells: (row, column) -> text."""
    (axes,) = figure.axes
    return {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in axes.texts}


def test_each_row_has_the_percentages_of_a_true_tag():
    figure = confusion.draw(COUNTS, "tag")
    assert numbers(figure) == {
        (0, 0): "90",
        (0, 1): "10",
        (1, 0): "67",
        (1, 1): "22",
        (1, 2): "11",
        (2, 2): "100",
    }
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["NOUN", "VERB", "ADJ"]
    assert axes.get_xlabel() == "predicted tag"
    assert axes.get_ylim() == (3, 0)  # the first tag is at the top


def test_of_many_names_the_most_confused_ones_are_drawn():
    counts = {f"T{i}": {f"T{i}": 50 - i} for i in range(50)}
    counts["T40"]["T45"] = 3
    names = confusion.most_confused(counts)
    assert names == [*(f"T{i}" for i in range(18)), "T40", "T45"]
    (axes,) = confusion.draw(counts, "tag").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == names


@pytest.mark.parametrize("name", ["PRP$ and $", "$\\frac$", "x" * 10_000, "<b>&", "a\x00b"])
def test_unusual_names_can_be_drawn(tmp_path, name):
    figure = confusion.draw({name: {name: 3}}, "tag")
    charts.save(figure, tmp_path / "picture.png")
    assert max(figure.get_size_inches()) < 8
    (axes,) = figure.axes
    assert axes.get_xticklabels()[0].get_text()[:1] == name[:1]


def test_a_true_name_without_texts_has_an_empty_row():
    assert numbers(confusion.draw({"a": {"a": 1}, "b": {}}, "label")) == {(0, 0): "100"}
