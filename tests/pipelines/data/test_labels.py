import numpy as np
import pytest

from pipelines.data.labels import class_ids, classes_of, doubtful
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


def test_labels_that_do_not_recur_are_another_column():
    names = [f"name {i}" for i in range(101)]
    with pytest.raises(UserError, match="101 different labels in 101 rows, .*--label-column"):
        classes_of(column(*names), "x.csv", polarity=True)
    assert len(classes_of(column(*names, *names), "x.csv", polarity=True)) == 101
    with pytest.raises(UserError, match="101 different numbers"):
        classes_of(column(*map(str, range(101)), *map(str, range(101))), "x.csv", polarity=True)
    assert len(classes_of(column(*map(str, list(range(101)) * 5)), "x.csv", polarity=False)) == 101


def test_without_polarity_only_space_is_removed():
    assert classes_of(column("Pos", " neg", "NEG"), "x.csv", polarity=False) == ("NEG", "Pos", "neg")
    assert class_ids(column("neg ", "NEG", "negative"), ("neg", "pos"), polarity=False).tolist() == [0, -1, -1]


def test_without_polarity_numbers_are_in_the_order_of_their_values():
    assert classes_of(column("10", "9", "-1", "9.5"), "x.csv", polarity=False) == ("-1", "9", "9.5", "10")


def test_labels_are_text_unless_all_are_plain_numbers():
    assert classes_of(column("401", "V22", "9", "9.0"), "x.csv", polarity=False) == ("401", "9", "9.0", "V22")
    assert classes_of(column("1_2", "12"), "x.csv", polarity=False) == ("12", "1_2")
    assert classes_of(column("10", "9", "1e1_0", "nan"), "x.csv", polarity=False) == ("10", "1e1_0", "9", "nan")


def test_near_equal_labels_and_missing_values_are_named_with_the_remedy():
    equal, missing = doubtful(("REFUND", "Refund", "a  b", "a b", "n/a", "NULL", "x"))
    assert "REFUND/Refund, a  b/a b" in equal and "--fold-labels" in equal
    assert "n/a, NULL; --missing-labels=n/a,NULL" in missing
    assert doubtful(("negative", "positive")) == []


def test_one_number_with_two_spellings_is_no_label():
    with pytest.raises(UserError, match="the labels '9' and '9.0' are the same number: spell them alike"):
        classes_of(column("10", "9", "9.0"), "x.csv", polarity=False)
    assert classes_of(column("1", "0", "1.0"), "x.csv", polarity=True) == ("negative", "positive")


def test_measured_numbers_are_no_classes():
    numbers = np.array([str(i / 8) for i in range(50)], dtype=object)
    with pytest.raises(UserError, match="the labels are 50 different numbers, such as 0.125: .*--label-column"):
        classes_of(numbers, "a.csv", polarity=False)
    years = np.array([str(i) for i in range(1900, 2020)], dtype=object)
    with pytest.raises(UserError, match="the labels are 120 different numbers, such as 1900: "):
        classes_of(years, "a.csv", polarity=False)
    stars = np.array(["1", "1.5", "2", "2.5", "3"] * 4, dtype=object)
    assert classes_of(stars, "a.csv", polarity=False) == ("1", "1.5", "2", "2.5", "3")
