"""Lesson 3: how a recurrent network learns, and why it forgets."""

from pipelines.inspect.language_views import Agreement, Gradients
from pipelines.learn.backward import backward_lesson
from pipelines.learn.course import Course
from pipelines.learn.steps import Lesson

_MODEL = "lesson-3"


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    worked = backward_lesson()
    data = course.write_text("agreement")
    return Lesson(
        "lesson 3: how it learns, and how it forgets",
        "A loss at the last step must tell the weights what to do at the first one. How does that work, and how much "
        "arrives? The first steps follow the gradient of a small network by hand; then it is measured in a trained "
        "one, which reads sentences whose verb agrees with a noun far before it.",
        (
            *worked.steps,
            course.drawn(
                "The gradient of a trained simple network, by distance",
                Gradients,
                (_MODEL,),
                "Each step back multiplies by one more Jacobian. The scale is logarithmic: a straight line is an "
                "exponential decay.",
                data=data,
                window=24,
                places=100,
            ),
            course.drawn(
                "What it has learned of a subject far before its verb",
                Agreement,
                (_MODEL,),
                '"was" and "were" after each word, and the accuracy over the distance between subject and verb. '
                'Guessing is right for half of the sentences. Here "were" would be right. The figure by distance '
                "falls to .5 "
                "within some words, which gradients of this length do not explain: 64 numbers are rewritten at every "
                "word, and nothing protects what will be needed.",
                text="the flights the airline was canceling",
                grammar=True,
            ),
        ),
        worked.questions,
        (
            *worked.sources,
            "pipelines/inspect/sentences.py:training_text",
            "pipelines/inspect/gradients.py:gradient_norms",
        ),
    )
