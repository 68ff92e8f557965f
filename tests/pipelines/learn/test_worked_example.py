import numpy as np
import pytest

from pipelines.learn.format import format_lesson
from pipelines.learn.settings import WORKED_EXAMPLE, parse_changes
from pipelines.learn.worked_example import forward, so_long_and


def by_hand(matrices):
    """The equations of the example in NumPy: states [2, 2], probabilities [2, 5], loss."""
    e, w, u, v = (np.array(matrices[name]) for name in "EWUV")
    h, states, probabilities = np.zeros(2), [], []
    for word in (3, 2):  # so, long
        h = np.maximum(u @ h + w @ e[word], 0)
        scores = np.exp(v @ h)
        states.append(h)
        probabilities.append(scores / scores.sum())
    loss = -(np.log(probabilities[0][2]) + np.log(probabilities[1][0])) / 2  # long, and
    return np.array(states), np.array(probabilities), loss


@pytest.mark.parametrize("settings", [(), ("W[0,1]=0.5",), ("U[0,0]=-10", "V[so,1]=3", "E[long,0]=-2")])
def test_keras_computes_the_equations(settings):
    lesson = so_long_and(parse_changes(settings))
    matrices = {value.name: value.numbers for value in lesson.steps[0].values}
    states, probabilities, loss = by_hand(matrices)
    result = forward({name: matrix.tolist() for name, matrix in matrices.items()})
    np.testing.assert_allclose(result.states, states, atol=1e-5)
    np.testing.assert_allclose(result.probabilities, probabilities, atol=1e-6)
    assert result.loss == pytest.approx(loss, rel=1e-5)
    assert result.perplexity == pytest.approx(np.exp(loss), rel=1e-4)
    np.testing.assert_allclose(np.maximum(result.products + result.recurrent, 0), states, atol=1e-5)


def test_the_numbers_are_those_of_the_material():
    result = forward(WORKED_EXAMPLE)
    close = {"rtol": 0, "atol": 1e-3}
    np.testing.assert_allclose(result.states, [[1.192, 1.097], [1.388, 1.903]], **close)
    expected = [[0.293, 0.201, 0.230, 0.103, 0.173], [0.329, 0.254, 0.185, 0.071, 0.161]]
    np.testing.assert_allclose(result.probabilities, expected, **close)
    assert result.loss == pytest.approx(1.291, abs=1e-3)
    assert result.perplexity == pytest.approx(3.64, abs=1e-2)


def test_the_loss_of_the_rounded_probabilities_is_the_material_s_own():
    text = " ".join(format_lesson(so_long_and())[-3:])
    assert "0.230 and 0.329, one gets L = 1.291 and the perplexity 3.64" in " ".join(text.split())


def test_a_change_shows_the_former_numbers_beside_those_that_differ():
    lines = format_lesson(so_long_and(parse_changes(("W[0,1]=0.5",))))
    assert any("W = [0.375  0.500]   was [0.375  0.951]" in line for line in lines)
    assert any("L = 1.429   was 1.290" in line for line in lines)
    assert any(line == "   e0 = [0.698  0.978]" for line in lines), "the embedding does not change"
    assert "   was [" not in "\n".join(format_lesson(so_long_and()))


def test_a_network_that_is_sure_of_the_wrong_word_has_a_large_or_infinite_perplexity():
    changes = {("E", 3, 0): 10.0, ("W", 0, 0): 10.0, ("U", 0, 0): 10.0, ("V", 3, 0): 10.0}
    result = so_long_and(changes)
    assert "worse" in result.steps[-1].text
    assert "perplexity = infinite   was 3.63" in "\n".join(format_lesson(result))
