"""Lesson 8: attention, by hand and in a translator."""

from pipelines.inspect.text_views import Attention
from pipelines.learn.attention import attention
from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson

_MODEL = "lesson-8"
_TEXT = "The green witch arrived."


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    return Lesson(
        "lesson 8: attention",
        "One vector for a whole sentence is a bottleneck. Attention lets the decoder look at every word of the source "
        "again, at each step. The first steps compute a look-up by hand; then a translator shows where it looks.",
        (
            *attention((0, 6, 0)).steps,
            course.printed("A translator with attention", _MODEL, texts=(_TEXT,), n_best=2),
            course.drawn(
                "Where it looks while it writes",
                Attention,
                (_MODEL,),
                "A row for each word that is written, a column for each word of the source. Where noun and adjective "
                "change places, the dark squares cross.",
                text=_TEXT,
            ),
        ),
        (
            Question(
                "All five keys fit a query equally well. What is the weight of each?",
                0.2,
                "softmax of equal scores: equal weights, which add up to 1.",
                0.0051,
            ),
            Question(
                "Two words have the scores 0 and log 3. What is the weight of the second one?",
                0.75,
                "exp(log 3) / (exp(0) + exp(log 3)) = 3 / 4.",
                0.0051,
            ),
            Question(
                "A source has 6 words and a translation 7. How many weights does one attention head compute?",
                42,
                "One for each pair of a query and a key.",
            ),
        ),
        ("layers/attention.py:Attention", "layers/attention_decoder.py:AttentionDecoderCell"),
    )
