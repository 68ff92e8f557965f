import pytest

from pipelines.tagging import confusion

COUNTS = {"NOUN": {"NOUN": 90, "VERB": 10}, "VERB": {"VERB": 2, "NOUN": 6, "ADJ": 1}, "ADJ": {"ADJ": 300, "VERB": 1}}


def test_the_most_frequent_confusion_is_first():
    assert confusion.most_frequent(COUNTS, 2) == [("NOUN", "VERB", 10), ("VERB", "NOUN", 6)]
    assert confusion.most_frequent({"A": {"A": 5}}, 2) == []


def numbers(figure):
    """The texts in the cells: (row, column) -> text."""
    (axes,) = figure.axes
    return {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in axes.texts}


def test_each_row_has_the_percentages_of_a_true_tag():
    figure = confusion.draw(COUNTS)
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


def test_of_many_tags_the_first_ones_are_drawn():
    figure = confusion.draw({f"T{i}": {f"T{i}": 50 - i} for i in range(50)})
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"T{i}" for i in range(20)]


@pytest.mark.parametrize("name", ["PRP$ and $", "x" * 200])
def test_unusual_names_can_be_drawn(tmp_path, name):
    figure = confusion.draw({name: {name: 3}})
    figure.savefig(tmp_path / "picture.png")
    assert max(figure.get_size_inches()) < 8
    (axes,) = figure.axes
    assert axes.get_xticklabels()[0].get_text()[:10] == name[:10]
