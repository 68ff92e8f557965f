import numpy as np
import pytest

from pipelines.data.labels import class_ids, classes_of
from pipelines.support.errors import UserError


def column(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("found", "classes"),
    [
        (("pos", "neg"), ("negative", "positive")),
        (("Positive", "NEGATIVE "), ("negative", "positive")),
        (("1", "0"), ("negative", "positive")),
        (("1.0", "0.0"), ("negative", "positive")),
        (("4", "0"), ("negative", "positive")),
        (("1", "-1"), ("negative", "positive")),
        (("positive", "neutral", "negative"), ("negative", "neutral", "positive")),
        (("1", "0", "-1"), ("negative", "neutral", "positive")),
        (("10", "9", "1"), ("1", "9", "10")),
        (("2", "1"), ("1", "2")),
        (("sad", "happy", "angry"), ("angry", "happy", "sad")),
        (("positive", "mixed", "negative"), ("mixed", "negative", "positive")),
    ],
)
def test_classes_and_their_order(found, classes):
    assert classes_of(column(*found), "x.csv", polarity=True) == classes
    ids = class_ids(column(*found), classes, polarity=True)
    assert ids.dtype == np.int32
    assert sorted(ids) == list(range(len(classes)))


def test_another_spelling_of_the_same_classes():
    assert class_ids(column("1", "0", "1"), ("negative", "positive"), polarity=True).tolist() == [1, 0, 1]
    assert class_ids(column("Pos", "neg"), ("negative", "positive"), polarity=True).tolist() == [1, 0]
    assert class_ids(column("pos", "pos"), ("negative", "positive"), polarity=True).tolist() == [1, 1]
    assert class_ids(column("1", "0", "-1"), ("negative", "neutral", "positive"), polarity=True).tolist() == [2, 1, 0]


def test_an_unknown_label_is_minus_one():
    assert class_ids(column("positive", "meh"), ("negative", "positive"), polarity=True).tolist() == [1, -1]
    assert class_ids(column("1", "0"), ("happy", "sad"), polarity=True).tolist() == [-1, -1]


def test_one_class_only():
    with pytest.raises(UserError, match="all 2 rows have the label 'pos'; at least two classes"):
        classes_of(column("pos", "pos"), "x.csv", polarity=True)


def test_no_rows():
    with pytest.raises(UserError, match="no row has both"):
        classes_of(column(), "x.csv", polarity=True)


def test_too_many_classes_are_another_column():
    with pytest.raises(UserError, match="101 different labels, .*--label-column"):
        classes_of(column(*(f"name {i}" for i in range(101))), "x.csv", polarity=True)


def test_without_polarity_only_space_is_removed():
    assert classes_of(column("Pos", " neg", "1.0"), "x.csv", polarity=False) == ("1.0", "Pos", "neg")
    assert class_ids(column("neg ", "NEG", "negative"), ("neg", "pos"), polarity=False).tolist() == [0, -1, -1]


def test_without_polarity_numbers_are_in_the_order_of_their_values():
    assert classes_of(column("10", "9", "-1", "9.0"), "x.csv", polarity=False) == ("-1", "9", "9.0", "10")
    assert classes_of(column("nan", "2", "10"), "x.csv", polarity=False) == ("10", "2", "nan")


def test_measured_numbers_are_no_classes():
    numbers = np.array([str(i / 8) for i in range(50)], dtype=object)
    with pytest.raises(UserError, match="the labels are 50 different numbers, such as 0.125: .*--label-column"):
        classes_of(numbers, "a.csv", polarity=False)
    stars = np.array(["1", "1.5", "2", "2.5", "3"] * 4, dtype=object)
    assert classes_of(stars, "a.csv", polarity=False) == ("1", "1.5", "2", "2.5", "3")
