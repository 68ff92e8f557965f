import itertools

import numpy as np
import pytest

from pipelines.translation.rouge import longest_common_subsequence, rouge


def test_equal_and_different_texts():
    assert rouge(["The cat sat."], ["the cat sat"]) == {"rouge1": 100, "rouge2": 100, "rougeL": 100}
    assert rouge(["a b"], ["c d"]) == {"rouge1": 0, "rouge2": 0, "rougeL": 0}
    assert rouge([""], ["a"])["rouge1"] == 0 and rouge([], [])["rouge1"] == 0


def test_the_worked_example_of_the_paper():
    """Lin 2004, section 3: the first shares "police the gunman" with the reference, the second "the gunman"."""
    reference = "police killed the gunman"
    first, second = (rouge([text], [reference]) for text in ("police kill the gunman", "the gunman kill police"))
    assert first["rougeL"] == pytest.approx(75) and second["rougeL"] == pytest.approx(50)
    assert first["rouge2"] == second["rouge2"] == pytest.approx(100 / 3)


def test_an_ngram_counts_at_most_as_often_as_in_the_reference():
    assert rouge(["the the the the"], ["the cat"])["rouge1"] == pytest.approx(100 * 2 * 1 / 6)


def test_the_scores_are_means_over_the_pairs():
    scores = rouge(["a b", "x"], ["a b", "y"])
    assert scores["rouge1"] == 50 and scores["rouge2"] == 50 + 50 * 1  # neither "x" nor "y" has a pair of words


def test_the_longest_common_subsequence_is_that_of_all_subsequences():
    rng = np.random.default_rng(0)
    for _ in range(30):
        one, other = (rng.integers(0, 3, rng.integers(0, 7)).tolist() for _ in range(2))
        subsequences = [
            {each for size in range(len(items) + 1) for each in itertools.combinations(items, size)}
            for items in (one, other)
        ]
        expected = max(map(len, subsequences[0] & subsequences[1]))
        assert longest_common_subsequence(one, other) == expected
