import numpy as np
import pytest

from pipelines.data.labels import class_ids, classes_of
from pipelines.errors import UserError


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
    assert classes_of(column(*found), "x.csv") == classes
    ids = class_ids(column(*found), classes)
    assert ids.dtype == np.int32
    assert sorted(ids) == list(range(len(classes)))


def test_another_spelling_of_the_same_classes():
    assert class_ids(column("1", "0", "1"), ("negative", "positive")).tolist() == [1, 0, 1]
    assert class_ids(column("Pos", "neg"), ("negative", "positive")).tolist() == [1, 0]
    assert class_ids(column("pos", "pos"), ("negative", "positive")).tolist() == [1, 1]
    assert class_ids(column("1", "0", "-1"), ("negative", "neutral", "positive")).tolist() == [2, 1, 0]


def test_an_unknown_label_is_minus_one():
    assert class_ids(column("positive", "meh"), ("negative", "positive")).tolist() == [1, -1]
    assert class_ids(column("1", "0"), ("happy", "sad")).tolist() == [-1, -1]


def test_one_class_only():
    with pytest.raises(UserError, match="all 2 rows have the label 'pos'; two classes or more"):
        classes_of(column("pos", "pos"), "x.csv")


def test_no_rows():
    with pytest.raises(UserError, match="no row has both"):
        classes_of(column(), "x.csv")


def test_too_many_classes_are_another_column():
    with pytest.raises(UserError, match="101 different labels .*--label-column"):
        classes_of(column(*(f"name {i}" for i in range(101))), "x.csv")
