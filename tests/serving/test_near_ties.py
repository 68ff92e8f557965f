import numpy as np
import pytest

from serving.near_ties import excused

TOLERANCE = 1e-5
NAMES, SCORES = [["a", "b", "c"]], [[0.4, 0.4 - 1e-7, 0.2]]


def excused_in(name, found, **expected):
    return excused(name, {key: np.array(each) for key, each in expected.items()}, {name: np.array(found)}, TOLERANCE)


@pytest.mark.parametrize(
    ("found", "where"),
    [
        (["a", "b", "c"], [False, False, False]),  # nothing to excuse
        (["b", "a", "c"], [True, True, False]),  # a near tie
        (["a", "c", "b"], [False, False, False]),  # a clear pair
        (["c", "b", "a"], [False, False, False]),
        (["x", "a", "c"], [False, False, False]),  # another name
        (["b", "b", "c"], [False, False, False]),  # a name twice
        (["b", "c", "a"], [True, False, False]),
    ],
)
def test_names_of_equal_scores_may_be_swapped(found, where):
    assert excused_in("top_labels", [found], top_labels=NAMES, top_scores=SCORES).tolist() == [where]
    scores = {"tokens": NAMES, "probabilities": SCORES}
    assert excused_in("tokens", [found], **scores).tolist() == [where]
    by_time = {"next_tokens": [NAMES], "next_probabilities": [SCORES]}
    assert excused_in("next_tokens", [[found]], **by_time).tolist() == [[where]]


@pytest.mark.parametrize(("found", "is_excused"), [("a", False), ("b", True), ("c", False), ("", False), ("x", False)])
def test_the_label_may_be_another_one_of_equal_score(found, is_excused):
    top = {"top_labels": NAMES, "top_scores": SCORES}
    assert excused_in("label", [found], label=["a"], **top).tolist() == [is_excused]
    assert excused_in("labels", [[found, ""]], labels=[["a", ""]], **top).tolist() == [[False, False]]


def test_labels_of_a_text_may_be_swapped():
    top = {"top_labels": NAMES, "top_scores": SCORES}
    assert excused_in("labels", [["b", "a", ""]], labels=[["a", "b", ""]], **top).tolist() == [[True, True, False]]


def test_each_row_is_compared_with_its_own_scores():
    top = {"top_labels": [["a", "b"], ["a", "b"]], "top_scores": [[0.5, 0.5], [0.9, 0.1]]}
    found = excused_in("top_labels", [["b", "a"], ["b", "a"]], **top)
    assert found.tolist() == [[True, True], [False, False]]
    assert excused_in("label", ["b", "b"], label=["a", "a"], **top).tolist() == [True, False]


def test_names_without_ranked_scores_have_no_ties():
    assert not excused_in("label", ["b"], label=["a"], score=[0.5]).any()
    assert not excused_in("tags", [["b", "a"]], tags=[["a", "b"]], scores=[[0.5, 0.5]]).any()
    rising = {"tokens": [["a", "b", "c"]], "probabilities": [[0.2, 0.4, 0.4]]}  # of classes, in their order
    assert not excused_in("tokens", [["a", "c", "b"]], **rising).any()
    assert not excused_in("tokens", [["b", "a"]], tokens=[["a", "b"]], probabilities=[[1.0]]).any()
