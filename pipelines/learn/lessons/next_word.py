"""Lesson 2: a recurrent language model, its probabilities, its loss and its perplexity."""

import numpy as np

from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson
from pipelines.learn.worked_example import so_long_and

_MODEL = "lesson-2"
_TEXT = "so long and thanks for all the"


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    worked = so_long_and()
    return Lesson(
        "lesson 2: predicting the next word",
        "A language model gives every word a probability to come next. How does a recurrent network compute it, how is "
        "a prediction scored, and what does a trained network say to a sentence that it has never read? The first "
        'steps compute a network of two units by hand, which reads "so long and"; then comes a trained one.',
        (
            *worked.steps,
            course.printed(
                f'A trained network reads "{_TEXT}"',
                _MODEL,
                "It has 32 units and was trained on 3,000 farewells. None of them contains the sentence "
                f'"{_TEXT} fish", or one that differs from it in one word: the network puts together what it knows '
                "from others.",
                texts=(_TEXT,),
                next=5,
            ),
            course.printed(
                "The probability of a whole sentence",
                _MODEL,
                "The logarithms of the probabilities are added; <end> ends the sentence. Behind each word is its "
                "surprisal, -log2 of its probability, in bits. The sum is in nats, with the natural logarithm log: a "
                "nat "
                "is 1.443 bits.",
                texts=(f"{_TEXT} fish",),
                score=True,
            ),
        ),
        (
            Question(
                "A model gives the word that comes the probability 0.25. What is the loss of this prediction, with the "
                "natural logarithm?",
                float(-np.log(0.25)),
                "-log 0.25, as in the step about the loss.",
                0.0051,
            ),
            Question(
                "A model gives each word that comes the probability 0.25. What is its perplexity?",
                4,
                "exp(-log 0.25): as unsure as if it chose among 4 equally likely words.",
            ),
            Question(
                f'Which word does the trained network find most likely after "{_TEXT}"?',
                ("fish",),
                "The first row of its table.",
            ),
        ),
        ("pipelines/learn/worked_example.py:forward", "pipelines/networks/causal.py:causal_network"),
    )
