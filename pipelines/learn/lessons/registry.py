"""The lessons in their order. It imports nothing heavy."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.learn.course import Course
    from pipelines.learn.steps import Lesson

LESSONS = {
    1: ("neuron", "one recurrent unit, and what one number can remember"),
    2: ("next_word", "a language model: probabilities, loss, perplexity"),
    3: ("gradients", "the backward pass in numbers, and why a network forgets"),
    4: ("lstm", "gates that keep, and what happens if one turns them"),
    5: ("gru", "fewer weights, and a fair comparison of three networks"),
    6: ("labels", "a label for every word, read from both sides"),
    7: ("encoder_decoder", "a sentence becomes a vector, and the vector a translation"),
    8: ("attention", "attention by hand, and where a translator looks"),
    9: ("transformer", "attention without recurrence: what was too large?"),
    10: ("transfer", "few labels, a blank, two kinds of bank, and a server"),
}
"""Number -> (module, what it is about)."""


def make(number: int, course: "Course") -> "Lesson":
    """Returns a lesson; its models are trained first if they do not exist.

    Args:
        number: key of `LESSONS`.
        course: where the models are.
    """
    module = importlib.import_module(f"{__package__}.{LESSONS[number][0]}")
    return module.lesson(course)
