"""Lesson 5: a cell with fewer weights, and a fair comparison."""

from pipelines.inspect.language_views import Agreement, Memory
from pipelines.inspect.model_views import Size
from pipelines.learn.course import Course
from pipelines.learn.exercises.sizes import exercise_6
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step

_MODEL = "lesson-5"
_THREE = ("lesson-3", "lesson-4", _MODEL)


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    sizes = exercise_6()
    return Lesson(
        "lesson 5: the GRU, and how to compare networks",
        "A GRU has no cell of its own and one gate fewer. Is it as good as an LSTM, and what does it cost?",
        (
            Step(
                "The equations",
                "z = sigmoid(W_z x + U_z h' + b_z)     r likewise     g = tanh(W_g x + r * (U_g h') + b_g)\n"
                "h = z * h' + (1 - z) * g",
                layer="keras.layers.GRU",
                text="The update gate z does the work of two gates: what is not kept is written. Keras's z keeps; in "
                "some books z writes, and the two terms of h change places.",
            ),
            *sizes.steps[:2],
            course.drawn(
                "Three networks of 64 units on the same sentences",
                Agreement,
                _THREE,
                "The same text, the same number of units, the same test sentences.",
                text="the trophy that the athletes won",
                grammar=True,
            ),
            course.drawn(
                "What the states still know of the subject",
                Memory,
                _THREE,
                "A linear probe reads the number of the subject from the state, k words later. Random weights are the "
                "control: a probe may find what nobody has learned.",
                grammar=True,
                back=(1, 4, 8, 16, 24),
            ),
            course.drawn("Every matrix of the GRU", Size, (_MODEL,), "Shapes, and how many numbers they have."),
        ),
        (
            Question(
                "A unit has z = 0.75, h' = 0.8 and g = -0.4. What is its new state?",
                0.5,
                "h = z h' + (1 - z) g = 0.6 - 0.1: step 1.",
                0.0051,
            ),
            sizes.questions[3],
            Question(
                "How many gates does a GRU have?",
                2,
                "z and r: step 1. The candidate g is no gate.",
            ),
        ),
        ("layers/lstm_gru.py:HoistedGRU", "pipelines/inspect/memory.py:number_of_subject"),
    )
