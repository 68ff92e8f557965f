import random

import pytest

from pipelines.learn.exercises.sizes import exercise_2, exercise_6, exercise_12


def answers(lesson):
    return [question.answer for question in lesson.questions]


def test_exercise_2_by_the_formula():
    first, second, factor = answers(exercise_2())
    assert (first, second) == (256 * (128 + 256 + 1), 512 * (128 + 512 + 1))
    assert factor == pytest.approx(513 / 257)


def test_exercise_6_asks_for_the_counts():
    assert answers(exercise_6()) == [98_560, 295_680, 394_240, 75]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_exercise_12_has_the_widest_pair_of_layers(seed):
    lesson = exercise_12(random.Random(seed) if seed else None)
    budget, width = answers(lesson)
    d, n = (int(word) for word in lesson.question.replace(".", " ").split() if word.isdigit())
    assert budget == 4 * d * (n + d + 1)

    def two(w):
        return 4 * w * (n + w + 1) + 4 * w * (2 * w + 1)

    assert two(width) <= budget < two(width + 1)
