import random

import pytest

from pipelines.learn.exercises.gradients import exercise_7, exercise_8


def test_exercise_7_is_a_product_of_equal_factors():
    factor, steps, left = (question.answer for question in exercise_7().questions)
    assert factor == pytest.approx(0.8 * (1 - 0.6**2)) and left == pytest.approx(factor**20)
    assert factor**steps <= 0.1 < factor ** (steps - 1)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_exercise_8_counts_the_dependencies_that_are_longer_than_the_window(seed):
    lesson = exercise_8(random.Random(seed) if seed else None)
    *distances, lost = (question.answer for question in lesson.questions)
    window = int(lesson.question.split("K = ")[1].split()[0])
    assert distances == [14, 17, 2] and lost == sum(distance >= window for distance in distances)
