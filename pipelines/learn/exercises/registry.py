"""The exercises by their numbers."""

import random

from pipelines.learn.exercises import gates, gradients, language, recurrent, sizes
from pipelines.learn.steps import Lesson

EXERCISES = {
    1: recurrent.exercise_1,
    2: sizes.exercise_2,
    3: gates.exercise_3,
    4: gates.exercise_4,
    5: recurrent.exercise_5,
    6: sizes.exercise_6,
    7: gradients.exercise_7,
    8: gradients.exercise_8,
    9: language.exercise_9,
    10: language.exercise_10,
    11: language.exercise_11,
    12: sizes.exercise_12,
}
"""Number -> the function that makes it, from a generator of other numbers than the first ones."""


def exercise(number: int, seed: int | None = None) -> Lesson:
    """Returns an exercise with its solution.

    Args:
        number: key of `EXERCISES`.
        seed: of other numbers; None takes the first ones.
    """
    return EXERCISES[number](None if seed is None else random.Random(f"exercise {number} {seed}"))
