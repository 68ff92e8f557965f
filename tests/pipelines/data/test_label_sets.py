import numpy as np
import pandas as pd
import pytest

from pipelines.data import label_sets
from pipelines.support.errors import UserError


def sets(*rows):
    return np.fromiter(rows, dtype=object)


def test_a_cell_has_several_labels_or_none():
    cells = np.array(["news|sport", " sport | news |", "", "sport|sport", "|"], dtype=object)
    got = label_sets.split_cells(cells, "|")
    assert got.shape == (5,)
    assert got.tolist() == [("news", "sport"), ("sport", "news"), (), ("sport",), ()]


def test_cells_with_as_many_labels_as_the_others_are_still_tuples():
    got = label_sets.split_cells(np.array(["a,b", "c,d"], dtype=object), ",")
    assert got.shape == (2,) and got[1] == ("c", "d")


def test_columns_of_0_and_1_become_labels_of_their_names():
    table = pd.DataFrame({"news": ["1", "0", "1.0", "TRUE"], "sport": ["1", "0", "0.0", "false"]})
    got = label_sets.from_columns("a.csv", table, ("news", "sport"))
    assert got.tolist() == [("news", "sport"), (), ("news",), ("news",)]


@pytest.mark.parametrize(("cell", "named"), [("2", "'2'"), ("", "an empty cell"), ("yes", "'yes'")])
def test_another_value_in_such_a_column_is_refused(cell, named):
    table = pd.DataFrame({"news": ["1", cell, cell]})
    with pytest.raises(UserError, match=rf"a.csv: the column 'news' .* has {named} in row 2: .*0 or 1 .*neither: 2"):
        label_sets.from_columns("a.csv", table, ("news",))


def test_classes_are_in_the_order_of_the_columns_or_sorted():
    rows = sets(("b", "a"), (), ("c",))
    assert label_sets.classes_of(rows, "a.csv", separator="|") == ("a", "b", "c")
    assert label_sets.classes_of(rows, "a.csv", columns=("c", "b", "a")) == ("c", "b", "a")
    assert label_sets.classes_of(sets(("10", "9"), ()), "a.csv", separator="|") == ("9", "10")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a",), ("b",)], r"no label has the separator '\|', only labels such as 'a': leave out --labels-separator"),
        ([("a;b",), ("b",)], r"only labels such as 'a;b': give --labels-separator ';'"),
        ([("a", "b"), *[(str(i),) for i in range(100)]], "102 different labels in 102 rows"),
        ([(), ()], "no text has a label; at least two"),
    ],
)
def test_labels_that_no_classifier_can_learn(rows, message):
    with pytest.raises(UserError, match=message):
        label_sets.classes_of(sets(*rows), "a.csv", separator="|")


def test_a_column_without_a_1_is_refused_by_name():
    with pytest.raises(UserError, match="no text has the label 'absent' of --label-columns"):
        label_sets.classes_of(sets(("b", "a"), (), ("c",)), "a.csv", columns=("c", "absent", "b", "a"))


def test_one_label_is_not_enough():
    with pytest.raises(UserError, match="the only label is 'a'; at least two classes"):
        label_sets.classes_of(sets(("a",), ()), "a.csv", columns=("a", "b"))


def test_unknown_labels_are_counted():
    found, unknown = label_sets.indicators(sets(("b", "x"), (), ("a", "b"), ("x",)), ("a", "b"))
    assert found.tolist() == [[0, 1], [0, 0], [1, 1], [0, 0]]
    assert unknown == {"x": 2}


def test_a_text_counts_for_its_rarest_label():
    has_label = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0]])
    assert label_sets.rarest(has_label).tolist() == [1, 0, 2, 3, 1]


def test_sets_of_labels_are_joined_for_reports():
    rows = sets(("b", "a"), ())
    assert label_sets.are_sets(rows) and not label_sets.are_sets(np.array(["a"], dtype=object))
    assert label_sets.joined(rows).tolist() == ["a|b", "no label"]
