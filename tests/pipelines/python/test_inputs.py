import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from scipy import sparse

from pipelines.python import inputs
from pipelines.python.errors import UserError

TEXTS = ["one", "zwei"]


@pytest.mark.parametrize(
    "values",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        pd.Series(TEXTS, index=[7, 3]),
        pd.Series(TEXTS, dtype="category"),
        pd.DataFrame({"text": TEXTS}),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS)[:, None],
        [b"one", b"zwei"],
    ],
    ids=lambda values: type(values).__name__,
)
def test_texts_of_every_kind_become_a_list(values):
    assert inputs.texts(values) == TEXTS


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_texts_of_a_dataset_batched_or_not(batch):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS)
    assert inputs.texts(dataset.batch(batch) if batch else dataset) == TEXTS


def test_a_dataset_of_pairs_has_texts_and_labels():
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, [3, 4])).batch(2)
    assert inputs.texts_and_labels(dataset, None) == (TEXTS, [3, 4])
    with pytest.raises(UserError, match="several components"):
        inputs.texts(dataset)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ("one text", ["X is one text", "give a list"]),
        (None, ["NoneType", "give a list"]),
        (7, ["int"]),
        ({"a": 1}, ["dict"]),
        ([1], ["X has 1 at position 0", "int", "a text is a str"]),
        (["a", None], ["no text at position 1 (None)", "leave out"]),
        (["a", float("nan")], ["position 1 (nan)"]),
        (pd.Series(["a", None], dtype="string"), ["position 1"]),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), ["columns a, b", "df['a']"]),
        (np.zeros((2, 2)), ["shape (2, 2)"]),
        ([["a"]], ["list"]),
    ],
    ids=str,
)
def test_everything_else_is_refused_with_one_line(values, parts):
    with pytest.raises(UserError) as caught:
        inputs.texts(values)
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["x", "y"], ["x", "y"]),
        (np.array(["x", "y"]), ["x", "y"]),
        (np.array([1, 0]), [1, 0]),
        (np.array([True, False]), [True, False]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        (pd.Series(["x", "y"], dtype="category"), ["x", "y"]),
        (np.array([1.0, 2.0], np.float32), [1.0, 2.0]),
    ],
    ids=str,
)
def test_labels_become_values_of_python(labels, expected):
    _, found = inputs.texts_and_labels(TEXTS, labels)
    assert found == expected and [type(label) for label in found] == [type(label) for label in expected]


@pytest.mark.parametrize(
    ("labels", "parts"),
    [
        ([1], ["2 texts and 1 labels"]),
        ([1, "1"], ["different types (int, str)", "convert"]),
        ([1, None], ["no label at position 1 (None)"]),
        (pd.Series([1, None], dtype="Int64"), ["no label at position 1"]),
        ([[1], [2]], ["list", "a label is"]),
        (None, ["y is missing"]),
    ],
    ids=str,
)
def test_labels_that_no_classifier_can_use_are_refused(labels, parts):
    with pytest.raises(UserError) as caught:
        inputs.texts_and_labels(TEXTS, labels)
    for part in parts:
        assert part in str(caught.value)


def test_no_texts_are_refused():
    with pytest.raises(UserError, match="no texts"):
        inputs.texts_and_labels([], [])
    with pytest.raises(UserError, match="no texts"):
        inputs.require_texts([])


def test_names_of_classes_are_sorted_by_label_and_have_no_outer_spaces():
    assert list(inputs.class_names([10, 9, 10]).items()) == [("9", 9), ("10", 10)]
    assert inputs.class_names([" a", "b"]) == {"a": " a", "b": "b"}
    with pytest.raises(UserError, match="remove the spaces"):
        inputs.class_names(["a", "a "])
    with pytest.raises(UserError, match="empty label"):
        inputs.class_names(["", "a"])


def test_pairs_have_a_translation_for_each_sentence():
    assert inputs.text_pairs(TEXTS, ["a", "b"]) == (TEXTS, ["a", "b"])
    with pytest.raises(UserError, match="2 sentences and 1 translations"):
        inputs.text_pairs(TEXTS, ["a"])


@pytest.mark.parametrize(
    ("labels", "rows", "names"),
    [
        ([["b"], ("b", "a")], [["b"], ["b", "a"]], ["a", "b"]),
        (pd.Series([[2], [1, 2]]), [[2], [1, 2]], [1, 2]),
        (np.array([[1, 0, 1], [0, 0, 1]]), [[0, 2], [2]], [0, 1, 2]),
        (sparse.csr_matrix([[0, 0], [1, 1]]), [[], [0, 1]], [0, 1]),
        (pd.DataFrame({"x": [1, 0], "y": [1, 1]}), [["x", "y"], ["y"]], ["x", "y"]),
        (pd.DataFrame({"x": [True, False], "y": [True, True]}), [["x", "y"], ["y"]], ["x", "y"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_several_labels_per_text_are_lists_or_columns(labels, rows, names):
    assert inputs.label_lists(labels) == (rows, names)


@pytest.mark.parametrize("labels", [["a", "b"], np.array([[1], [2]]), pd.Series([1, 2]), None, "file.csv", []], ids=str)
def test_one_label_per_text_is_no_list(labels):
    assert inputs.label_lists(labels) is None


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        ([["a"], ["b"]], "more than one label"),
        (np.eye(2), "argmax"),
        (np.array([[1, 2], [1, 1]]), "must be 0 or 1"),
        ([["a", 1], ["b"]], "different types (int, str)"),
        ([["a", None], ["b"]], "no label at position 0"),
    ],
    ids=str,
)
def test_lists_of_labels_that_cannot_be_used_are_refused(labels, part):
    with pytest.raises(UserError) as caught:
        inputs.label_lists(labels)
    assert part in str(caught.value)
