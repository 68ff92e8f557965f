import numpy as np
import pytest

from pipelines.learn.attention import KEYS, VALUES, attend, attention, self_attention
from pipelines.learn.format import WIDTH, format_lesson


@pytest.mark.parametrize("query", [[0, 6, 0], [0, 0, 0], [-10, 10, 3.5]])
def test_scores_weights_and_results_equal_the_equation(query):
    expected = KEYS @ np.array(query) / np.sqrt(3)
    scores, weights, results = attend(np.array([query, [1, 1, 1]]))
    np.testing.assert_allclose(scores[0], expected, atol=1e-5)
    softmax = np.exp(expected) / np.exp(expected).sum()
    np.testing.assert_allclose(weights[0], softmax, atol=1e-6)
    np.testing.assert_allclose(results[0], softmax @ VALUES, atol=1e-6)


def test_self_attention_without_projections_equals_the_equation():
    exponentials = np.exp(KEYS @ KEYS.T)
    expected = exponentials / exponentials.sum(axis=1, keepdims=True)
    weights, results = self_attention()
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    np.testing.assert_allclose(results, expected @ KEYS, atol=1e-6)


@pytest.mark.parametrize(("query", "word"), [((6, 0, 0), "I"), ((0, 6, 0), "hit"), ((0, 0, 6), "road")])
def test_a_query_for_a_role_finds_its_word(query, word):
    lesson = attention(query)
    assert any(step.text.startswith(f'"{word}" has the largest weight') for step in lesson.steps)
    assert max(map(len, format_lesson(lesson))) <= WIDTH


def test_without_a_direction_the_result_is_the_mean_of_the_values():
    lesson = attention((0, 0, 0))
    assert any("plain mean" in step.text for step in lesson.steps)
    (result,) = (value for step in lesson.steps[1:-1] for value in step.values if value.name == "result")
    np.testing.assert_allclose(result.numbers, VALUES.mean(axis=0), atol=1e-6)


def test_a_longer_query_is_a_harder_look_up():
    (weights,) = (step.values[0].numbers for step in attention((0, 6, 0)).steps if "soft to hard" in step.title)
    largest = weights.max(axis=1)
    assert largest[0] < 0.4 and largest[-1] > 0.99 and (np.diff(largest) > 0).all()
