import numpy as np
import pytest

from pipelines.learn.backward import INPUTS, TARGET, U, W, backward, backward_lesson, by_tensorflow, real_time
from pipelines.learn.format import WIDTH, format_lesson


@pytest.fixture(params=[None, 1, 2])
def numbers(request):
    """The weights of the lesson, or random ones of three units, two inputs and five steps."""
    if request.param is None:
        return W, U, INPUTS, TARGET
    random = np.random.default_rng(request.param)
    return tuple(random.normal(size=shape) for shape in ((3, 2), (3, 3), (5, 2), (3,)))


def test_gradients_are_those_of_automatic_differentiation(numbers):
    found = backward(*numbers)
    of_w, of_u = by_tensorflow(*numbers)
    np.testing.assert_allclose(found.of_w.sum(0), of_w, atol=1e-12)
    np.testing.assert_allclose(found.of_u.sum(0), of_u, atol=1e-12)


def test_gradients_are_the_slopes_of_the_loss(numbers):
    w, u, inputs, target = numbers
    of_u = backward(*numbers).of_u.sum(0)
    small = 1e-6
    for place in np.ndindex(u.shape):
        more, less = u.copy(), u.copy()
        more[place] += small
        less[place] -= small
        slope = (backward(w, more, inputs, target).loss - backward(w, less, inputs, target).loss) / (2 * small)
        assert of_u[place] == pytest.approx(slope, abs=1e-7)


def test_real_time_recurrent_learning_has_the_same_gradient(numbers):
    np.testing.assert_allclose(real_time(*numbers)[0], backward(*numbers).of_u.sum(0), atol=1e-12)


def test_the_product_of_jacobians_carries_the_gradient_back(numbers):
    found = backward(*numbers)
    product = np.linalg.multi_dot(found.jacobians[:0:-1]) if len(found.jacobians) > 2 else found.jacobians[1]
    np.testing.assert_allclose(product.T @ found.of_states[-1], found.of_states[0], atol=1e-12)


def test_the_lesson_shows_that_they_are_equal_and_measures_the_forget_gate():
    lesson = backward_lesson()
    assert max(map(len, format_lesson(lesson))) <= WIDTH
    shown = [value.numbers for step in lesson.steps for value in step.values if value.name == "dL/dU"]
    for each in (shown[1], shown[3]):  # TensorFlow's, and that of real-time recurrent learning
        np.testing.assert_allclose(each, shown[0], atol=1e-12)
    np.testing.assert_allclose(lesson.steps[-1].values[0].numbers, [0.5, 0.9, 0.99], atol=1e-9)
    clipped = lesson.steps[10].values
    assert clipped[1].numbers == pytest.approx(shown[0] * 0.1 / clipped[0].numbers)
    for question in lesson.questions:
        assert question.is_right(repr(question.answer)) and not question.is_right("7")
